"""One model, many roads, the same answer: five inputs of every family.

The roads: `model.predict`; `serving.load`; a process that has no keras_canon; REST; gRPC; LiteRT, ONNX Runtime and OpenVINO. One
family is swept by default, all under `-m slow`, at the sizes of the zoo's own sweeps.
"""

import importlib.util
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import keras
import numpy as np
import pytest
import requests
import tensorflow as tf
from checks.serving import encode, small_classifier
from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc

from keras_canon import serving, zoo
from keras_canon.serving.formats import FORMATS, open_format
from keras_canon.training.data import load
from keras_canon.training.pipeline import reader
from keras_canon.zoo import CanonError

ROWS = 5
DEFAULT = {"resnet_cifar"}  # test_text_signatures.py takes sequences along most of the roads
MODULES = {"litert": "ai_edge_litert", "onnx": "tf2onnx", "openvino": "openvino"}
# family -> formats that cannot hold it -> what the export says: LiteRT wants to know the size of what a loop collects
LOOPS = ("char_rnn", "crnn_ctc", "deepspeech2", "echo_state", "elman", "identity_rnn", "jordan", "leaky_rnn", "lstm_classifier")
LOOPS += ("seq2seq", "seq2seq_attention", "seq2seq_luong")
REFUSED: dict[str, dict[str, str]] = {family: {"litert": "its runtime lacks the operation TensorListReserve"} for family in LOOPS}
REFUSED["crnn_ctc"]["onnx"] = "its runtime cannot run it"
# Runs with plain TensorFlow: any import of this package fails. Answers one folder a line.
FRESH = """
import sys
from pathlib import Path
sys.modules["keras_canon"] = None
import numpy as np
import tensorflow as tf
for line in sys.stdin:
    folder = Path(line.rstrip())
    given = np.load(folder.parent / "inputs.npz")
    outputs = tf.saved_model.load(str(folder)).signatures["serving_default"](**{k: tf.constant(given[k]) for k in given.files})
    np.savez(folder.parent / "outputs.npz", **{k: v.numpy() for k, v in outputs.items()})
    assert sys.modules["keras_canon"] is None and not any(name.startswith("keras_canon.") for name in sys.modules)
    print("done", flush=True)
"""


def gather():
    """Return the smallest case of each family: name of the family -> case."""
    cases = {}
    for path in sorted(Path(__file__).parents[1].glob("zoo/*/cases_*.py")):
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        cases |= {case.name: case for case in module.CASES}
    smallest = {}
    for info in map(zoo.info, zoo.list_models()):
        if info.family not in smallest or info.trainable_parameters < smallest[info.family].trainable_parameters:
            smallest[info.family] = info
    return {family: cases[info.name] for family, info in sorted(smallest.items())}


CASES = gather()
FAMILIES = [pytest.param(family, marks=() if family in DEFAULT else pytest.mark.slow) for family in CASES]


