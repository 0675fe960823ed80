"""From the gradients of a batch to one move of the weights."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import keras
import tensorflow as tf

from .averaging import ExponentialAverage
from .forward import Forward
from .gradient_clipping import Clipping, loss_scale
from .replicas import divide_for_apply
from .sections import Recipe


@dataclass(frozen=True)
class UpdateRule:
    """How a batch moves the weights, besides the optimizer.

    Args:
        clipping: limits of the gradients.
        micro_batches: parts of a batch whose gradients are added up.
        average: a mean of the weights that goes along with every update.
        forward: what gives the outputs of a batch; None for the model itself.
    """

    clipping: Clipping = field(default_factory=Clipping)
    micro_batches: int = 1
    average: ExponentialAverage | None = None
    forward: Forward | None = None

    def apply(self, optimizer: keras.optimizers.Optimizer, gradients: Sequence[tf.Tensor | None], weights: Sequence) -> None:
        """Move the weights once, or not at all where a scaled loss overflowed; then nothing else advances either.

        Args:
            optimizer: of the model, built.
            gradients: of `optimizer.scale_loss(loss)`, summed over the replicas.
            weights: the trainable weights, in the same order.
        """
        before = tf.identity(optimizer.iterations)
        optimizer.apply(divide_for_apply(self.clipping.clip(gradients, loss_scale(optimizer))), weights)
        if self.average is not None:
            self.average.follow(tf.convert_to_tensor(optimizer.iterations) > before)


def update_rule(recipe: Recipe, average: ExponentialAverage | None) -> UpdateRule:
    """Return the rule of a recipe, with the average that is among its callbacks, if any."""
    section = recipe.optimizer
    clipping = Clipping(section.clip_value, section.clip_norm, section.clip_global_norm)
    return UpdateRule(clipping, recipe.train.micro_batches, average)
