"""Warm-up: a version computes once with made-up inputs before it is announced, so that no client pays for TensorFlow's first call."""

import base64

import numpy as np
import tensorflow as tf

from ..zoo.errors import CanonError
from .bundle import IMAGES_BYTES, Signature
from .errors import RequestError
from .servable import Servable

# An 8 x 8 PNG of an upright stroke; the example requests send it too.
TINY_PNG = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAAAAADhZOFXAAAAFklEQVR42mNgQAb/GRgYmGAcYhhwAAA7dgEK7tLQGgAAAABJRU5ErkJggg==")
# stands for an axis of any length, such as the side of an image or a number of tokens
_LENGTH = 32


def warm_up(servable: Servable) -> None:
    """Compute every signature once, on one made-up row: what the first call sets up serves batches of any size.

    Raises:
        CanonError: when a signature cannot compute on inputs of its own shape, so that the version should not be served.
    """
    for name, signature in servable.signatures.items():
        arrays, certain = made_up_inputs(signature, 1)
        try:
            servable.run(name, arrays)
        except RequestError:
            # where a length was a guess the network may have good reason to refuse it
            if certain:
                raise
        except tf.errors.OpError as error:
            reason = str(error).strip().splitlines()[0]
            raise CanonError(f"Signature {name!r} of {str(servable.bundle.path)!r} cannot compute: {reason}") from error


def made_up_inputs(signature: Signature, rows: int) -> tuple[dict[str, np.ndarray], bool]:
    """Return inputs of a signature's types and shapes, and whether no length had to be guessed."""
    arrays, certain = {}, True
    for name, spec in signature.inputs.items():
        axes = spec.shape or ()
        certain = certain and spec.shape is not None and None not in axes[1:]
        shape = tuple(size if size is not None else rows if axis == 0 else _LENGTH for axis, size in enumerate(axes))
        if spec.dtype == "string":
            arrays[name] = np.full(shape, TINY_PNG if name == IMAGES_BYTES else b"a", dtype=object)
        else:
            arrays[name] = np.zeros(shape, dtype=spec.dtype)
    return arrays, certain
