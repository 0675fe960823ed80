"""Sequences of at least so many steps, for what reads a window of steps at once."""

import keras

from .arguments import input_rank, positive_integer


@keras.saving.register_keras_serializable(package="keras_canon")
class MinimumSteps(keras.layers.Layer):
    """Put steps of zeros behind sequences that are shorter than a window, and leave others as they are.

    y_t = x_t for t < T, 0 for T <= t < n        (this project's own)

    A convolution over time without padding has no output where a sequence is shorter than its kernel, so a short sequence would be
    refused alone and answered in the batch of a longer one. A mask is False for the steps that are added.

    Args:
        steps: n, the least number of steps.

    Input shape:
        (B, T, width)

    Output shape:
        (B, max(T, n), width)

    Raises:
        ValueError: for fewer steps than one; at build, an input that has not three axes or no known width.

    Reference:
        Waibel et al., 1989, "Phoneme recognition using time-delay neural networks", section II, whose windows this fills;
        https://doi.org/10.1109/29.21701.

    Example:
        >>> import keras
        >>> from keras_canon.layers import MinimumSteps
        >>> print(MinimumSteps(7)(keras.ops.ones((2, 3, 8))).shape)
        (2, 7, 8)
    """

    def __init__(self, steps: int, **kwargs):
        super().__init__(**kwargs)
        self.steps = positive_integer("steps", steps)
        self.supports_masking = True

    def build(self, input_shape):
        input_rank("MinimumSteps", input_shape, 3, "(batch, steps, width)")

    def call(self, inputs):
        return self._lengthened(inputs)

    def compute_mask(self, inputs, mask=None):
        return None if mask is None else self._lengthened(mask)

    def _lengthened(self, array):
        """Return (B, T, ...) with zeros up to n steps; T may be known when it runs only."""
        others = [(0, 0)] * (len(array.shape) - 2)
        known = array.shape[1]
        if known is not None:
            return keras.ops.pad(array, [(0, 0), (0, max(0, self.steps - known)), *others])
        length = keras.ops.maximum(keras.ops.shape(array)[1], self.steps)
        return keras.ops.pad(array, [(0, 0), (0, self.steps), *others])[:, :length]

    def compute_output_shape(self, input_shape):
        batch, steps, width = input_shape
        return (batch, None if steps is None else max(steps, self.steps), width)

    def get_config(self):
        return {**super().get_config(), "steps": self.steps}
