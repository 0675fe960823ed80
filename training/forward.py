"""How a step gets from the inputs of a batch to the model's outputs."""

from collections.abc import Sequence
from typing import Any

import keras
import tensorflow as tf


class Forward:
    """Call the model; what does more, such as carrying a state, inherits from this.

    Args:
        model: whose outputs are asked for.
        variables: what changes from batch to batch of the training split; it goes into checkpoints.
        held_out: the same for other splits.
    """

    def __init__(self, model: keras.Model, variables: Sequence[Any] = (), held_out: Sequence[Any] = ()):
        self.model, self.variables, self.held_out = model, list(variables), list(held_out)

    def train(self, inputs):
        """Return the outputs of a batch in training.

        Args:
            inputs: as the model takes them.
        """
        return self.model(inputs, training=True)

    def evaluate(self, inputs):
        """Return the outputs of a batch in inference."""
        return self.model(inputs, training=False)

    def begin_epoch(self) -> None:
        """Begin a pass over the training split: with zeros."""
        _zero(self.variables)

    def begin_evaluation(self) -> None:
        """Begin a pass over another split: with zeros."""
        _zero(self.held_out)


def _zero(variables: Sequence[Any]) -> None:
    for variable in variables:
        variable.assign(tf.zeros_like(variable))
