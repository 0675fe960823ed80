"""A recurrent network of leaky integrators."""

from dataclasses import dataclass
from typing import Literal

import keras

from ...layers import LeakyIntegratorCell
from .sequences import Padding, head, sequence_input


@dataclass(frozen=True)
class LeakyRNNConfig:
    """A network of leaky integrators.

    Args:
        units: number of hidden units.
        leak: alpha, the share of the new value.
        output: "last" for logits after the last real step, "every_step" for logits at each step.
        padding: "zeros" where steps of zeros are padding, "none" where every step is real.
    """

    units: int = 100
    leak: float = 0.5
    output: Literal["last", "every_step"] = "last"
    padding: Padding = "zeros"


def leaky_rnn(config: LeakyRNNConfig, *, input_shape: tuple[int | None, ...], num_classes: int) -> keras.Model:
    """Build a network whose units keep a share of their last value.

    Paper: Jaeger, Lukosevicius, Popovici, Siewert, Optimization and applications of echo state networks with leaky-integrator
    neurons, 2007, section 2. https://doi.org/10.1016/j.neunet.2007.04.016

    **Differs from the paper:** all weights are trained, where the paper's reservoir is fixed (`echo_state`).

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
    cell = LeakyIntegratorCell(config.units, leak=config.leak, name="cell")
    x = keras.layers.RNN(cell, return_sequences=config.output == "every_step", name="recurrent")(x)
    return keras.Model(sequences, head(x, num_classes), name="leaky_rnn")