@pytest.fixture(scope="module")
def fresh():
    """Return a function: version folder beside an `inputs.npz` -> the outputs of a process without the package."""
    with subprocess.Popen([sys.executable, "-c", FRESH], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:

        def answer(folder):
            process.stdin.write(f"{folder}\n")
            process.stdin.flush()
            assert process.stdout.readline() == "done\n"
            return dict(np.load(folder.parent / "outputs.npz"))

        yield answer
        process.stdin.close()
        assert process.wait(60) == 0


@dataclass
class Exported:
    """A model of a family, its bundle in all formats that can hold it, five rows for each input by name, and its answers."""

    family: str
    model: keras.Model
    bundle: serving.Bundle
    inputs: dict[str, Any]
    expected: dict[str, np.ndarray]


@pytest.fixture(scope="module", params=FAMILIES)
def exported(request, tmp_path_factory):
    case = CASES[request.param]
    model = case.build()
    inputs = {"images": case.inputs(ROWS)} if zoo.info(case.name).task == "image-classification" else case.inputs(model, ROWS)
    held = [form for form in FORMATS if importlib.util.find_spec(MODULES[form]) and form not in REFUSED.get(request.param, {})]
    bundle = serving.export(model, tmp_path_factory.mktemp("parity") / request.param, formats=held)
    yield Exported(request.param, model, bundle, inputs, expect(model, inputs))
    keras.backend.clear_session()


def expect(model, inputs):
    """Return what `model.predict` gives by name, with the probabilities where it gives logits of classes."""
    given = inputs if isinstance(model.input, dict) or len(inputs) > 1 else next(iter(inputs.values()))
    outputs = model.predict(given, verbose=0)
    outputs = outputs if isinstance(outputs, dict) else dict(zip(model.output_names, keras.tree.flatten(outputs), strict=True))
    return {name: np.asarray(value) for name, value in outputs.items()}


def check_equal(got, expected, road, tolerance=1e-5):
    assert set(expected) <= set(got), road
    for name, value in expected.items():
        found = np.asarray(got[name]).reshape(value.shape)
        assert np.abs(found - value).max() <= tolerance * max(np.abs(value).max(), 1e-3), (road, name)
    if "probabilities" in got and "probabilities" not in expected:
        probabilities = np.asarray(keras.ops.softmax(expected["logits"]))
        assert np.abs(np.asarray(got["probabilities"]) - probabilities).max() <= max(tolerance, 1e-5), road


def over_the_network(folder, name, inputs, outputs):
    """Return the answers over REST and over gRPC."""
    with (
        serving.Server(folder, port=0, grpc_port=0, limits=serving.Limits(max_body_mb=256), quiet=True) as server,
        grpc.insecure_channel(f"127.0.0.1:{server.grpc_port}", [("grpc.max_receive_message_length", -1)]) as channel,
    ):
        body = json.dumps({"inputs": {key: array.tolist() for key, array in inputs.items()}})
        reply = requests.post(f"{server.url}/v1/models/{name}:predict", data=body, timeout=120)
        assert reply.status_code == 200, reply.text[:500]
        columns = reply.json()["outputs"]
        message = predict_pb2.PredictRequest()
        message.model_spec.name = name
        for key, array in inputs.items():
            message.inputs[key].CopyFrom(tf.make_tensor_proto(array))
        answer = prediction_service_pb2_grpc.PredictionServiceStub(channel).Predict(message, timeout=120)
    return (
        columns if len(outputs) > 1 else {next(iter(outputs)): columns},
        {key: tf.make_ndarray(value) for key, value in answer.outputs.items()},
    )


def test_five_inputs_have_one_answer_on_every_road(exported, fresh):
    bundle, inputs, expected = exported.bundle, exported.inputs, exported.expected
    np.savez(bundle.path.parent / "inputs.npz", **inputs)
    loaded = serving.load(bundle.path)
    outputs = loaded.predict(inputs)
    check_equal(outputs, expected, "serving.load")
    check_equal(fresh(bundle.path), expected, "a fresh process")
    rest, remote = over_the_network(bundle.path.parent, exported.family, inputs, outputs)
    check_equal(rest, expected, "REST")
    check_equal(remote, expected, "gRPC")
    assert {len(value) for value in loaded.predict({name: value[:0] for name, value in inputs.items()}).values()} == {0}
    ops = set(bundle.manifest.ops)
    assert not {"VarHandleOp", "ReadVariableOp"} & ops
    assert not [op for op in ops if "Random" in op or "PyFunc" in op]
    assert b"_XlaMustCompile" not in (bundle.path / "saved_model.pb").read_bytes()


@pytest.mark.parametrize("form", FORMATS)
def test_five_inputs_have_one_answer_in_every_runtime(exported, form, tmp_path):
    if importlib.util.find_spec(MODULES[form]) is None:
        pytest.skip(f"the extra {form} is not installed")
    if form in REFUSED.get(exported.family, {}):
        with pytest.raises(CanonError, match=REFUSED[exported.family][form]) as refused:
            serving.export(exported.model, tmp_path / exported.family, formats=[form])
        assert "\n" not in str(refused.value)
        assert list(tmp_path.iterdir()) == []
        return
    got = open_format(form, exported.bundle.path / exported.bundle.manifest.formats[form])(exported.inputs)
    check_equal(got, exported.expected, form, tolerance=1e-3)


IMAGE_FAMILIES = [param for param in FAMILIES if zoo.info(CASES[param.values[0]].name).task == "image-classification"]


@pytest.mark.parametrize("family", IMAGE_FAMILIES)
def test_an_open_image_size_stays_open_where_the_network_allows_it(family, tmp_path):
    case = CASES[family]
    height, width, channels = case.shape
    options = {"num_classes": 5, "overrides": case.overrides}
    try:
        model = zoo.create(case.name, input_shape=(None, None, channels), **options)
    except ValueError as error:
        if "input_shape" not in str(error):  # a network whose weights depend on the size says so
            raise
        return
    servable = serving.load(serving.export(model, tmp_path / family).path)
    assert servable.signatures["serving_default"].inputs["images"].shape == (None, None, None, channels)
    for batch, rows, columns in ((0, height, width), (1, height + 5, width), (3, height + 1, width + 12)):
        images = np.random.default_rng(rows).normal(size=(batch, rows, columns, channels)).astype("float32")
        if batch:
            check_equal(servable.predict(images), expect(model, {"images": images}), (rows, columns))
        else:
            assert {len(value) for value in servable.predict(images).values()} == {0}


@pytest.mark.filterwarnings("ignore:Classes with fewer than 5 training examples:UserWarning")
def test_the_same_jpeg_is_the_same_in_training_data_predict_and_bytes(tmp_path, lenet5, servable):
    rng, files = np.random.default_rng(7), {}
    for number in range(8):
        size = (30 + number, 45 - 2 * number, 3)
        files[f"{'ab'[number % 2]}/{number}.jpg"] = encode(rng.integers(0, 256, size, dtype="uint8"), "JPEG")
    for name, encoded in files.items():
        (tmp_path / "photos" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "photos" / name).write_bytes(encoded)
    split = load(f"folder:{tmp_path / 'photos'}", data_dir=tmp_path / "prepared").train
    ((images, _),) = reader(split, lenet5.record.preprocessing, 8)(None)
    encoded = [files[name] for name in split.ids.tolist()]
    np.testing.assert_array_equal(images, zoo.preprocess(encoded, lenet5))
    expected = lenet5.predict(images, verbose=0)
    np.testing.assert_allclose(servable.predict(encoded)["logits"], expected, rtol=0, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16", "bfloat16"])
def test_a_policy_leaves_float32_arithmetic(policy, tmp_path):
    model, exact = small_classifier(policy), small_classifier()
    exact.set_weights([np.asarray(value, "float32") for value in model.get_weights()])
    x = np.random.default_rng(14).normal(size=(3, 8, 8, 3)).astype("float32")
    bundle = serving.export(model, tmp_path / "small")
    np.testing.assert_allclose(serving.load(bundle.path).predict(x)["logits"], exact.predict(x, verbose=0), rtol=0, atol=1e-5)
    assert model.layers[-1].compute_dtype != "float32"  # the model itself is as it was
