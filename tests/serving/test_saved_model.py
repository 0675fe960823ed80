import dataclasses
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf
from checks.serving import LABELS, encode, pair_model, small_classifier

import keras_canon.serving.freezing
from keras_canon import serving, zoo
from keras_canon.zoo import CanonError

# Runs with plain TensorFlow: any import of this package fails.
FRESH = """
import sys
from pathlib import Path
sys.modules["keras_canon"] = None
import numpy as np
import tensorflow as tf
for folder in map(Path, sys.argv[1:]):
    given = np.load(folder.parent / "inputs.npz")
    outputs = tf.saved_model.load(str(folder)).signatures["serving_default"](**{k: tf.constant(given[k]) for k in given.files})
    np.savez(folder.parent / "outputs.npz", **{k: v.numpy() for k, v in outputs.items()})
assert sys.modules["keras_canon"] is None and not any(name.startswith("keras_canon.") for name in sys.modules)
"""


def exported(model, tmp_path, name="model", **options):
    serving.export(model, tmp_path / name, **options)
    return serving.load(tmp_path / name)


@pytest.mark.slow
def test_the_answer_is_the_models_in_every_process(tmp_path, lenet5, images):
    keras.utils.set_random_seed(4)
    resnet20 = zoo.create("resnet20")
    rng = np.random.default_rng(5)
    cases = {"lenet5": (lenet5, images), "resnet20": (resnet20, rng.normal(size=(5, *resnet20.input_shape[1:])).astype("float32"))}
    folders = []
    for name, (model, x) in cases.items():
        folders.append(serving.export(model, tmp_path / name).path)
        np.savez(tmp_path / name / "inputs.npz", images=x)
    subprocess.run([sys.executable, "-c", FRESH, *map(str, folders)], check=True, timeout=120, cwd=tmp_path)
    for name, (model, x) in cases.items():
        logits = model.predict(x, verbose=0)
        tolerance = 1e-5 * max(1.0, np.abs(logits).max())
        loaded = serving.load(tmp_path / name).predict(x)
        fresh = np.load(tmp_path / name / "outputs.npz")
        for outputs in (loaded, fresh):
            np.testing.assert_allclose(outputs["logits"], logits, rtol=0, atol=tolerance)
            np.testing.assert_allclose(outputs["probabilities"], np.asarray(keras.ops.softmax(logits)), rtol=0, atol=1e-5)


def test_the_bundle_is_complete(models, lenet5):
    folder = models / "lenet5" / "2"
    assert (folder / "assets" / "labels.txt").read_text() == "".join(f"{label}\n" for label in LABELS)
    assert sorted(path.name for path in folder.iterdir()) == [
        "assets",
        "assets.extra",
        "fingerprint.pb",
        "manifest.json",
        "saved_model.pb",
        "variables",
    ]
    manifest = serving.load(folder).manifest
    assert (manifest.name, manifest.version, manifest.parameters) == ("lenet5", 2, lenet5.count_params())
    assert manifest.record == lenet5.record
    assert manifest.preprocessing == lenet5.record.preprocessing
    assert {"Conv2D", "DecodeImage", "Softmax"} <= set(manifest.ops)
    assert set(manifest.files) == {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()} - {"manifest.json"}
    assert set(manifest.versions) == {"keras", "keras-canon", "tensorflow"}
    signature = manifest.signatures["serving_default"]
    assert (signature.inputs["images"].dtype, signature.inputs["images"].shape) == ("float32", (None, 32, 32, 1))
    assert {name: spec.shape for name, spec in signature.outputs.items()} == {"logits": (None, 10), "probabilities": (None, 10)}
    # a folder of the machine that wrote it has no place in a bundle
    assert str(models).encode() not in (folder / "saved_model.pb").read_bytes()


def test_a_damaged_bundle_is_refused(tmp_path):
    folder = serving.export(small_classifier(), tmp_path / "small").path
    graph = (folder / "saved_model.pb").read_bytes()
    (folder / "saved_model.pb").write_bytes(graph[:-1])
    with pytest.raises(CanonError, match=r"'saved_model.pb' .* changed or damaged"):
        serving.load(folder)
    (folder / "saved_model.pb").unlink()
    with pytest.raises(CanonError, match=r"lacks its file 'saved_model.pb'"):
        serving.load(folder)
    (folder / "manifest.json").write_text("{")
    with pytest.raises(CanonError, match="not valid JSON"):
        serving.load(folder)
    (folder / "manifest.json").unlink()
    with pytest.raises(CanonError, match=r"no manifest.json"):
        serving.load(tmp_path / "small")
    with pytest.raises(CanonError, match="no exported model"):
        serving.load(tmp_path)


