"""TensorFlow's tensor messages to arrays and back."""

import math

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import tensor_pb2

from .bundle import TensorSpec
from .errors import RequestError
from .tensors import from_array


def from_message(message: tensor_pb2.TensorProto, spec: TensorSpec, name: str, max_bytes: int) -> np.ndarray:
    """Turn a tensor message into an array of the type and shape that a signature asks for.

    Args:
        message: what came over the network.
        spec: type and shape that are asked for.
        name: name of the input, for errors.
        max_bytes: most bytes of the array: a message of a few bytes can name a shape of any size.

    Raises:
        RequestError: for a wrong type or shape, or a message that contradicts itself; it names expected and got.
    """
    sizes = [axis.size for axis in message.tensor_shape.dim]
    if message.tensor_shape.unknown_rank or min(sizes, default=0) < 0:
        raise RequestError(f"Input {name!r} must have a known shape, such as {spec.shape_text} with ? for any length.")
    try:
        itemsize = tf.as_dtype(message.dtype).size or 1
        if math.prod(sizes) * itemsize > max_bytes:
            raise RequestError(f"Input {name!r} has the shape {tuple(sizes)}, which is more than {max_bytes} bytes.")
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
