"""Random numbers that seed, epoch and example alone decide, for a whole batch at once.

TensorFlow's stateless generators take one seed a call, so each example would need a call of its own. A hash of a counter gives
every example its own numbers in a few operations on vectors, whatever batch it is in, on every machine.
"""

import math

import tensorflow as tf

_GOLDEN = 0x9E3779B9


def _mixed(bits: tf.Tensor) -> tf.Tensor:
    """Return well mixed 32 bits: two rounds of multiply and shift, with constants found by search to change half of the bits."""
    for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B)):
        bits = tf.bitwise.bitwise_xor(bits, tf.bitwise.right_shift(bits, tf.constant(shift, "uint32")))
        bits *= tf.constant(factor, "uint32")
    return tf.bitwise.bitwise_xor(bits, tf.bitwise.right_shift(bits, tf.constant(16, "uint32")))


def _unit(bits: tf.Tensor) -> tf.Tensor:
    """Return 24 of the 32 bits as float32 from 0 to below 1; these are all that float32 holds exactly."""
    return tf.cast(tf.bitwise.right_shift(bits, tf.constant(8, "uint32")), "float32") * 2.0**-24


class Draws:
    """Draws for the examples of a batch. Each kind of draw has a stream of its own, so that one more kind leaves the others alone.

    Args:
        seed: of the run, 0 to 2^32 - 1.
        epoch: integer scalar tensor.
        indices: position of each example in its split, integers (B,).
    """

    def __init__(self, seed: int, epoch: tf.Tensor, indices: tf.Tensor):
        run = _mixed(tf.bitwise.bitwise_xor(_mixed(tf.constant(seed, "uint32")), tf.cast(epoch, "uint32")))
        self._bits = _mixed(tf.bitwise.bitwise_xor(run, _mixed(tf.cast(indices, "uint32"))))  # (B,)

    def bits(self, stream: int, each: int | tf.Tensor = 1) -> tf.Tensor:
        """Return `each` random words for each example, uint32 (B, each)."""
        own = _mixed(self._bits + tf.constant(stream * _GOLDEN % 2**32, "uint32"))
        counter = tf.cast(tf.range(each), "uint32") * tf.constant(_GOLDEN, "uint32")
        return _mixed(own[:, None] + counter[None, :])

    def uniform(self, stream: int, low: float | tf.Tensor = 0.0, high: float | tf.Tensor = 1.0) -> tf.Tensor:
        """Return a number from low to below high for each example, float32 (B,)."""
        return low + (high - low) * _unit(self.bits(stream)[:, 0])

    def integer(self, stream: int, below: int | tf.Tensor) -> tf.Tensor:
        """Return an integer from 0 to below - 1 for each example, int32 (B,)."""
        below = tf.cast(below, "int32")
        return tf.minimum(tf.cast(self.uniform(stream) * tf.cast(below, "float32"), "int32"), below - 1)

    def chance(self, stream: int, probability: float = 0.5) -> tf.Tensor:
        """Return True for each example with a probability, bool (B,)."""
        return self.uniform(stream) < probability

    def bytes(self, stream: int, shape: tf.Tensor) -> tf.Tensor:
        """Return a byte for each pixel, uint8 of the shape (B, H, W, C)."""
        pixels = tf.reduce_prod(shape[1:])
        # four bytes from a word
        words = tf.bitcast(self.bits(stream, (pixels + 3) // 4), "uint8")
        return tf.reshape(tf.reshape(words, [shape[0], -1])[:, :pixels], shape)

    def normal(self, stream: int, shape: tf.Tensor) -> tf.Tensor:
        """Return a normal number for each pixel, float32 of the shape (B, H, W, C), from pairs of uniform ones (Box, Muller 1958)."""
        pixels = tf.reduce_prod(shape[1:])
        half = (pixels + 1) // 2
        uniform = _unit(self.bits(stream, 2 * half))
        radius = tf.sqrt(-2.0 * tf.math.log(1.0 - uniform[:, :half]))
        angle = 2.0 * math.pi * uniform[:, half:]
        return tf.reshape(tf.concat([radius * tf.cos(angle), radius * tf.sin(angle)], axis=1)[:, :pixels], shape)
