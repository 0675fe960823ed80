"""Echo state networks: a fixed random reservoir with a trained readout."""

from dataclasses import dataclass
from typing import Literal

import keras

from ...layers import EchoStateCell
from .sequences import Padding, head, sequence_input


@dataclass(frozen=True)
class EchoStateConfig:
    """An echo state network.

    Args:
        units: size of the reservoir.
        spectral_radius: rho, the largest absolute eigenvalue of the reservoir.
        density: share of its connections that are not zero.
        input_scale: largest weight of an input.
        leak: alpha, the share of the new value.
        seed: seed of the reservoir, which is drawn once and never trained.
        output: "last" for logits after the last real step, "every_step" for logits at each step.
        padding: "zeros" where steps of zeros are padding, "none" where every step is real.
    """

    units: int = 400
    spectral_radius: float = 0.9
    density: float = 0.05
    input_scale: float = 1.0
    leak: float = 1.0
    seed: int = 0
    output: Literal["last", "every_step"] = "last"
    padding: Padding = "zeros"


def echo_state(config: EchoStateConfig, *, input_shape: tuple[int | None, ...], num_classes: int) -> keras.Model:
    """Build a fixed random recurrent network, of which only the readout is trained.

    Paper: Jaeger, The "echo state" approach to analysing and training recurrent neural networks, GMD report 148, 2001, section 2.

    **Differs from the paper:** 1. The readout is a layer `logits` that any optimiser trains; the paper solves it as a
    linear regression. 2. There is no feedback from the output.

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
    cell = EchoStateCell(
        config.units,
        spectral_radius=config.spectral_radius,
        density=config.density,
        input_scale=config.input_scale,
        leak=config.leak,
        seed=config.seed,
        name="cell",
    )
    x = keras.layers.RNN(cell, return_sequences=config.output == "every_step", name="recurrent")(x)
    return keras.Model(sequences, head(x, num_classes), name="echo_state")