# B27: the policy stays inside, the names are the model's


def test_b27_mixed_float16_speaks_float32(tmp_path):
    model = small_classifier("mixed_float16")
    x = np.random.default_rng(6).normal(size=(4, 8, 8, 3)).astype("float32")
    servable = exported(model, tmp_path)
    outputs = servable.predict(x)
    specs = servable.signatures["serving_default"]
    assert {spec.dtype for spec in (*specs.inputs.values(), *specs.outputs.values())} == {"float32"}
    assert outputs["probabilities"].dtype == np.float32
    np.testing.assert_allclose(outputs["probabilities"].sum(axis=1), 1.0, rtol=0, atol=1e-6)
    np.testing.assert_allclose(outputs["logits"], model.predict(x, verbose=0).astype("float32"), rtol=0, atol=2e-3)
    exact = small_classifier()
    exact.set_weights(model.get_weights())
    np.testing.assert_allclose(outputs["logits"], exact.predict(x, verbose=0), rtol=0, atol=1e-5)


def test_b27_a_list_of_outputs_keeps_the_layers_names(tmp_path):
    image = keras.Input((4,), name="features")
    logits, embedding = keras.layers.Dense(3, name="logits")(image), keras.layers.Dense(2, name="emb")(image)
    model = keras.Model(image, [logits, embedding])
    x = np.random.default_rng(7).normal(size=(3, 4)).astype("float32")
    servable = exported(model, tmp_path)
    outputs = servable.predict({"features": x})
    assert sorted(outputs) == ["emb", "logits"]
    for got, expected in zip((outputs["logits"], outputs["emb"]), model.predict(x, verbose=0), strict=True):
        np.testing.assert_allclose(got, expected, rtol=0, atol=1e-6)


def test_b27_a_dict_keeps_its_keys_in_any_order(tmp_path):
    model = pair_model()
    servable = exported(model, tmp_path)
    signal, count = np.ones((2, 2), "float32"), np.array([3, 4], "int32")
    expected = model.predict({"signal": signal, "count": count}, verbose=0)
    for inputs in ({"signal": signal, "count": count}, {"count": count, "signal": signal}):
        outputs = servable.predict(inputs)
        assert sorted(outputs) == ["next", "total"]
        np.testing.assert_array_equal(outputs["next"], [4, 5])
        np.testing.assert_allclose(outputs["total"], expected["total"], rtol=0, atol=1e-6)


def test_outputs_of_one_layer_get_numbers(tmp_path):
    sequence = keras.Input((3, 2), name="sequence")
    model = keras.Model(sequence, keras.layers.LSTM(2, return_state=True, name="lstm")(sequence))
    assert sorted(exported(model, tmp_path).predict(np.zeros((1, 3, 2)))) == ["lstm", "lstm_1", "lstm_2"]


def test_a_sequential_model_and_a_hard_input_name(tmp_path):
    model = keras.Sequential([keras.Input((2,), name="0 point:x"), keras.layers.Dense(1, name="value")])
    servable = exported(model, tmp_path)
    assert list(servable.signatures["serving_default"].inputs) == ["input_0_point_x"]
    assert list(servable.predict(np.zeros((2, 2)))) == ["value"]


# B28: any batch size, any image size, bytes


@pytest.mark.parametrize("batch", [0, 1, 5])
def test_b28_any_batch(models, images, batch):
    servable = serving.load(models / "lenet5")
    whole = servable.predict(images)["logits"]
    outputs = servable.predict(images[:batch])
    assert {name: value.shape for name, value in outputs.items()} == {"logits": (batch, 10), "probabilities": (batch, 10)}
    np.testing.assert_allclose(outputs["logits"], whole[:batch], rtol=0, atol=1e-4)


def test_b28_an_empty_batch_of_images_and_fused_convolutions(tmp_path, servable):
    assert servable.predict([], "bytes")["logits"].shape == (0, 10)
    relu = keras.Sequential([keras.Input((None, None, 3)), keras.layers.Conv2D(2, 3, activation="relu", data_format="channels_last")])
    outputs = exported(relu, tmp_path).predict(np.zeros((0, 16, 9, 3)))
    assert [value.shape for value in outputs.values()] == [(0, 14, 7, 2)]


def test_b28_dynamic_image_size(tmp_path):
    image = keras.Input((None, None, 3))
    pooled = keras.layers.GlobalAveragePooling2D(data_format="channels_last")(image)
    model = keras.Model(image, keras.layers.Dense(4, name="logits")(pooled))
    servable = exported(model, tmp_path)
    assert servable.signatures["serving_default"].inputs["images"].shape == (None, None, None, 3)
    for batch, height, width in ((1, 16, 9), (2, 9, 16)):
        assert servable.predict(np.zeros((batch, height, width, 3)))["logits"].shape == (batch, 4)


