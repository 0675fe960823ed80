"""Residual blocks that activate after the sum: basic, and bottleneck with its grouped and wide forms."""

from typing import Any

import keras

from .arguments import one_of, positive_integer
from .arguments import rate as checked_rate
from .conv_norm_activation import ConvNormActivation
from .initializers import fresh_initializer
from .residual_base import ResidualBase
from .window import Pair


@keras.saving.register_keras_serializable(package="keras_canon")
class ResidualBlock(ResidualBase):
    r"""Basic residual block: two 3 x 3 convolutions around a shortcut.

        (1)  y = F(x, {W_i}) + x        where the shapes agree,
        (2)  y = F(x, {W_i}) + W_s x    with a projection,
             F = W_2 * g(W_1 * x),      z = g(y)

    each convolution followed by batch normalisation. Sub-layers `unit_1`, `unit_2` and `projection` are `ConvNormActivation`s.

    Args:
        filters: output channels of both convolutions.
        strides: of the first convolution and of the shortcut, one or two integers.
        shortcut: "identity"; "projection" (1 x 1 convolution W_s with batch normalisation); or "zero_padding" (every stride-th
            pixel, with zero channels appended: no parameters). The paper's option A is "zero_padding" where the shape changes,
            B is "projection" there, C is "projection" everywhere.
        padding: "same" (TensorFlow's) or "symmetric" (torch's). See `Window`.
        dilation_rate: of both convolutions; not above 1 together with a stride.
        dropout: rate between the two convolutions (wide residual networks).
        stochastic_depth: probability that the branch F is dropped for a sample while training.
        momentum: share of the old moving statistics that batch normalisation keeps.
        epsilon: added to the variance.
        activation: g.
        last_gamma_initializer: gamma of the last batch normalisation; "zeros" starts the block as its shortcut.
        kernel_initializer: of every kernel.
        kernel_regularizer: of every kernel.

    Input shape: (batch, height, width, channels).
    Output shape: (batch, ceil(height / stride), ceil(width / stride), filters).
    Image maps carry no mask, so none is taken.

    Raises:
        ValueError: an argument out of range; a stride with shortcut "identity"; strides and dilation_rate both above 1; input
            channels that the shortcut cannot bring to `filters`.

    Reference: K. He, X. Zhang, S. Ren, J. Sun 2015, "Deep Residual Learning for Image Recognition", sections 3.2, 3.3 and 4.1,
    figure 5 left, arXiv:1512.03385. Dropout: S. Zagoruyko, N. Komodakis 2016, "Wide Residual Networks", section 2.4,
    arXiv:1605.07146. Zero gamma: P. Goyal et al. 2017, "Accurate, Large Minibatch SGD", section 5.1, arXiv:1706.02677.

    Example:
        >>> import keras
        >>> from keras_canon.layers import ResidualBlock
        >>> print(tuple(ResidualBlock(32, strides=2, shortcut="zero_padding")(keras.ops.ones((1, 8, 8, 16))).shape))
        (1, 4, 4, 32)
    """

    def __init__(
        self,
        filters,
        strides: Pair = 1,
        shortcut="identity",
        padding="same",
        dilation_rate: Pair = 1,
        dropout=0.0,
        stochastic_depth=0.0,
        momentum=0.9,
        epsilon=1e-5,
        activation: Any = "relu",
        last_gamma_initializer: Any = "ones",
        kernel_initializer: Any = "he_normal",
        kernel_regularizer: Any = None,
        **kwargs,
    ):
        shared = (padding, momentum, epsilon, activation, kernel_initializer, kernel_regularizer)
        super().__init__(filters, strides, shortcut, dilation_rate, stochastic_depth, *shared, **kwargs)
        self.dropout = checked_rate("dropout", dropout)
        self.last_gamma_initializer = keras.initializers.get(last_gamma_initializer)
        self.unit_1 = ConvNormActivation(
            self.filters,
            3,
            strides=self.strides,
            dilation_rate=self.dilation_rate,
            name="unit_1",
            **self.unit_arguments(self.activation),
        )
        self.between = keras.layers.Dropout(self.dropout, dtype=self.dtype_policy, name="dropout")
        self.unit_2 = ConvNormActivation(
            self.filters,
            3,
            dilation_rate=self.dilation_rate,
            gamma_initializer=fresh_initializer(self.last_gamma_initializer),
            name="unit_2",
            **self.unit_arguments(),
        )
        self.set_shortcut(self.filters)

    def branch(self):
        return [self.unit_1, self.between, self.unit_2]

    def get_config(self):
        last_gamma = keras.initializers.serialize(self.last_gamma_initializer)
        return {**super().get_config(), "dropout": self.dropout, "last_gamma_initializer": last_gamma}


