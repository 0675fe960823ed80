"""TensorFlow's tensor messages to arrays and back."""

import math
from collections.abc import Callable

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import tensor_pb2, types_pb2

from .bundle import TensorSpec
from .errors import RequestError
from .limits import Limits
from .tensors import from_array


def from_message(message: tensor_pb2.TensorProto, spec: TensorSpec, name: str, limits: Limits, hold: Callable[[int], None]) -> np.ndarray:
    """Turn a tensor message into an array of the type and shape that a signature asks for.

    Args:
        message: what came over the network.
        spec: type and shape that are asked for.
        name: name of the input, for errors.
        limits: bytes and rows of the array at most: a message of a few bytes can name a shape of any size.
        hold: called with the bytes of the array before it is made.

    Raises:
        RequestError: for too many bytes or rows, a wrong type or shape, or a message that contradicts itself; it names expected and got.
    """
    sizes = [axis.size for axis in message.tensor_shape.dim]
    if message.tensor_shape.unknown_rank or min(sizes, default=0) < 0:
        raise RequestError(f"Input {name!r} must have a known shape, such as {spec.shape_text} with ? for any length.")
    try:
        elements, itemsize = math.prod(sizes), tf.as_dtype(message.dtype).size or 1
        if elements * itemsize > limits.max_body:
            raise RequestError(f"Input {name!r} has the shape {tuple(sizes)}, which is more than {limits.max_body} bytes.")
        if sizes:
            limits.check_rows(name, sizes[0])
        # NumPy would repeat the last string of too few
        if message.dtype == types_pb2.DT_STRING and len(message.string_val) != elements:
            raise ValueError("another number of strings")
        hold(elements * itemsize)
        array = tf.make_ndarray(message)
    except (TypeError, KeyError) as error:
        raise RequestError(f"Input {name!r} must hold {spec.dtype}, got type number {message.dtype}.") from error
    except ValueError as error:
        if isinstance(error, RequestError):
            raise
        raise RequestError(f"Input {name!r} has the shape {tuple(sizes)}, but its message holds another number of values.") from error
    return from_array(array, spec, name)


def to_message(array: np.ndarray) -> tensor_pb2.TensorProto:
    """Turn an output into a tensor message."""
    return tf.make_tensor_proto(array)
