"""TF Serving's own stubs against the gRPC port."""

import re
import threading

import grpc
import numpy as np
import pytest
import tensorflow as tf
from checks.serving import encode
from tensorflow.core.framework import tensor_pb2, types_pb2
from tensorflow_serving.apis import (
    get_model_metadata_pb2,
    get_model_status_pb2,
    model_management_pb2,
    model_service_pb2_grpc,
    predict_pb2,
    prediction_service_pb2_grpc,
)

from keras_canon import serving
from keras_canon.serving.bundle import TensorSpec
from keras_canon.serving.errors import RequestError
from keras_canon.serving.grpc_tensors import from_message
from keras_canon.zoo import CanonError


@pytest.fixture(scope="module")
def channel(server):
    with grpc.insecure_channel(f"127.0.0.1:{server.grpc_port}", [("grpc.max_send_message_length", -1)]) as channel:
        yield channel


@pytest.fixture(scope="module")
def stub(channel):
    return prediction_service_pb2_grpc.PredictionServiceStub(channel)


def request(model, signature="", version=None, **inputs):
    message = predict_pb2.PredictRequest()
    message.model_spec.name = model
    message.model_spec.signature_name = signature
    if version is not None:
        message.model_spec.version.value = version
    for name, value in inputs.items():
        message.inputs[name].CopyFrom(tf.make_tensor_proto(value))
    return message


def refusal(call, message, **options):
    with pytest.raises(grpc.RpcError) as caught:
        call(message, timeout=60, **options)
    return caught.value.code(), caught.value.details()


def test_predict_answers_as_the_servable_does(stub, servable, images):
    reply = stub.Predict(request("lenet5", images=images), timeout=60)
    expected = servable.predict(images)
    assert (reply.model_spec.name, reply.model_spec.version.value, reply.model_spec.signature_name) == ("lenet5", 2, "serving_default")
    assert sorted(reply.outputs) == sorted(expected)
    for name, array in expected.items():
        np.testing.assert_allclose(tf.make_ndarray(reply.outputs[name]), array, rtol=1e-5, atol=1e-6)


def test_encoded_images_versions_and_output_filter(stub, servable):
    file = encode(np.random.default_rng(0).integers(0, 256, (40, 30, 3), dtype="uint8"), "JPEG")
    message = request("lenet5", "bytes", 1, images_bytes=[file])
    message.output_filter.append("probabilities")
    reply = stub.Predict(message, timeout=60)
    assert list(reply.outputs) == ["probabilities"]
    assert reply.model_spec.version.value == 1
    np.testing.assert_allclose(tf.make_ndarray(reply.outputs["probabilities"]), servable.predict(file)["probabilities"], rtol=0, atol=1e-6)


def test_whole_numbers_are_accepted_for_floats(stub):
    reply = stub.Predict(request("log", point=np.ones((1, 3), "int32")), timeout=60)
    assert tf.make_ndarray(reply.outputs["log"]).tolist() == [[0, 0, 0]]


INVALID, MISSING = grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.NOT_FOUND
WRONG = {
    "unknown model": (request("lenet", images=[1.0]), MISSING, "no model 'lenet': did you mean 'lenet5'"),
    "unknown version": (request("lenet5", version=7, images=[1.0]), MISSING, "numbered '7'"),
    "unknown signature": (request("lenet5", "byte", images=[1.0]), MISSING, "no signature 'byte'"),
    "wrong rank": (
        request("lenet5", images=np.zeros((1, 32), "float32")),
        INVALID,
        r"'images' must have shape \(\?, 32, 32, 1\), .* got \(1, 32\)",
    ),
    "wrong size": (request("log", point=np.zeros((1, 2), "float32")), INVALID, r"got \(1, 2\)"),
    "string for float": (request("log", point=[["a", "b", "c"]]), INVALID, "'point' must hold float32"),
    "wrong name": (request("log", pint=[1.0]), INVALID, "exactly the inputs 'point', got 'pint'"),
    "no inputs": (request("log"), INVALID, "got none"),
    "no image": (request("lenet5", "bytes", images_bytes=[b"AAAA"]), INVALID, "JPEG, PNG, GIF, BMP or WebP"),
}


@pytest.mark.parametrize("case", WRONG)
def test_b46_wrong_request(stub, case):
    message, code, words = WRONG[case]
    got, details = refusal(stub.Predict, message)
    assert got == code, details
    assert re.search(words, details), details
    assert "\n" not in details


