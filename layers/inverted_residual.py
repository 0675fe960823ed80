"""The inverted residual block of MobileNetV2, MobileNetV3 and EfficientNet."""

import keras

from .arguments import input_rank, integers, positive_integer
from .conv_norm_activation import ConvNormActivation, DepthwiseConvNormActivation
from .convolution_block import ConvolutionBlock, build_in_turn
from .initializers import fresh_initializer
from .squeeze_excite import SqueezeExcite
from .stochastic_depth import StochasticDepth


@keras.saving.register_keras_serializable(package="keras_canon")
class InvertedResidual(ConvolutionBlock):
    r"""Widen by a 1 x 1 convolution, filter each channel, narrow by a linear 1 x 1 convolution; add the input where it fits.

        (1)  h = g(W_1 * x),  h = g(D * h),  h = SE(h),  F(x) = W_2 * h,    y = x + F(x)

    each convolution followed by batch normalisation; no activation after W_2 (the linear bottleneck). The input is added where
    strides are 1 and it has `filters` channels. W_1 is left out without `expanded_filters`, SE without `squeeze_filters`.

    - MobileNetV2: activation "relu6", expanded_filters = 6 x input channels (none in the first block).
    - MobileNetV3: activation "relu" or "hard_swish", widths of tables 1 and 2, squeeze_filters =
      `rounded_width(expanded_filters / 4)`, gate_activation "hard_sigmoid".
    - EfficientNet (MBConv): activation "swish", squeeze_filters = input channels / 4, squeeze_activation "swish", gate_activation
      "sigmoid", stochastic depth.

    Sub-layers are named `expand`, `depthwise`, `squeeze_excite` and `project`.

    Args:
        filters: output channels.
        expanded_filters: channels after W_1; None leaves W_1 out.
        kernel_size: of the depthwise convolution D, one or two integers.
        strides: of D, one or two integers.
        dilation_rate: of D; not above 1 together with a stride.
        squeeze_filters: width inside SE; None leaves SE out.
        squeeze_activation: the activation inside SE.
        gate_activation: the gate of SE.
        stochastic_depth: probability that F is dropped for a sample while training, where the input is added.
        padding: "same" (the authors' TensorFlow form) or "symmetric" (torch's). See `Window`.
        momentum: share of the old moving statistics that batch normalisation keeps.
        epsilon: added to the variance.
        activation: g.
        kernel_initializer: of every kernel.
        kernel_regularizer: of every kernel.

    Input shape: (batch, height, width, channels).
    Output shape: (batch, ceil(height / stride), ceil(width / stride), filters).
    Image maps carry no mask, so none is taken.

    Raises:
        ValueError: an argument out of range; strides and dilation_rate both above 1; an input without four axes.

    Reference: M. Sandler, A. Howard, M. Zhu, A. Zhmoginov, L.-C. Chen 2018, "MobileNetV2", section 3, table 1, figure 3b,
    arXiv:1801.04381. A. Howard et al. 2019, "Searching for MobileNetV3", figure 4, arXiv:1905.02244. M. Tan, Q. Le 2019,
    "EfficientNet", section 4, arXiv:1905.11946.

    Example:
        >>> import keras
        >>> from keras_canon.layers import InvertedResidual
        >>> print(tuple(InvertedResidual(24, expanded_filters=96, strides=2)(keras.ops.ones((1, 8, 8, 16))).shape))
        (1, 4, 4, 24)
    """

    def __init__(
        self,
        filters,
        expanded_filters=None,
        kernel_size=3,
        strides=1,
        dilation_rate=1,
        squeeze_filters=None,
        squeeze_activation="relu",
        gate_activation="hard_sigmoid",
        stochastic_depth=0.0,
        padding="same",
        momentum=0.9,
        epsilon=1e-5,
        activation="relu6",
        kernel_initializer="he_normal",
        kernel_regularizer=None,
        **kwargs,
    ):
        super().__init__(padding, momentum, epsilon, activation, kernel_initializer, kernel_regularizer, **kwargs)
        self.filters = positive_integer("filters", filters)
        self.expanded_filters = None if expanded_filters is None else positive_integer("expanded_filters", expanded_filters)
        self.kernel_size = integers("kernel_size", kernel_size, 2)
        self.strides = integers("strides", strides, 2)
        self.dilation_rate = integers("dilation_rate", dilation_rate, 2)
        self.squeeze_filters = None if squeeze_filters is None else positive_integer("squeeze_filters", squeeze_filters)
        self.squeeze_activation = keras.activations.get(squeeze_activation)
        self.gate_activation = keras.activations.get(gate_activation)
        self.branch_dropout = StochasticDepth(stochastic_depth, dtype=self.dtype_policy, name="stochastic_depth")
        self.has_shortcut = False
        self._make_units()

    def _make_units(self):
        self.expand = self.squeeze_excite = None
        if self.expanded_filters is not None:
            self.expand = ConvNormActivation(self.expanded_filters, 1, name="expand", **self.unit_arguments(self.activation))
        self.depthwise = DepthwiseConvNormActivation(
            self.kernel_size,
            strides=self.strides,
            dilation_rate=self.dilation_rate,
            name="depthwise",
            **self.unit_arguments(self.activation),
        )
        if self.squeeze_filters is not None:
            self.squeeze_excite = SqueezeExcite(
                self.squeeze_filters,
                activation=self.squeeze_activation,
                gate_activation=self.gate_activation,
                kernel_initializer=fresh_initializer(self.kernel_initializer),
                kernel_regularizer=self.kernel_regularizer,
                dtype=self.dtype_policy,
                name="squeeze_excite",
            )
        self.project = ConvNormActivation(self.filters, 1, name="project", **self.unit_arguments())

    def branch(self) -> list[keras.layers.Layer]:
        """Return the layers of F in their order."""
        layers = (self.expand, self.depthwise, self.squeeze_excite, self.project)
        return [layer for layer in layers if layer is not None]

    def build(self, input_shape):
        input_rank(type(self).__name__, input_shape, 4, "(batch, height, width, channels)")
        self.has_shortcut = self.strides == (1, 1) and input_shape[-1] == self.filters
        self.branch_dropout.build(build_in_turn(self.branch(), input_shape))

    def call(self, inputs, training=None):
        outputs = inputs
        for layer in self.branch():
            outputs = layer(outputs, training=training)
        return keras.ops.add(inputs, self.branch_dropout(outputs, training=training)) if self.has_shortcut else outputs

    def compute_output_shape(self, input_shape):
        return (*self.depthwise.compute_output_shape(input_shape)[:3], self.filters)

    def get_config(self):
        return {
            **super().get_config(),
            "filters": self.filters,
            "expanded_filters": self.expanded_filters,
            "kernel_size": list(self.kernel_size),
            "strides": list(self.strides),
            "dilation_rate": list(self.dilation_rate),
            "squeeze_filters": self.squeeze_filters,
            "squeeze_activation": keras.activations.serialize(self.squeeze_activation),
            "gate_activation": keras.activations.serialize(self.gate_activation),
            "stochastic_depth": self.branch_dropout.rate,
        }