def test_b28_bytes_equal_arrays_after_the_same_preprocessing(servable, lenet5):
    rng = np.random.default_rng(8)
    files = [
        encode(rng.integers(0, 256, (16, 9, 3), dtype="uint8"), "JPEG"),
        encode(rng.integers(0, 256, (40, 50, 3), dtype="uint8"), "PNG"),
        encode(rng.integers(0, 256, (8, 8), dtype="uint8"), "PNG"),
        encode(rng.integers(0, 256, (20, 31), dtype="uint8"), "GIF"),
        encode(rng.integers(0, 256, (33, 10, 3), dtype="uint8"), "BMP"),
    ]
    outputs = servable.predict(files)
    arrays = zoo.preprocess(files, lenet5).numpy()
    np.testing.assert_allclose(outputs["probabilities"], servable.predict(arrays)["probabilities"], rtol=0, atol=1e-5)
    np.testing.assert_allclose(outputs["logits"], lenet5.predict(arrays, verbose=0), rtol=1e-5, atol=0)
    np.testing.assert_allclose(servable.predict(files[1])["logits"], outputs["logits"][1:2], rtol=1e-5, atol=0)


def test_b28_texts_and_an_empty_one(tmp_path):
    text = keras.Input((), dtype="string", name="text")
    ids = keras.layers.TextVectorization(output_sequence_length=3, vocabulary=["red", "green"])(text)
    vectors = keras.layers.GlobalAveragePooling1D()(keras.layers.Embedding(4, 3)(ids))
    model = keras.Model(text, keras.layers.Dense(2, name="logits")(vectors))
    servable = exported(model, tmp_path)
    texts = np.array(["", "red green blue"], dtype=object)
    outputs = servable.predict(texts)["logits"]
    assert np.isfinite(outputs).all()
    np.testing.assert_allclose(outputs, model.predict(tf.constant(texts), verbose=0), rtol=0, atol=1e-6)
    assert servable.predict(texts[:0])["logits"].shape == (0, 2)


def test_the_graph_holds_constants_once_and_no_randomness(tmp_path):
    keras.utils.set_random_seed(9)
    model = zoo.create("resnet20")
    folder = serving.export(model, tmp_path / "resnet20").path
    ops = set(serving.inspect(folder).content.ops)
    assert not {"VarHandleOp", "ReadVariableOp"} & ops
    assert not [op for op in ops if "Random" in op or "Dropout" in op]
    graph = (folder / "saved_model.pb").read_bytes()
    assert b"_XlaMustCompile" not in graph
    assert b"CustomGradient" not in graph
    # three signatures, one set of weights
    assert len(graph) < 1.4 * 4 * model.count_params()


def test_features_are_a_signature(servable, lenet5, images):
    outputs = servable.predict(images, "features")
    for name, value in zoo.features(lenet5).predict(images, verbose=0).items():
        np.testing.assert_allclose(outputs[name], value, rtol=0, atol=1e-5 * np.abs(value).max())
    assert {len(value) for value in servable.predict(images[:0], "features").values()} == {0}


def test_a_grouped_convolution_leaves_no_call_to_xla(tmp_path):
    image = keras.Input((8, 8, 4))
    model = keras.Model(image, keras.layers.Conv2D(6, 3, groups=2, name="grouped", data_format="channels_last")(image))
    x = np.random.default_rng(10).normal(size=(2, 8, 8, 4)).astype("float32")
    servable = exported(model, tmp_path)
    np.testing.assert_allclose(servable.predict(x)["grouped"], model.predict(x, verbose=0), rtol=0, atol=1e-5)
    assert b"_XlaMustCompile" not in (servable.bundle.path / "saved_model.pb").read_bytes()


def test_weights_above_the_limit_stay_variables(tmp_path, monkeypatch, lenet5, images):
    monkeypatch.setattr(keras_canon.serving.freezing, "MAX_FROZEN_BYTES", 1000)
    servable = exported(lenet5, tmp_path)
    assert "ReadVariableOp" in servable.manifest.ops
    expected = lenet5.predict(images, verbose=0)
    np.testing.assert_allclose(servable.predict(images)["logits"], expected, rtol=0, atol=1e-5 * np.abs(expected).max())


