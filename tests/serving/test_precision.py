"""bfloat16 and int8, and what an export measures of itself."""

import keras
import numpy as np
import pytest
from checks.serving import small_classifier
from tensorflow.core.framework import graph_pb2, types_pb2

from keras_canon import serving
from keras_canon.serving import precision
from keras_canon.serving.freezing import Core
from keras_canon.zoo import CanonError


def test_a_cast_to_another_type_makes_no_bfloat16(monkeypatch):
    core = Core(graph_pb2.GraphDef(), ("x:0",), ("y:0",))
    core.graph.node.add(name="x", op="Placeholder")
    cast = core.graph.node.add(name="y", op="Cast", input=["x"])
    cast.attr["DstT"].type = types_pb2.DT_FLOAT
    monkeypatch.setattr(precision, "fold_constants", lambda core, bfloat16: core)
    monkeypatch.setenv("TF_ENABLE_ONEDNN_OPTS", "1")  # no other process is asked
    with pytest.raises(CanonError, match="'m' cannot be exported in bfloat16 on this machine"):
        precision.to_bfloat16(core, "m")
    cast.attr["DstT"].type = types_pb2.DT_BFLOAT16
    assert len(precision.to_bfloat16(core, "m").graph.node) == 2


@pytest.fixture
def data():
    rng = np.random.default_rng(1)
    return rng.normal(size=(20, 8, 8, 3)).astype("float32"), rng.integers(0, 3, 20)


def in_turn(bundle):
    return {item.what: item for item in bundle.manifest.measurements}


def test_bfloat16_is_half_as_large_speaks_float32_and_measures_itself(tmp_path):
    keras.utils.set_random_seed(3)
    image = keras.Input((16, 16, 3))
    x = image
    for _ in range(3):
        x = keras.layers.Conv2D(128, 3, padding="same", data_format="channels_last")(x)
        x = keras.layers.ReLU()(keras.layers.BatchNormalization()(x))
    x = keras.layers.GlobalAveragePooling2D(data_format="channels_last")(x)
    model = keras.Model(image, keras.layers.Dense(5, name="logits")(x), name="middle")
    rng = np.random.default_rng(4)
    inputs, targets = rng.normal(size=(20, 16, 16, 3)).astype("float32"), rng.integers(0, 5, 20)
    bundles = {
        precision: serving.export(model, tmp_path / precision, precision=precision, data=(inputs, targets))
        for precision in ("float32", "bfloat16")
    }
    graphs = {precision: (bundle.path / "saved_model.pb").stat().st_size for precision, bundle in bundles.items()}
    assert graphs["bfloat16"] < 0.55 * graphs["float32"]
    manifest = serving.load(bundles["bfloat16"].path).manifest
    assert manifest.precision == "bfloat16"
    assert {spec.dtype for spec in manifest.signatures["serving_default"].outputs.values()} == {"float32"}
    (measured,) = manifest.measurements
    assert (measured.what, measured.examples, measured.batch) == ("saved_model bfloat16", 20, 16)
    assert 0 < measured.difference < 0.05
    assert measured.agreement >= 0.8
    expected = model.predict(inputs, verbose=0)
    assert measured.float32_accuracy == pytest.approx(np.mean(expected.argmax(-1) == targets))
    assert measured.milliseconds > 0
    (exact,) = bundles["float32"].manifest.measurements
    assert exact.difference < 1e-5
    assert (exact.agreement, exact.accuracy) == (1.0, exact.float32_accuracy)


def test_int8_writes_litert_beside_the_float32_model(tmp_path, data):
    pytest.importorskip("ai_edge_litert", reason="the extra litert is not installed")
    bundle = serving.export(small_classifier(), tmp_path / "small", precision="int8", data=data)
    assert bundle.manifest.formats == {"litert": "litert/model.tflite"}
    assert "litert/model.tflite" in bundle.manifest.files
    measured = in_turn(bundle)
    assert set(measured) == {"saved_model float32", "litert int8"}
    assert measured["litert int8"].difference < 0.1
    assert measured["litert int8"].accuracy is not None


def test_what_does_not_go_together_is_one_sentence(tmp_path, data):
    model, out = small_classifier(), tmp_path / "out" / "x"
    names = keras.Input((), dtype="string", name="text")
    words = keras.Model(names, keras.layers.TextVectorization(output_sequence_length=3, vocabulary=["a"], name="ids")(names), name="words")
    images, targets = data
    cases = [
        (lambda: serving.export(model, out, precision="float16"), "precision must be 'float32', 'bfloat16' or 'int8', got 'float16'"),
        (lambda: serving.export(model, out, precision="int8"), "int8 needs data"),
        (lambda: serving.export(model, out, precision="int8", formats=["onnx"], data=data), "int8 is written as litert only"),
        (lambda: serving.export(model, out, formats=["onx"]), "no format called 'onx'"),
        (lambda: serving.export(words, out, precision="bfloat16"), "'words' can be exported only as a float32 SavedModel"),
        (lambda: serving.export(model, out, data=images[..., :1]), r"must have shape \(\?, 8, 8, 3\)"),
        (lambda: serving.export(model, out, data=(images, targets[:3])), "same number of rows"),
        (lambda: serving.export(model, out, data=(images, targets / 2)), "must be class indices"),
        (lambda: serving.export(model, out, data={"x": images}), "exactly the inputs images, got x"),
        (lambda: serving.export(model, out, data=tmp_path / "none.npz"), "cannot be read"),
        (lambda: serving.export(model, out, data=tmp_path), "needs a model with a preprocessing"),
    ]
    for action, message in cases:
        with pytest.raises(CanonError, match=message) as caught:
            action()
        assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_data_out_of_files(tmp_path, data, lenet5):
    from checks.serving import LABELS, encode

    images, targets = data
    np.savez(tmp_path / "data.npz", images=images, targets=targets)
    bundle = serving.export(small_classifier(), tmp_path / "small", data=tmp_path / "data.npz")
    assert bundle.manifest.measurements[0].accuracy is not None
    rng = np.random.default_rng(5)
    for label in LABELS[:2]:
        (tmp_path / "photos" / label).mkdir(parents=True)
        (tmp_path / "photos" / label / "a.png").write_bytes(encode(rng.integers(0, 256, (20, 30, 3), dtype="uint8")))
    bundle = serving.export(lenet5, tmp_path / "lenet5", data=tmp_path / "photos")
    assert (bundle.manifest.measurements[0].examples, bundle.manifest.measurements[0].batch) == (2, 2)
    assert bundle.manifest.measurements[0].accuracy in (0.0, 0.5, 1.0)
