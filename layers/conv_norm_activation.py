"""Convolution, normalisation, activation: the unit that most convolutional networks repeat."""

from typing import Any

import keras

from .arguments import divisible, one_of, positive_integer, rate, real
from .grouped_convolution import GroupedConv2D
from .initializers import fresh_initializer
from .window import Pair, Window


class _ConvolutionUnit(keras.layers.Layer):
    """What the dense and the depthwise unit share: everything but the convolution, which they set."""

    convolution: keras.layers.Layer
    window: Window

    def __init__(
        self,
        normalization,
        momentum,
        epsilon,
        activation,
        use_bias,
        kernel_initializer,
        gamma_initializer,
        kernel_regularizer,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.normalization = one_of("normalization", normalization, ("batch", None))
        self.momentum = rate("momentum", momentum)
        self.epsilon = real("epsilon", epsilon, 1e-12, 1.0)
        self.activation = keras.activations.get(activation)
        self.use_bias = one_of("use_bias", use_bias, (None, True, False))
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.gamma_initializer = keras.initializers.get(gamma_initializer)
        self.kernel_regularizer = keras.regularizers.get(kernel_regularizer)

    def set_convolution(self, convolution: keras.layers.Layer) -> None:
        """Take the convolution and make the normalisation, in this order, which is the order of the weights."""
        self.convolution = convolution
        self.batch_normalization = None
        if self.normalization == "batch":
            self.batch_normalization = keras.layers.BatchNormalization(
                momentum=self.momentum,
                epsilon=self.epsilon,
                scale=self.gamma_initializer is not None,
                gamma_initializer=fresh_initializer(self.gamma_initializer),
                dtype=self.dtype_policy,
                name="normalization",
            )

    @property
    def has_bias(self) -> bool:
        """Whether the convolution adds a bias; by default only where no normalisation would take it out again."""
        return self.normalization is None if self.use_bias is None else self.use_bias

    def build(self, input_shape):
        self.window.check_input(type(self).__name__, input_shape)
        self.convolution.build(input_shape if not self.window.pads else (input_shape[0], None, None, input_shape[3]))
        if self.batch_normalization is not None:
            self.batch_normalization.build(self.compute_output_shape(input_shape))

    def call(self, inputs, training=None):
        outputs = self.window.drop(self.convolution(self.window.pad(inputs)))
        if self.batch_normalization is not None:
            outputs = self.batch_normalization(outputs, training=training)
        return self.activation(outputs)

    def get_config(self):
        return {
            **super().get_config(),
            **self.window.config(),
            "normalization": self.normalization,
            "momentum": self.momentum,
            "epsilon": self.epsilon,
            "activation": keras.activations.serialize(self.activation),
            "use_bias": self.use_bias,
            "kernel_initializer": keras.initializers.serialize(self.kernel_initializer),
            "gamma_initializer": keras.initializers.serialize(self.gamma_initializer),
            "kernel_regularizer": keras.regularizers.serialize(self.kernel_regularizer),
        }


@keras.saving.register_keras_serializable(package="keras_canon")
class ConvNormActivation(_ConvolutionUnit):
    r"""Convolution, then batch normalisation, then activation.

        (1)  x = W * u (+ b)
        (2)  y = gamma (x - mean) / sqrt(variance + epsilon) + beta
        (3)  z = g(y)

    Sub-layers are named `convolution` and `normalization`, so that weights are `convolution/kernel`, `normalization/gamma`, ...

    Args:
        filters: number of output channels.
        kernel_size: one or two integers.
        strides: one or two integers; not above 1 together with a dilation.
        padding: "same" (TensorFlow's), "valid", or "symmetric" (torch's: (extent - 1) // 2 on both sides). See `Window`.
        dilation_rate: one or two integers.
        groups: number of groups into which input and output channels are split.
        normalization: "batch" or None (no normalisation).
        momentum: share of the old moving statistics that is kept, as Keras names it (torch's momentum 0.1 is 0.9 here).
        epsilon: added to the variance.
        activation: g, a Keras activation, or None for none.
        use_bias: b; None means only where there is no normalisation.
        kernel_initializer: W; He et al.'s normal initialiser by default.
        gamma_initializer: gamma; "zeros" on the last unit of a residual branch starts the block as the identity; None for a
            normalisation without gamma, which a ReLU and the next kernel make up for.
        kernel_regularizer: of W.

    Input shape: (batch, height, width, channels). Output shape: (batch, new_height, new_width, filters).
    Image maps carry no mask, so none is taken.

    Raises:
        ValueError: an argument out of range; filters or channels that `groups` does not divide; strides and dilation_rate
            both above 1; an input without four axes, or smaller than an unpadded kernel.

    Reference: S. Ioffe, C. Szegedy 2015, "Batch Normalization", section 3.2, arXiv:1502.03167.

    Example:
        >>> import keras
        >>> from keras_canon.layers import ConvNormActivation
        >>> print(tuple(ConvNormActivation(8, 3, strides=2)(keras.ops.ones((2, 16, 16, 3))).shape))
        (2, 8, 8, 8)
    """

    def __init__(
        self,
        filters,
        kernel_size,
        strides: Pair = 1,
        padding="same",
        dilation_rate: Pair = 1,
        groups=1,
        normalization: str | None = "batch",
        momentum=0.9,
        epsilon=1e-5,
        activation: Any = "relu",
        use_bias=None,
        kernel_initializer: Any = "he_normal",
        gamma_initializer: Any = "ones",
        kernel_regularizer: Any = None,
        **kwargs,
    ):
        super().__init__(
            normalization, momentum, epsilon, activation, use_bias, kernel_initializer, gamma_initializer, kernel_regularizer, **kwargs
        )
        self.filters = positive_integer("filters", filters)
        self.groups = positive_integer("groups", groups)
        divisible("filters", self.filters, "groups", self.groups)
        self.window = Window.of(kernel_size, strides, padding, dilation_rate)
        arguments = {
            **self.window.of_kernel(),
            "data_format": "channels_last",
            "use_bias": self.has_bias,
            "kernel_initializer": fresh_initializer(self.kernel_initializer),
            "kernel_regularizer": self.kernel_regularizer,
            "dtype": self.dtype_policy,
            "name": "convolution",
        }
        if self.groups == 1:
            self.set_convolution(keras.layers.Conv2D(self.filters, **arguments))
        else:
            self.set_convolution(GroupedConv2D(self.filters, groups=self.groups, **arguments))

    def build(self, input_shape):
        self.window.check_input(type(self).__name__, input_shape)
        divisible("channels", input_shape[-1], "groups", self.groups)
        super().build(input_shape)

    def compute_output_shape(self, input_shape):
        return self.window.output_shape(input_shape, self.filters)

    def get_config(self):
        return {**super().get_config(), "filters": self.filters, "groups": self.groups}


@keras.saving.register_keras_serializable(package="keras_canon")
class DepthwiseConvNormActivation(_ConvolutionUnit):
    r"""Depthwise convolution, then batch normalisation, then activation.

    Each channel c has `depth_multiplier` kernels of its own:

        (1)  x_{c,m} = W_{c,m} * u_c (+ b_{c,m})

    followed by equations (2) and (3) of `ConvNormActivation`. Sub-layers are named `convolution` and `normalization`.

    Args:
        kernel_size: D_K, one or two integers.
        strides: one or two integers; unequal ones work on every device. Not above 1 together with a dilation.
        padding: "same", "valid" or "symmetric". See `Window`.
        dilation_rate: one or two integers.
        depth_multiplier: kernels a channel.
        normalization, momentum, epsilon, activation, use_bias, kernel_initializer, gamma_initializer, kernel_regularizer: as in
            `ConvNormActivation`.

    Input shape: (batch, height, width, channels). Output shape: (batch, new_height, new_width, channels * depth_multiplier).
    Image maps carry no mask, so none is taken.

    Raises:
        ValueError: an argument out of range; strides and dilation_rate both above 1; an input without four axes, or smaller
            than an unpadded kernel.

    Reference: A. Howard et al. 2017, "MobileNets", section 3.1, equation 3, arXiv:1704.04861.

    Example:
        >>> import keras
        >>> from keras_canon.layers import DepthwiseConvNormActivation
        >>> print(tuple(DepthwiseConvNormActivation(3, strides=(1, 2))(keras.ops.ones((2, 16, 16, 4))).shape))
        (2, 16, 8, 4)
    """

    def __init__(
        self,
        kernel_size,
        strides: Pair = 1,
        padding="same",
        dilation_rate: Pair = 1,
        depth_multiplier=1,
        normalization: str | None = "batch",
        momentum=0.9,
        epsilon=1e-5,
        activation: Any = "relu",
        use_bias=None,
        kernel_initializer: Any = "he_normal",
        gamma_initializer: Any = "ones",
        kernel_regularizer: Any = None,
        **kwargs,
    ):
        super().__init__(
            normalization, momentum, epsilon, activation, use_bias, kernel_initializer, gamma_initializer, kernel_regularizer, **kwargs
        )
        self.depth_multiplier = positive_integer("depth_multiplier", depth_multiplier)
        self.window = Window.of(kernel_size, strides, padding, dilation_rate, equal_steps=True)
        self.set_convolution(
            keras.layers.DepthwiseConv2D(
                **self.window.of_kernel(),
                depth_multiplier=self.depth_multiplier,
                data_format="channels_last",
                use_bias=self.has_bias,
                depthwise_initializer=fresh_initializer(self.kernel_initializer),
                depthwise_regularizer=self.kernel_regularizer,
                dtype=self.dtype_policy,
                name="convolution",
            )
        )

    def compute_output_shape(self, input_shape):
        return self.window.output_shape(input_shape, input_shape[-1] * self.depth_multiplier)

    def get_config(self):
        return {**super().get_config(), "depth_multiplier": self.depth_multiplier}
