"""Warm-up requests in the form that TF Serving replays before it announces a version."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import tensor_pb2

from ..zoo.records import Preprocessing
from .bundle import IMAGES_BYTES, Signature, TensorSpec

WARMUP = "assets.extra/tf_serving_warmup_requests"
_OPEN_SIZE = 32  # of an axis of any length


def write_warmup(
    folder: Path,
    name: str,
    signatures: Mapping[str, Signature],
    functions: Mapping[str, Callable[..., Any]],
    preprocessing: Preprocessing | None,
) -> None:
    """Write one request of one row for each signature.

    TF Serving offers no version whose warm-up fails, so a request that is a guess, of lengths or of a text, is tried first, and left
    out when the network does not take it.

    Args:
        folder: the version folder.
        name: name under which the model is served.
        signatures: name -> inputs and outputs.
        functions: name -> what computes it.
        preprocessing: says how large an encoded image is worth trying.
    """
    path = folder / WARMUP
    path.parent.mkdir(parents=True, exist_ok=True)
    with tf.io.TFRecordWriter(str(path)) as writer:
        for key, signature in signatures.items():
            tensors = {input_name: _example(input_name, spec, preprocessing) for input_name, spec in signature.inputs.items()}
            if not _guessed(signature) or _answered(functions[key], tensors):
                writer.write(_prediction_log(name, key, tensors))


def _guessed(signature: Signature) -> bool:
    # a text of one letter may have too many tokens for a short context
    texts = any(spec.dtype == "string" and name != IMAGES_BYTES for name, spec in signature.inputs.items())
    return texts or any(spec.shape is None or None in spec.shape[1:] for spec in signature.inputs.values())


def _answered(function: Callable[..., Any], tensors: Mapping[str, tensor_pb2.TensorProto]) -> bool:
    try:
        function(**{name: tf.constant(tf.make_ndarray(tensor)) for name, tensor in tensors.items()})
    except tf.errors.InvalidArgumentError:
        return False
    return True


def _example(name: str, spec: TensorSpec, preprocessing: Preprocessing | None) -> tensor_pb2.TensorProto:
    if spec.dtype == "string" and name != IMAGES_BYTES:
        return tf.make_tensor_proto([b"a"])
    if spec.dtype == "string":
        size = (64, 64) if preprocessing is None else preprocessing.size
        return tf.make_tensor_proto([tf.io.encode_jpeg(np.zeros((*size, 3), "uint8")).numpy()])
    guesses = [_OPEN_SIZE] * len(spec.shape or ())
    if preprocessing is not None and len(guesses) == 4:  # images: of the size that the network was made for
        guesses[1:3] = preprocessing.size
    shape = [] if spec.shape == () else [1, *(size or guess for size, guess in zip((spec.shape or ())[1:], guesses[1:], strict=True))]
    zero = tf.make_tensor_proto(np.zeros((), tf.as_dtype(spec.dtype).as_numpy_dtype), dtype=spec.dtype)
    # a value given once stands for every element, which keeps the file small
    zero.tensor_shape.CopyFrom(tf.TensorShape(shape).as_proto())
    return zero


def _prediction_log(name: str, signature: str, tensors: Mapping[str, tensor_pb2.TensorProto]) -> bytes:
    """Encode `tensorflow.serving.PredictionLog`, whose classes come with tensorflow-serving-api, which an export does not need.

    Field numbers: PredictionLog.predict_log = 6; PredictLog.request = 1; PredictRequest.model_spec = 1 and .inputs = 2 (a map, so
    messages of key = 1 and value = 2); ModelSpec.name = 1 and .signature_name = 3.
    """
    model_spec = _field(1, name.encode()) + _field(3, signature.encode())
    request = _field(1, model_spec)
    for key, tensor in tensors.items():
        request += _field(2, _field(1, key.encode()) + _field(2, tensor.SerializeToString()))
    return _field(6, _field(1, request))


def _field(number: int, content: bytes) -> bytes:
    """Encode one field of a protocol buffer that holds bytes, text or a message (wire type 2)."""
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
