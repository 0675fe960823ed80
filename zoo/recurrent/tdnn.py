"""The time-delay neural network: the first convolution over time."""

from dataclasses import dataclass

import keras

from ...layers import GlobalPooling, MinimumSteps
from .sequences import PADDINGS, Padding, head, sequence_input


@dataclass(frozen=True)
class TDNNConfig:
    """A time-delay network.

    Args:
        units: units of the hidden layers.
        delays: steps that each hidden layer reads at once.
        padding: "zeros" where steps of zeros are padding, "none" where every step is real.
    """

    units: tuple[int, ...] = (8, 3)
    delays: tuple[int, ...] = (3, 5)
    padding: Padding = "zeros"


def tdnn(config: TDNNConfig, *, input_shape: tuple[int | None, ...], num_classes: int) -> keras.Model:
    """Build a network whose units read a few steps at once and are the same at every step.

    Paper: Waibel, Hanazawa, Hinton, Shikano, Lang, Phoneme recognition using time-delay neural networks, 1989, section II and
    figure 2. https://doi.org/10.1109/29.21701

    **Differs from the paper:** 1. The evidence of the second hidden layer is averaged over time where the paper sums it, so that
    lengths may differ, and a linear layer weighs it. 2. Windows that reach into padding do not count.

    Shape walk:
        sequences (B, 15, 16)
        hidden1   (B, 13, 8)
        hidden2   (B, 9, 3)
        pool      (B, 3)
        logits    (B, num_classes)

    Args:
        config: the sizes.
        input_shape: (steps, features); steps may be None.
        num_classes: number of classes; 0 leaves out the output layer and returns the pooled features.

    Raises:
        ValueError: an input of another rank, or shorter than the delays, or sizes that do not go together.
    """
    if not config.units or len(config.units) != len(config.delays):
        raise ValueError(f"units and delays must have one value for each layer, got {config.units} and {config.delays}.")
    steps = sum(delay - 1 for delay in config.delays) + 1
    if len(input_shape) == 2 and input_shape[0] is not None and input_shape[0] < steps:
        raise ValueError(f"input_shape must have at least {steps} steps, which the delays span, got {tuple(input_shape)}.")
    if config.padding not in PADDINGS:
        raise ValueError(f"padding must be one of {', '.join(map(repr, PADDINGS))}, got {config.padding!r}.")
    sequences, x = sequence_input(input_shape, "none")  # a convolution would lose the mask, so it is computed beside
    if x.shape[1] is None and config.padding == "zeros":  # so a row shorter than the delays span is answered alone too
        x = MinimumSteps(steps, name="minimum_steps")(x)
    # one at real steps and zero at padding, (B, T, 1)
    real = keras.ops.cast(keras.ops.any(keras.ops.not_equal(x, 0.0), axis=-1, keepdims=True), "float32")
    for number, (units, delay) in enumerate(zip(config.units, config.delays, strict=True), start=1):
        x = keras.layers.Conv1D(units, delay, activation="sigmoid", data_format="channels_last", name=f"hidden{number}")(x)
        # a window is real when all of its steps are
        real = 1.0 - keras.ops.max_pool(1.0 - real, delay, 1, padding="valid", data_format="channels_last")
    mask = keras.ops.squeeze(real, -1) > 0.0 if config.padding == "zeros" else None
    x = GlobalPooling("average", name="pool")(x, mask=mask)
    return keras.Model(sequences, head(x, num_classes), name="tdnn")
