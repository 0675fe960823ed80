"""Five inputs over REST and gRPC equal `Servable.predict`: a few families by default, one row of each under `slow`."""

import json

import grpc
import keras
import numpy as np
import pytest
import requests
import tensorflow as tf
from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc

from keras_canon import serving, zoo
from keras_canon.serving.warming import made_up_inputs
from keras_canon.zoo import CanonError

DEFAULT = {"resnet_cifar", "gru_classifier"}


def smallest_rows():
    smallest = {}
    for info in map(zoo.info, zoo.list_models()):
        if info.family not in smallest or info.trainable_parameters < smallest[info.family].trainable_parameters:
            smallest[info.family] = info
    return sorted(smallest.values(), key=lambda info: info.name)


def five_inputs(signature):
    """Random numbers in place of the zeros that a warm-up takes; token numbers stay small, for every vocabulary has those."""
    rng, inputs = np.random.default_rng(7), made_up_inputs(signature, 5)[0]
    for name, array in inputs.items():
        drawn = rng.normal(size=array.shape) if array.dtype.kind == "f" else rng.integers(1, 9, array.shape)
        inputs[name] = drawn.astype(array.dtype)
    return inputs


def check_equal(got, expected):
    assert sorted(got) == sorted(expected)
    for name, array in expected.items():
        scale = 1.0 if name == "probabilities" else max(1.0, float(np.abs(array).max()))
        np.testing.assert_allclose(np.asarray(got[name]).reshape(array.shape), array, rtol=0, atol=1e-5 * scale)


@pytest.mark.parametrize(
    "name", [pytest.param(info.name, marks=() if info.family in DEFAULT else pytest.mark.slow) for info in smallest_rows()]
)
def test_rest_and_grpc_answer_as_the_servable_does(name, tmp_path):
    keras.utils.set_random_seed(0)
    try:
        serving.export(zoo.create(name), tmp_path / name)
    except CanonError as error:
        pytest.skip(f"{name} has no bundle: {error}")
    servable = serving.load(tmp_path / name)
    inputs = five_inputs(servable.signatures["serving_default"])
    expected = servable.predict(inputs)
    limits = serving.Limits(max_body_mb=256)
    with (
        serving.Server(tmp_path, port=0, grpc_port=0, limits=limits, quiet=True) as server,
        grpc.insecure_channel(f"127.0.0.1:{server.grpc_port}", [("grpc.max_receive_message_length", -1)]) as channel,
    ):
        body = json.dumps({"inputs": {key: array.tolist() for key, array in inputs.items()}})
        reply = requests.post(f"{server.url}/v1/models/{name}:predict", data=body, timeout=120)
        assert reply.status_code == 200, reply.text[:500]
        outputs = reply.json()["outputs"]
        check_equal(outputs if len(expected) > 1 else {next(iter(expected)): outputs}, expected)

        message = predict_pb2.PredictRequest()
        message.model_spec.name = name
        for key, array in inputs.items():
            message.inputs[key].CopyFrom(tf.make_tensor_proto(array))
        answer = prediction_service_pb2_grpc.PredictionServiceStub(channel).Predict(message, timeout=120)
        check_equal({key: tf.make_ndarray(value) for key, value in answer.outputs.items()}, expected)
