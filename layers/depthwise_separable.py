"""Depthwise separable convolution, in the order of MobileNet and in that of Xception."""

from typing import Any

import keras

from .arguments import one_of, positive_integer
from .conv_norm_activation import ConvNormActivation, DepthwiseConvNormActivation
from .convolution_block import ConvolutionBlock, build_in_turn
from .window import PADDINGS, Pair, Window


@keras.saving.register_keras_serializable(package="keras_canon")
class DepthwiseSeparableConv2D(ConvolutionBlock):
    r"""One kernel for each channel, then a 1 x 1 convolution that mixes the channels.

        (3)  G_{k,l,m} = sum_{i,j} K_{i,j,m} F_{k+i-1, l+j-1, m}    depthwise, then
             y_{k,l,n} = sum_m P_{m,n} G_{k,l,m}                     pointwise

    - order "mobilenet": normalisation and activation after each of the two (MobileNet, figure 3 right).
    - order "xception": activation before the first, nothing between, normalisation after the second (Xception, figure 5). With
      neither normalisation nor activation this is `keras.layers.SeparableConv2D`.

    Sub-layers: `depthwise` (`DepthwiseConvNormActivation`) and `pointwise` (`ConvNormActivation`).

    Args:
        filters: N, output channels.
        kernel_size: D_K, of the depthwise convolution, one or two integers.
        strides: of the depthwise convolution; unequal ones work on every device. Not above 1 together with a dilation.
        order: "mobilenet" or "xception".
        padding: "same" (TensorFlow's), "valid", or "symmetric" (torch's). See `Window`.
        dilation_rate: of the depthwise convolution, one or two integers.
        depth_multiplier: depthwise kernels a channel (not MobileNet's width multiplier, which scales `filters`).
        normalization: "batch" or None.
        momentum: share of the old moving statistics that batch normalisation keeps.
        epsilon: added to the variance.
        activation: a Keras activation, or None.
        use_bias: None means only where there is no normalisation. In order "xception" the depthwise convolution never has one.
        kernel_initializer: of K and P.
        kernel_regularizer: of K and P.

    Input shape: (batch, height, width, channels). Output shape: (batch, new_height, new_width, filters).
    Image maps carry no mask, so none is taken.

    Raises:
        ValueError: an argument out of range; strides and dilation_rate both above 1; an input without four axes, or smaller
            than an unpadded kernel.

    Reference: A. Howard et al. 2017, "MobileNets", section 3.1, equation 3, arXiv:1704.04861. F. Chollet 2017, "Xception",
    sections 1.2 and 4, figure 5, arXiv:1610.02357.

    Example:
        >>> import keras
        >>> from keras_canon.layers import DepthwiseSeparableConv2D
        >>> print(tuple(DepthwiseSeparableConv2D(16, strides=2)(keras.ops.ones((1, 8, 8, 4))).shape))
        (1, 4, 4, 16)
    """

    paddings = PADDINGS

    def __init__(
        self,
        filters,
        kernel_size: Pair = 3,
        strides: Pair = 1,
        order="mobilenet",
        padding="same",
        dilation_rate: Pair = 1,
        depth_multiplier=1,
        normalization: str | None = "batch",
        momentum=0.9,
        epsilon=1e-5,
        activation: Any = "relu",
        use_bias=None,
        kernel_initializer: Any = "he_normal",
        kernel_regularizer: Any = None,
        **kwargs,
    ):
        super().__init__(padding, momentum, epsilon, activation, kernel_initializer, kernel_regularizer, **kwargs)
        self.filters = positive_integer("filters", filters)
        self.window = Window.of(kernel_size, strides, padding, dilation_rate, equal_steps=True)
        self.order = one_of("order", order, ("mobilenet", "xception"))
        self.depth_multiplier = positive_integer("depth_multiplier", depth_multiplier)
        self.normalization = one_of("normalization", normalization, ("batch", None))
        self.use_bias = one_of("use_bias", use_bias, (None, True, False))
        after_each = self.order == "mobilenet"
        activation_after = self.activation if after_each else None
        self.depthwise = DepthwiseConvNormActivation(
            self.window.kernel_size,
            strides=self.window.strides,
            dilation_rate=self.window.dilation_rate,
            depth_multiplier=self.depth_multiplier,
            normalization=self.normalization if after_each else None,
            use_bias=self.use_bias if after_each else False,
            name="depthwise",
            **self.unit_arguments(activation_after),
        )
        self.pointwise = ConvNormActivation(
            self.filters,
            1,
            normalization=self.normalization,
            use_bias=self.use_bias,
            name="pointwise",
            **self.unit_arguments(activation_after),
        )

    def build(self, input_shape):
        self.window.check_input(type(self).__name__, input_shape)
        build_in_turn([self.depthwise, self.pointwise], input_shape)

    def call(self, inputs, training=None):
        outputs = inputs if self.order == "mobilenet" else self.activation(inputs)
        return self.pointwise(self.depthwise(outputs, training=training), training=training)

    def compute_output_shape(self, input_shape):
        return self.window.output_shape(input_shape, self.filters)

    def get_config(self):
        return {
            **super().get_config(),
            **self.window.config(),
            "filters": self.filters,
            "order": self.order,
            "depth_multiplier": self.depth_multiplier,
            "normalization": self.normalization,
            "use_bias": self.use_bias,
        }
