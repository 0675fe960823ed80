"""The recurrent network of rectified linear units that starts as an identity."""

from dataclasses import dataclass
from typing import Literal

import keras

from ...layers import ElmanCell
from .sequences import Padding, head, sequence_input


@dataclass(frozen=True)
class IdentityRNNConfig:
    """A recurrent network of rectified linear units.

    Args:
        units: number of hidden units.
        scale: factor of the identity, 1 in the paper but for speech (0.01).
        output: "last" for logits after the last real step, "every_step" for logits at each step.
        padding: "zeros" where steps of zeros are padding, "none" where every step is real.
    """

    units: int = 100
    scale: float = 1.0
    output: Literal["last", "every_step"] = "last"
    padding: Padding = "zeros"


def identity_rnn(config: IdentityRNNConfig, *, input_shape: tuple[int | None, ...], num_classes: int) -> keras.Model:
    """Build a recurrent network of rectified linear units whose recurrent matrix starts as the identity.

    Paper: Le, Jaitly, Hinton, A simple way to initialize recurrent networks of rectified linear units, 2015, sections 3 and 4.
    https://arxiv.org/abs/1504.00941

    **Differs from the paper:** 1. The weights of `logits` start as Keras starts them (Glorot's uniform). Section 4 starts all that are
    not recurrent normal with a deviation of 0.001, as those from the input start here.

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
    cell = ElmanCell(
        config.units,
        activation="relu",
        kernel_initializer=keras.initializers.RandomNormal(stddev=0.001),
        recurrent_initializer=keras.initializers.Identity(config.scale),
        name="cell",
    )
    x = keras.layers.RNN(cell, return_sequences=config.output == "every_step", name="recurrent")(x)
    return keras.Model(sequences, head(x, num_classes), name="identity_rnn")
