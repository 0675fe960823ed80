"""Elman's simple recurrent network."""

from dataclasses import dataclass
from typing import Literal

import keras

from ...layers import ElmanCell
from .sequences import Padding, head, sequence_input


@dataclass(frozen=True)
class ElmanConfig:
    """Elman's network.

    Args:
        units: number of hidden, and so of context, units.
        activation: of the hidden units; the paper has "sigmoid".
        output: "last" for logits after the last real step, "every_step" for logits at each step.
        padding: "zeros" where steps of zeros are padding, "none" where every step is real.
    """

    units: int = 150
    activation: str = "tanh"
    output: Literal["last", "every_step"] = "last"
    padding: Padding = "zeros"


def elman(config: ElmanConfig, *, input_shape: tuple[int | None, ...], num_classes: int) -> keras.Model:
    """Build a network whose hidden units see their own last values.

    Paper: Elman, Finding structure in time, 1990, figure 2 and section "Discovering lexical classes from word order".
    https://doi.org/10.1207/s15516709cog1402_1

    **Differs from the paper:** 1. tanh in place of the logistic function, which a config may ask for. 2. The
    paper predicts the next word at each step, which is output "every_step".

    Shape walk:
        sequences (B, T, features)
        recurrent (B, units), or (B, T, units) with output "every_step"
        logits    (B, num_classes), or (B, T, num_classes)

    Args:
        config: the sizes.
        input_shape: (steps, features); steps may be None.
        num_classes: number of outputs; 0 leaves out the output layer.

    Raises:
        ValueError: an input of another rank, or a size of the config out of range.
    """
    sequences, x = sequence_input(input_shape, config.padding)
    cell = ElmanCell(config.units, activation=config.activation, name="cell")
    x = keras.layers.RNN(cell, return_sequences=config.output == "every_step", name="recurrent")(x)
    return keras.Model(sequences, head(x, num_classes), name="elman")
