"""Explicit symmetric padding, for convolutions and poolings whose weights or figures come from torch."""

import keras

from .arguments import input_rank, one_of
from .window import Pair, Window

FILLS = {"zero": 0.0, "minus_infinity": float("-inf")}


@keras.saving.register_keras_serializable(package="keras_canon")
class SymmetricPadding2D(keras.layers.Layer):
    r"""Pad a map by half of a kernel's extent on both sides of each axis.

        (1)  p = floor(((kernel_size - 1) * dilation_rate + 1 - 1) / 2)    on either side

    Put before an operation with padding="valid". At stride 2, `padding="same"` of TensorFlow differs from this: on an even
    size it pads a 3 x 3 kernel only after the map, so that every output is shifted by one pixel against torch's.

    Args:
        kernel_size: kernel or pooling window that follows, one or two integers.
        dilation_rate: its dilation, one or two integers. (The stride does not matter.)
        fill: "zero" for convolutions and averages, "minus_infinity" for max pooling, where the border must never win.

    Input shape: (batch, height, width, channels). Output shape: (batch, height + 2 p, width + 2 p, channels).
    Image maps carry no mask, so none is taken.

    Raises:
        ValueError: an argument out of range; an input without four axes.

    Reference: V. Dumoulin, F. Visin 2016, "A guide to convolution arithmetic for deep learning", section 2.2, arXiv:1603.07285.

    Example:
        >>> import keras
        >>> from keras_canon.layers import SymmetricPadding2D
        >>> print(tuple(SymmetricPadding2D(3)(keras.ops.ones((1, 8, 8, 2))).shape))
        (1, 10, 10, 2)
    """

    def __init__(self, kernel_size, dilation_rate: Pair = 1, fill="zero", **kwargs):
        super().__init__(**kwargs)
        self.window = Window.of(kernel_size, 1, "symmetric", dilation_rate)
        self.fill = one_of("fill", fill, tuple(FILLS))

    def build(self, input_shape):
        input_rank(type(self).__name__, input_shape, 4, "(batch, height, width, channels)")

    def call(self, inputs):
        margins = [(0, 0), *self.window.margins(inputs.shape[1:3]), (0, 0)]
        return keras.ops.pad(inputs, margins, constant_values=FILLS[self.fill])

    def compute_output_shape(self, input_shape):
        margins = self.window.margins(input_shape[1:3])
        sizes = [None if size is None else size + sum(margin) for size, margin in zip(input_shape[1:3], margins, strict=True)]
        return (input_shape[0], *sizes, input_shape[3])

    def get_config(self):
        config = self.window.config()
        return {**super().get_config(), "kernel_size": config["kernel_size"], "dilation_rate": config["dilation_rate"], "fill": self.fill}