def test_no_preprocessing_no_bytes_signature(tmp_path):
    servable = exported(small_classifier(), tmp_path)
    assert list(servable.signatures) == ["serving_default"]
    with_bytes = exported(small_classifier(), tmp_path, "other", preprocessing=zoo.Preprocessing(size=(8, 8)))
    assert with_bytes.predict(encode(np.zeros((5, 5, 3), "uint8")))["logits"].shape == (1, 3)


class Doubled(keras.layers.Layer):
    """A layer that asks for XLA itself, as fast kernels do; `compile(jit_compile=True)` is refused once operations are deterministic."""

    def call(self, inputs):
        return tf.function(lambda values: 2.0 * values, jit_compile=True, autograph=False)(inputs)


def test_jit_compile_does_not_reach_the_graph(tmp_path):
    inputs = keras.Input((8, 8, 3), name="images")
    logits = keras.layers.Dense(4, name="logits")(keras.layers.Flatten()(Doubled(name="doubled")(inputs)))
    model, images = keras.Model(inputs, logits), np.ones((2, 8, 8, 3), "float32")
    folder = serving.export(model, tmp_path / "small").path
    assert b"_XlaMustCompile" not in (folder / "saved_model.pb").read_bytes()
    np.testing.assert_allclose(serving.load(tmp_path / "small").predict(images)["logits"], model(images), atol=1e-5)


def test_any_runtime_sees_float32_and_labels(models):
    loaded = tf.saved_model.load(str(models / "lenet5" / "1"))
    assert loaded.signatures["serving_default"].structured_input_signature[1]["images"].dtype == tf.float32
    assert Path(loaded.labels.asset_path.numpy().decode()).read_text().split() == list(LABELS)


# sources and errors


def test_sources_are_models_files_and_runs(tmp_path, lenet5, images):
    run = tmp_path / "run"
    run.mkdir()
    lenet5.save(run / "model.keras")
    expected = lenet5.predict(images, verbose=0)
    for source, name in ((run, "a"), (run / "model.keras", "b"), (str(run), "c")):
        servable = exported(source, tmp_path, name)
        assert servable.labels == LABELS
        np.testing.assert_allclose(servable.predict(images)["logits"], expected, rtol=1e-5, atol=0)


def test_labels_given_replace_those_of_the_record(tmp_path, lenet5):
    servable = exported(lenet5, tmp_path, labels=[f"Ziffer {i} · é" for i in range(10)])
    assert servable.labels[3] == "Ziffer 3 · é"
    assert servable.manifest.record == dataclasses.replace(lenet5.record, labels=servable.labels)


def test_what_cannot_be_exported_is_one_sentence_and_leaves_nothing(tmp_path, lenet5):
    class Subclassed(keras.Model):
        def call(self, x):
            return x

    grey = zoo.Preprocessing(size=(8, 8), channels=1)
    cases = [
        (lambda: serving.export(tmp_path / "none", tmp_path / "out" / "x"), "no model file"),
        (lambda: serving.export(tmp_path, tmp_path / "out" / "x"), r"no model\.keras in"),
        (lambda: serving.export(Subclassed(name="sub"), tmp_path / "out" / "x"), "'sub' cannot be exported: it is not functional"),
        (lambda: serving.export(keras.Sequential(name="seq"), tmp_path / "out" / "x"), "'seq' cannot be exported"),
        (lambda: serving.export(lenet5, tmp_path / "out" / "x", labels=["a", "b"]), "10 classes, got 2 labels"),
        (lambda: serving.export(lenet5, tmp_path / "out" / "x", labels=["a\nb", *"123456789"]), "one line"),
        (lambda: serving.export(lenet5, tmp_path / "out" / "a b"), "cannot be served under the name 'a b'"),
        (lambda: serving.export(lenet5, tmp_path / "out" / "3"), "taken for a version"),
        (lambda: serving.export(lenet5, tmp_path / "out" / "x", version=0), "at least 1"),
        (lambda: serving.export(small_classifier(), tmp_path / "out" / "x", preprocessing=grey), r"\(8, 8, 1\), but model 'small' takes"),
        (lambda: serving.export(pair_model(), tmp_path / "out" / "x", preprocessing=grey), "one image input"),
    ]
    for action, message in cases:
        with pytest.raises(CanonError, match=message) as caught:
            action()
        assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_failure_while_writing_leaves_nothing(tmp_path, monkeypatch):
    def fail(*args, **kwargs):
        raise tf.errors.ResourceExhaustedError(None, None, "no space")

    monkeypatch.setattr(tf.saved_model, "save", fail)
    with pytest.raises(tf.errors.ResourceExhaustedError):
        serving.export(small_classifier(), tmp_path / "out" / "small")
    assert list(tmp_path.iterdir()) == []
