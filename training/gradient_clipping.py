"""Gradient clipping by value, by norm and by global norm, on gradients as they are without any loss scale."""

from collections.abc import Sequence
from dataclasses import dataclass

import keras
import tensorflow as tf

Gradients = Sequence[tf.Tensor | None]


def loss_scale(optimizer: keras.optimizers.Optimizer) -> tf.Tensor:
    """Return by how much the optimizer's `scale_loss` multiplies, a float32 scalar; 1 where it does not."""
    if isinstance(optimizer, keras.optimizers.LossScaleOptimizer):
        return tf.convert_to_tensor(optimizer.dynamic_scale)
    return tf.constant(1.0)


@dataclass(frozen=True)
class Clipping:
    """Limits of gradients; at most one is given.

    Keras's own `clipvalue`, `clipnorm` and `global_clipnorm` work on what each device of several holds. This works on the whole
    gradients, before they are handed to the optimizer.

    Args:
        value: largest size of any entry.
        norm: largest Euclidean norm of the gradient of each weight.
        global_norm: largest Euclidean norm of all gradients together (Pascanu et al. 2013, algorithm 1).

    Raises:
        ValueError: a limit that is not above 0, or several.
    """

    value: float | None = None
    norm: float | None = None
    global_norm: float | None = None

    def __post_init__(self):
        limits = [limit for limit in (self.value, self.norm, self.global_norm) if limit is not None]
        if len(limits) > 1 or any(not limit > 0.0 for limit in limits):
            raise ValueError(f"At most one limit above 0 may be given, got {self}.")

    def clip(self, gradients: Gradients, scale: tf.Tensor) -> list[tf.Tensor | None]:
        """Return gradients within the limits; None stays None.

        Entries that are not finite stay so, that the optimizer of a scaled loss may see them and skip the update.

        Args:
            gradients: of a loss that was multiplied by `scale`.
            scale: the loss scale, 1 for none. Clipping commutes with it: the limits are multiplied instead of the gradients divided.
        """
        dense = [None if gradient is None else tf.convert_to_tensor(gradient) for gradient in gradients]
        if self.value is not None:
            limit = self.value * scale
            return [None if gradient is None else _within(gradient, tf.cast(limit, gradient.dtype)) for gradient in dense]
        if self.norm is not None:
            norms = iter(_norms([[gradient] for gradient in dense if gradient is not None]))
            return [None if gradient is None else _times(gradient, _factor(next(norms), self.norm * scale)) for gradient in dense]
        if self.global_norm is not None:
            (norm,) = _norms([[gradient for gradient in dense if gradient is not None]])
            factor = _factor(norm, self.global_norm * scale)
            return [None if gradient is None else _times(gradient, factor) for gradient in dense]
        return dense


def _within(gradient: tf.Tensor, limit: tf.Tensor) -> tf.Tensor:
    return tf.where(tf.math.is_finite(gradient), tf.clip_by_value(gradient, -limit, limit), gradient)


def _norms(groups: Sequence[Sequence[tf.Tensor]]) -> list[tf.Tensor]:
    """Return the norm of all entries of each group of gradients."""
    values = [[tf.cast(gradient, "float32") for gradient in group] for group in groups]
    plain = [tf.sqrt(2.0 * tf.add_n([tf.nn.l2_loss(value) for value in group])) for group in values]
    return tf.cond(tf.reduce_all(tf.math.is_finite(plain)), lambda: plain, lambda: [_norm_of_large(group) for group in values])


def _norm_of_large(values: Sequence[tf.Tensor]) -> tf.Tensor:
    """Return the norm of entries that are divided by the largest before they are squared: a square may overflow where a norm does not."""
    largest = tf.reduce_max([tf.reduce_max(tf.abs(value)) for value in values if value.shape.num_elements() != 0])
    unit = tf.where(largest > 0.0, largest, 1.0)
    return unit * tf.sqrt(tf.add_n([tf.reduce_sum(tf.square(value / unit)) for value in values]))


def _factor(norm: tf.Tensor, limit: tf.Tensor) -> tf.Tensor:
    # a norm that is not finite makes the factor NaN or 0, and entries that are not finite NaN
    return limit / tf.maximum(norm, limit)


def _times(gradient: tf.Tensor, factor: tf.Tensor) -> tf.Tensor:
    return gradient * tf.cast(factor, gradient.dtype)