@keras.saving.register_keras_serializable(package="keras_canon")
class BottleneckResidualBlock(ResidualBase):
    r"""Bottleneck residual block: 1 x 1, 3 x 3, 1 x 1 convolutions around a shortcut.

        (2)  y = F(x, {W_i}) + W_s x,    F = W_3 * g(W_2 * g(W_1 * x)),    z = g(y)

    each convolution followed by batch normalisation. The 1 x 1 convolutions lead to `width` channels and back to
    filters * expansion; with base_width w and G groups, width = floor(filters * w / 64) * G:

    - ResNet: w = 64, G = 1. ResNeXt 32 x 4d: w = 4, G = 32 (aggregated transformations, figure 3c). Wide ResNet-50-2: w = 128.

    Sub-layers `unit_1`, `unit_2`, `unit_3` and `projection` are `ConvNormActivation`s.

    Args:
        filters: the paper's narrow width (64, 128, 256, 512 in ResNet-50).
        strides: of the convolution named by `stride_on` and of the shortcut, one or two integers.
        shortcut: "identity", "projection" or "zero_padding", as in `ResidualBlock`.
        expansion: output channels over `filters`.
        groups: G, of the 3 x 3 convolution.
        base_width: w, channels a group where `filters` is 64.
        stride_on: "1x1" as in He et al. 2015, or "3x3" (the form called v1.5, torchvision's).
        padding: "same" (TensorFlow's) or "symmetric" (torch's). See `Window`.
        dilation_rate: of the 3 x 3 convolution; not above 1 together with a stride.
        stochastic_depth: probability that the branch F is dropped for a sample while training.
        momentum, epsilon, activation, last_gamma_initializer, kernel_initializer, kernel_regularizer: as in `ResidualBlock`.

    Input shape: (batch, height, width, channels).
    Output shape: (batch, ceil(height / stride), ceil(width / stride), filters * expansion).
    Image maps carry no mask, so none is taken.

    Raises:
        ValueError: an argument out of range; a stride with shortcut "identity"; strides and dilation_rate both above 1; input
            channels that the shortcut cannot bring to filters * expansion; a width below 1.

    Reference: K. He et al. 2015, arXiv:1512.03385, section 4.1, figure 5 right, table 1. S. Xie et al. 2017, "Aggregated Residual
    Transformations for Deep Neural Networks", table 1, arXiv:1611.05431. Wide form: arXiv:1605.07146.

    Example:
        >>> import keras
        >>> from keras_canon.layers import BottleneckResidualBlock
        >>> print(tuple(BottleneckResidualBlock(8, shortcut="projection")(keras.ops.ones((1, 8, 8, 16))).shape))
        (1, 8, 8, 32)
    """

    def __init__(
        self,
        filters,
        strides: Pair = 1,
        shortcut="identity",
        expansion=4,
        groups=1,
        base_width=64,
        stride_on="1x1",
        padding="same",
        dilation_rate: Pair = 1,
        stochastic_depth=0.0,
        momentum=0.9,
        epsilon=1e-5,
        activation: Any = "relu",
        last_gamma_initializer: Any = "ones",
        kernel_initializer: Any = "he_normal",
        kernel_regularizer: Any = None,
        **kwargs,
    ):
        shared = (padding, momentum, epsilon, activation, kernel_initializer, kernel_regularizer)
        super().__init__(filters, strides, shortcut, dilation_rate, stochastic_depth, *shared, **kwargs)
        self.expansion = positive_integer("expansion", expansion)
        self.groups = positive_integer("groups", groups)
        self.base_width = positive_integer("base_width", base_width)
        self.stride_on = one_of("stride_on", stride_on, ("1x1", "3x3"))
        self.last_gamma_initializer = keras.initializers.get(last_gamma_initializer)
        width = positive_integer("filters * base_width / 64", self.filters * self.base_width // 64) * self.groups
        self.unit_1 = ConvNormActivation(
            width,
            1,
            strides=self.strides if self.stride_on == "1x1" else 1,
            name="unit_1",
            **self.unit_arguments(self.activation),
        )
        self.unit_2 = ConvNormActivation(
            width,
            3,
            strides=self.strides if self.stride_on == "3x3" else 1,
            dilation_rate=self.dilation_rate,
            groups=self.groups,
            name="unit_2",
            **self.unit_arguments(self.activation),
        )
        self.unit_3 = ConvNormActivation(
            self.filters * self.expansion,
            1,
            gamma_initializer=fresh_initializer(self.last_gamma_initializer),
            name="unit_3",
            **self.unit_arguments(),
        )
        self.set_shortcut(self.filters * self.expansion)

    def branch(self):
        return [self.unit_1, self.unit_2, self.unit_3]

    def get_config(self):
        return {
            **super().get_config(),
            "expansion": self.expansion,
            "groups": self.groups,
            "base_width": self.base_width,
            "stride_on": self.stride_on,
            "last_gamma_initializer": keras.initializers.serialize(self.last_gamma_initializer),
        }
