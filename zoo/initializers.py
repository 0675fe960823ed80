"""He et al.'s normal initialiser, drawn in one pass: large networks are ready sooner."""

import math
from typing import Any

import keras
import tensorflow as tf


@keras.saving.register_keras_serializable(package="keras_canon")
class FanInNormal(keras.initializers.Initializer):
    """Normal values of variance 2 / fan-in, not cut off.

        (10)  w ~ N(0, 2 / n),    n = inputs of one unit

    Keras's `VarianceScaling(2.0, "fan_in", "untruncated_normal")` has the same distribution but writes the array three times, where memory
    is most of the cost; here TensorFlow scales the draw in place.

    Args:
        seed: an integer, or None for one from Keras's global generator. One instance gives the same values at each call.

    Shape: kernels (..., inputs, outputs): of dense layers and convolutions.

    Raises:
        ValueError: for a shape without axes.

    Reference: K. He, X. Zhang, S. Ren, J. Sun 2015, "Delving Deep into Rectifiers", section 2.2, equation 10, arXiv:1502.01852.

    Example:
        >>> from keras_canon.zoo.initializers import FanInNormal
        >>> print(tuple(FanInNormal(seed=0)((3, 3, 8, 16)).shape))
        (3, 3, 8, 16)
    """

    def __init__(self, seed: int | None = None):
        self.seed = seed
        # What Keras does for an initialiser without a seed: from the global generator, so that set_random_seed decides.
        self._drawn_seed = keras.initializers.RandomNormal(seed=seed).seed

    def __call__(self, shape, dtype=None) -> Any:
        """Return the values; `dtype` is a float type, None for Keras's floatx."""
        if not shape:
            raise ValueError(f"shape must have at least one axis, got {tuple(shape)}.")
        deviation = math.sqrt(2.0 / max(1, math.prod(shape[:-1])))
        values = _draw(tf.constant(shape, tf.int32), tf.constant(deviation), tf.constant([self._drawn_seed, 0], tf.int64))
        values = tf.ensure_shape(values, shape)
        return tf.cast(values, keras.backend.standardize_dtype(dtype or keras.config.floatx()))

    def get_config(self) -> dict[str, Any]:
        """Return the arguments."""
        return {"seed": self.seed}


_SIGNATURE = [tf.TensorSpec([None], tf.int32), tf.TensorSpec([], tf.float32), tf.TensorSpec([2], tf.int64)]


@tf.function(input_signature=_SIGNATURE, autograph=False)
def _draw(shape, deviation, seed):
    # inside a graph the product overwrites the draw; called op by op, each would take memory of its own
    return tf.random.stateless_normal(shape, seed, stddev=deviation)