def test_b46_a_20_mb_request_is_refused_with_the_limit_or_answered(stub, models):
    rows = 1_750_000
    big = request("log", point=np.ones((rows, 3), "float32"))
    assert big.ByteSize() > 20e6
    code, details = refusal(stub.Predict, big)
    assert code == grpc.StatusCode.RESOURCE_EXHAUSTED
    assert str(2**20) in details
    sizes = [("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1)]
    with (
        serving.Server(models / "log", port=0, grpc_port=0, limits=serving.Limits(max_rows=rows), quiet=True) as roomy,
        grpc.insecure_channel(f"127.0.0.1:{roomy.grpc_port}", sizes) as channel,
    ):
        reply = prediction_service_pb2_grpc.PredictionServiceStub(channel).Predict(big, timeout=120)
        assert not tf.make_ndarray(reply.outputs["log"]).any()
        assert [axis.size for axis in reply.outputs["log"].tensor_shape.dim] == [rows, 3]


def test_b46_a_good_request_is_answered_as_before(stub, images):
    good = request("lenet5", images=images)
    before = stub.Predict(good, timeout=60).SerializeToString(deterministic=True)
    for message, code, _ in WRONG.values():
        assert refusal(stub.Predict, message)[0] == code
    assert stub.Predict(good, timeout=60).SerializeToString(deterministic=True) == before


def test_metadata(stub):
    message = get_model_metadata_pb2.GetModelMetadataRequest(metadata_field=["signature_def"])
    message.model_spec.name = "lenet5"
    reply = stub.GetModelMetadata(message, timeout=60)
    signatures = get_model_metadata_pb2.SignatureDefMap()
    assert reply.metadata["signature_def"].Unpack(signatures)
    images = signatures.signature_def["serving_default"].inputs["images"]
    assert images.dtype == types_pb2.DT_FLOAT
    assert [axis.size for axis in images.tensor_shape.dim] == [-1, 32, 32, 1]
    message.metadata_field[:] = ["other"]
    assert refusal(stub.GetModelMetadata, message) == (INVALID, "metadata_field must be ['signature_def'], got ['other'].")


def test_model_status(channel):
    stub = model_service_pb2_grpc.ModelServiceStub(channel)
    message = get_model_status_pb2.GetModelStatusRequest()
    message.model_spec.name = "lenet5"
    states = stub.GetModelStatus(message, timeout=60).model_version_status
    available = get_model_status_pb2.ModelVersionStatus.State.AVAILABLE
    assert [(state.version, state.state) for state in states] == [(2, available), (1, available)]
    message.model_spec.name = "none"
    assert refusal(stub.GetModelStatus, message)[0] == MISSING
    assert refusal(stub.HandleReloadConfigRequest, model_management_pb2.ReloadConfigRequest())[0] == grpc.StatusCode.UNIMPLEMENTED


def test_clients_at_the_same_time_get_their_own_answers(stub, servable):
    rows = np.random.default_rng(1).normal(size=(24, 32, 32, 1)).astype("float32")
    expected, got = servable.predict(rows)["logits"], {}

    def client(row):
        got[row] = tf.make_ndarray(stub.Predict(request("lenet5", images=rows[row : row + 1]), timeout=60).outputs["logits"])[0]

    threads = [threading.Thread(target=client, args=(row,)) for row in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    scale = np.abs(expected).max()
    np.testing.assert_allclose([got[row] for row in range(24)], expected, rtol=0, atol=1e-5 * scale)


FLOATS = TensorSpec("float32", (None, 2), "x:0")


def test_messages_that_contradict_themselves():
    def message(sizes, **fields):
        built = tensor_pb2.TensorProto(dtype=types_pb2.DT_FLOAT, **fields)
        for size in sizes:
            built.tensor_shape.dim.add(size=size)
        return built

    limits, held = serving.Limits(max_body_mb=1000 / 2**20, max_rows=4), []
    for built, words in (
        (message([10**9, 2], float_val=[1.0]), "more than 1000 bytes"),
        (message([5, 2], float_val=[1.0]), "has 5 rows, and 4 are allowed"),
        (message([-1, 2]), "must have a known shape"),
        (message([2, 2], tensor_content=b"abc"), "another number of values"),
        (tensor_pb2.TensorProto(dtype=types_pb2.DT_RESOURCE), "must hold float32"),
        (tensor_pb2.TensorProto(dtype=types_pb2.DT_INVALID), "must hold float32"),
        (tensor_pb2.TensorProto(), "must hold float32"),
    ):
        with pytest.raises(RequestError, match=words):
            from_message(built, FLOATS, "x", limits, held.append)
    held.clear()
    assert from_message(message([1, 2], float_val=[1.0, 2.0]), FLOATS, "x", limits, held.append).tolist() == [[1.0, 2.0]]
    assert held == [8]
    texts = message([3], string_val=[b"once"])
    texts.dtype = types_pb2.DT_STRING
    with pytest.raises(RequestError, match="another number of values"):
        from_message(texts, TensorSpec("string", (None,), "s:0"), "s", limits, held.append)


def test_the_token_is_asked_for(models):
    with (
        serving.Server(models / "log", port=0, grpc_port=0, token="s3cret", quiet=True) as server,
        grpc.insecure_channel(f"127.0.0.1:{server.grpc_port}") as channel,
    ):
        stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
        message = request("log", point=np.ones((1, 3), "float32"))
        for metadata in ((), (("authorization", "Bearer wrong"),), (("authorization", "s3cret"),)):
            assert refusal(stub.Predict, message, metadata=metadata)[0] == grpc.StatusCode.UNAUTHENTICATED
        assert stub.Predict(message, timeout=60, metadata=(("authorization", "Bearer s3cret"),)).outputs["log"].float_val is not None


def test_a_taken_port_is_one_sentence(models, server):
    with pytest.raises(CanonError, match="for gRPC: give another --grpc-port"):
        serving.Server(models / "log", port=0, grpc_port=server.grpc_port)
