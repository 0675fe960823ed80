"""Residual blocks that normalise and activate before each convolution, so that the shortcut stays a clean sum."""

from typing import Any

import keras

from .arguments import one_of, positive_integer
from .arguments import rate as checked_rate
from .conv_norm_activation import ConvNormActivation
from .residual_base import ResidualBase
from .window import Pair


@keras.saving.register_keras_serializable(package="keras_canon")
class PreActivationResidualBlock(ResidualBase):
    r"""Residual block with full pre-activation: normalise, activate, convolve, twice.

        (1)  y_l = h(x_l) + F(x_l, W_l),    x_{l+1} = f(y_l)    with f the identity, so that
        (4)  x_L = x_l + sum_{i=l}^{L-1} F(x_i, W_i)

    F = W_2 * g(BN(W_1 * g(BN(x)))). A projection h is a bare 1 x 1 convolution of g(BN(x)); identity and zero padding take x
    itself. The last block of a network is followed by a normalisation and an activation of the network's own.
    Sub-layers: `normalization`, `unit_1` (convolution, normalisation, activation), `unit_2` (convolution), `projection`.

    Args:
        filters: output channels of both convolutions (the width times 16, 32, 64 in wide residual networks).
        strides: of the first convolution and of the shortcut, one or two integers.
        shortcut: "identity", "projection" or "zero_padding", as in `ResidualBlock`.
        padding: "same" (TensorFlow's) or "symmetric" (torch's). See `Window`.
        dilation_rate: of both convolutions; not above 1 together with a stride.
        dropout: rate between the two convolutions, after the activation (wide residual networks, figure 1d).
        stochastic_depth: probability that F is dropped for a sample while training.
        momentum: share of the old moving statistics that batch normalisation keeps.
        epsilon: added to the variance.
        activation: g.
        kernel_initializer: of every kernel.
        kernel_regularizer: of every kernel.

    Input shape: (batch, height, width, channels).
    Output shape: (batch, ceil(height / stride), ceil(width / stride), filters).
    Image maps carry no mask, so none is taken.

    Raises:
        ValueError: an argument out of range; a stride with shortcut "identity"; strides and dilation_rate both above 1; input
            channels that the shortcut cannot bring to `filters`.

    Reference: K. He, X. Zhang, S. Ren, J. Sun 2016, "Identity Mappings in Deep Residual Networks", equations 1 to 4, figure 4e,
    arXiv:1603.05027. S. Zagoruyko, N. Komodakis 2016, "Wide Residual Networks", arXiv:1605.07146.

    Example:
        >>> import keras
        >>> from keras_canon.layers import PreActivationResidualBlock
        >>> print(tuple(PreActivationResidualBlock(32, 2, shortcut="projection")(keras.ops.ones((1, 8, 8, 16))).shape))
        (1, 4, 4, 32)
    """

    activates_first = True

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
        kernel_initializer: Any = "he_normal",
        kernel_regularizer: Any = None,
        **kwargs,
    ):
        shared = (padding, momentum, epsilon, activation, kernel_initializer, kernel_regularizer)
        super().__init__(filters, strides, shortcut, dilation_rate, stochastic_depth, *shared, **kwargs)
        self.dropout = checked_rate("dropout", dropout)
        self.normalization = self.batch_normalization("normalization")
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
            normalization=None,
            use_bias=False,
            name="unit_2",
            **self.unit_arguments(),
        )
        self.set_shortcut(self.filters)

    def branch(self):
        return [self.unit_1, self.between, self.unit_2]

    def get_config(self):
        return {**super().get_config(), "dropout": self.dropout}


