"""Jordan's recurrent network."""

from dataclasses import dataclass
from typing import Literal

import keras

from ...layers import JordanCell
from .sequences import Padding, head, sequence_input


@dataclass(frozen=True)
class JordanConfig:
    """Jordan's network.

    Args:
        units: number of hidden units.
        output_units: number of output units, whose values are fed back.
        decay: share of itself that each state unit keeps.
        output: "last" for logits after the last real step, "every_step" for logits at each step.
        padding: "zeros" where steps of zeros are padding, "none" where every step is real.
    """

    units: int = 8
    output_units: int = 8
    decay: float = 0.5
    output: Literal["last", "every_step"] = "last"
    padding: Padding = "zeros"


def jordan(config: JordanConfig, *, input_shape: tuple[int | None, ...], num_classes: int) -> keras.Model:
    """Build a network that is fed back what it put out.

    Paper: Jordan, Serial order: a parallel distributed processing approach, ICS report 8604, 1986, figure 3.

    **Differs from the paper:** 1. A linear readout behind the output units, so that classes can be as many as wished
    without changing what is fed back. 2. The plan is the input at each step, not one vector for the sequence.

    Shape walk:
        sequences (B, T, features)
        recurrent (B, output_units), or (B, T, output_units) with output "every_step"
        logits    (B, num_classes), or (B, T, num_classes)

    Args:
        config: the sizes.
        input_shape: (steps, features); steps may be None.
        num_classes: number of outputs; 0 leaves out the output layer.

    Raises:
        ValueError: an input of another rank, or a size of the config out of range.
    """
    sequences, x = sequence_input(input_shape, config.padding)
    cell = JordanCell(config.units, config.output_units, decay=config.decay, name="cell")
    x = keras.layers.RNN(cell, return_sequences=config.output == "every_step", name="recurrent")(x)
    return keras.Model(sequences, head(x, num_classes), name="jordan")