@keras.saving.register_keras_serializable(package="keras_canon")
class PreActivationBottleneckBlock(ResidualBase):
    r"""Bottleneck residual block with full pre-activation: 1 x 1, 3 x 3, 1 x 1, each after a normalisation and an activation.

        (1)  y_l = h(x_l) + F(x_l, W_l),    F = W_3 * g(BN(W_2 * g(BN(W_1 * g(BN(x))))))

    Sub-layers: `normalization`, `unit_1` and `unit_2` (convolution, normalisation, activation), `unit_3` (convolution), `projection`.

    Args:
        filters: narrow width of the block.
        strides: of the convolution named by `stride_on` and of the shortcut, one or two integers.
        shortcut: "identity", "projection" or "zero_padding", as in `ResidualBlock`.
        expansion: output channels over `filters`.
        groups: of the 3 x 3 convolution; divides `filters`.
        stride_on: "1x1" or "3x3".
        padding: "same" (TensorFlow's) or "symmetric" (torch's). See `Window`.
        dilation_rate: of the 3 x 3 convolution; not above 1 together with a stride.
        stochastic_depth: probability that F is dropped for a sample while training.
        momentum, epsilon, activation, kernel_initializer, kernel_regularizer: as in `PreActivationResidualBlock`.
        activate_input: False in a first block whose input is normalised and activated already: there is no `normalization` then.
        use_bias: True to give the convolutions without a normalisation behind them, `unit_3` and `projection`, a bias.

    Input shape: (batch, height, width, channels).
    Output shape: (batch, ceil(height / stride), ceil(width / stride), filters * expansion).
    Image maps carry no mask, so none is taken.

    Raises:
        ValueError: an argument out of range; a stride with shortcut "identity"; strides and dilation_rate both above 1; input
            channels that the shortcut cannot bring to filters * expansion; groups that do not divide filters.

    Reference: K. He, X. Zhang, S. Ren, J. Sun 2016, "Identity Mappings in Deep Residual Networks", figure 4e and section 5,
    arXiv:1603.05027.

    Example:
        >>> import keras
        >>> from keras_canon.layers import PreActivationBottleneckBlock
        >>> print(tuple(PreActivationBottleneckBlock(4)(keras.ops.ones((1, 8, 8, 16))).shape))
        (1, 8, 8, 16)
    """

    activates_first = True

    def __init__(
        self,
        filters,
        strides: Pair = 1,
        shortcut="identity",
        expansion=4,
        groups=1,
        stride_on="1x1",
        padding="same",
        dilation_rate: Pair = 1,
        stochastic_depth=0.0,
        momentum=0.9,
        epsilon=1e-5,
        activation: Any = "relu",
        kernel_initializer: Any = "he_normal",
        kernel_regularizer: Any = None,
        activate_input=True,
        use_bias=False,
        **kwargs,
    ):
        shared = (padding, momentum, epsilon, activation, kernel_initializer, kernel_regularizer)
        super().__init__(filters, strides, shortcut, dilation_rate, stochastic_depth, *shared, **kwargs)
        self.expansion = positive_integer("expansion", expansion)
        self.groups = positive_integer("groups", groups)
        self.stride_on = one_of("stride_on", stride_on, ("1x1", "3x3"))
        self.activate_input = one_of("activate_input", activate_input, (True, False))
        self.use_bias = one_of("use_bias", use_bias, (True, False))
        if self.activate_input:
            self.normalization = self.batch_normalization("normalization")
        self.unit_1 = ConvNormActivation(
            self.filters,
            1,
            strides=self.strides if self.stride_on == "1x1" else 1,
            name="unit_1",
            **self.unit_arguments(self.activation),
        )
        self.unit_2 = ConvNormActivation(
            self.filters,
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
            normalization=None,
            use_bias=self.use_bias,
            name="unit_3",
            **self.unit_arguments(),
        )
        self.set_shortcut(self.filters * self.expansion, self.use_bias)

    def branch(self):
        return [self.unit_1, self.unit_2, self.unit_3]

    def get_config(self):
        return {
            **super().get_config(),
            "expansion": self.expansion,
            "groups": self.groups,
            "stride_on": self.stride_on,
            "activate_input": self.activate_input,
            "use_bias": self.use_bias,
        }
