"""Gated linear units: a convolution whose second half of channels opens and closes the first."""

from typing import Any

import keras

from .arguments import input_rank, one_of, positive_integer
from .conv_norm_activation import ConvNormActivation
from .initializers import fresh_initializer
from .window import Pair, Window


def gated_linear_unit(inputs, axis=-1):
    r"""Return the first half of `inputs` times the sigmoid of the second half.

        (1)  h = a * sigmoid(b),    [a, b] = x

    Args:
        inputs: tensor of any rank with an even width along `axis`.
        axis: axis that is halved.

    Returns:
        a tensor of half the width along `axis`.

    Raises:
        ValueError: an odd or unknown width.

    Reference: Y. Dauphin, A. Fan, M. Auli, D. Grangier 2017, "Language Modeling with Gated Convolutional Networks", section 2,
    arXiv:1612.08083.

    Example:
        >>> import keras
        >>> from keras_canon.layers import gated_linear_unit
        >>> print(tuple(gated_linear_unit(keras.ops.ones((2, 6))).shape))
        (2, 3)
    """
    width = inputs.shape[axis]
    if width is None or width % 2:
        raise ValueError(f"gated_linear_unit needs an even width along axis {axis}, got {width} in shape {tuple(inputs.shape)}.")
    linear, gate = keras.ops.split(inputs, 2, axis=axis)
    return keras.ops.multiply(linear, keras.ops.sigmoid(gate))


@keras.saving.register_keras_serializable(package="keras_canon")
class GatedConv1D(keras.layers.Layer):
    r"""Convolution over time with a gated linear unit.

        (1)  h(X) = (X * W + b) * sigmoid(X * V + c)

    W and V lie in one kernel of 2 * filters columns, W first. With padding "causal" output t sees inputs up to t only, so that
    the layer can model a sequence step by step.

    Args:
        filters: n, number of output channels.
        kernel_size: k, number of steps.
        padding: "causal", "same" or "valid".
        dilation_rate: distance of the kernel's taps in steps.
        use_bias: whether b and c are added.
        kernel_initializer: of W and V.
        bias_initializer: of b and c.
        kernel_regularizer: of W and V.

    Input shape: (batch, time, channels). Output shape: (batch, time, filters); time - (k - 1) * dilation_rate where "valid".
    Mask: masked steps count as zeros, so that they do not leak into real ones; the mask passes on, and with "valid" a step stays
    only where its whole window is real.

    Raises:
        ValueError: an argument out of range; an input without three axes, or shorter than an unpadded kernel.

    Reference: Y. Dauphin, A. Fan, M. Auli, D. Grangier 2017, "Language Modeling with Gated Convolutional Networks", equation 1,
    arXiv:1612.08083.

    Example:
        >>> import keras
        >>> from keras_canon.layers import GatedConv1D
        >>> print(tuple(GatedConv1D(8, 4)(keras.ops.ones((2, 10, 3))).shape))
        (2, 10, 8)
    """

    def __init__(
        self,
        filters,
        kernel_size,
        padding="causal",
        dilation_rate: Pair = 1,
        use_bias=True,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.filters = positive_integer("filters", filters)
        self.kernel_size = positive_integer("kernel_size", kernel_size)
        self.padding = one_of("padding", padding, ("causal", "same", "valid"))
        self.dilation_rate = positive_integer("dilation_rate", dilation_rate)
        self.use_bias = bool(use_bias)
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.bias_initializer = keras.initializers.get(bias_initializer)
        self.kernel_regularizer = keras.regularizers.get(kernel_regularizer)
        self.supports_masking = True
        self.convolution = keras.layers.Conv1D(
            2 * self.filters,
            self.kernel_size,
            padding=self.padding,
            dilation_rate=self.dilation_rate,
            data_format="channels_last",
            use_bias=self.use_bias,
            kernel_initializer=fresh_initializer(self.kernel_initializer),
            bias_initializer=fresh_initializer(self.bias_initializer),
            kernel_regularizer=self.kernel_regularizer,
            dtype=self.dtype_policy,
            name="convolution",
        )

    @property
    def lost_steps(self) -> int:
        """By how many steps the output is shorter than the input."""
        return (self.kernel_size - 1) * self.dilation_rate if self.padding == "valid" else 0

    def build(self, input_shape):
        input_rank(type(self).__name__, input_shape, 3, "(batch, time, channels)")
        if input_shape[1] is not None and input_shape[1] <= self.lost_steps:
            raise ValueError(f'GatedConv1D with padding="valid" needs at least {self.lost_steps + 1} steps, got {input_shape[1]}.')
        self.convolution.build(input_shape)

    def call(self, inputs, mask=None):
        if mask is not None:
            # where, not a product: padding may hold NaN
            inputs = keras.ops.where(keras.ops.expand_dims(mask, -1), inputs, keras.ops.zeros_like(inputs))
        return gated_linear_unit(self.convolution(inputs))

    def compute_mask(self, inputs, previous_mask):
        if previous_mask is None or not self.lost_steps:
            return previous_mask
        # Real steps are contiguous, so a window is real when both of its ends are.
        return keras.ops.logical_and(previous_mask[:, self.lost_steps :], previous_mask[:, : -self.lost_steps])

    def compute_output_shape(self, input_shape):
        time = None if input_shape[1] is None else input_shape[1] - self.lost_steps
        return (input_shape[0], time, self.filters)

    def get_config(self):
        return {
            **super().get_config(),
            "filters": self.filters,
            "kernel_size": self.kernel_size,
            "padding": self.padding,
            "dilation_rate": self.dilation_rate,
            "use_bias": self.use_bias,
            "kernel_initializer": keras.initializers.serialize(self.kernel_initializer),
            "bias_initializer": keras.initializers.serialize(self.bias_initializer),
            "kernel_regularizer": keras.regularizers.serialize(self.kernel_regularizer),
        }


@keras.saving.register_keras_serializable(package="keras_canon")
class GatedConv2D(keras.layers.Layer):
    r"""Convolution over a map with a gated linear unit.

        (1)  h(X) = (X * W + b) * sigmoid(X * V + c)

    W and V lie in one kernel of 2 * filters columns, W first.

    Args:
        filters: number of output channels.
        kernel_size: one or two integers.
        strides: one or two integers; not above 1 together with a dilation.
        padding: "same" (TensorFlow's), "valid" or "symmetric" (torch's). See `Window`.
        dilation_rate: one or two integers.
        use_bias: whether b and c are added.
        kernel_initializer: of W and V.
        kernel_regularizer: of W and V.

    Input shape: (batch, height, width, channels). Output shape: (batch, new_height, new_width, filters).
    Image maps carry no mask, so none is taken.

    Raises:
        ValueError: an argument out of range; strides and dilation_rate both above 1; an input without four axes, or smaller than
            an unpadded kernel.

    Reference: Y. Dauphin, A. Fan, M. Auli, D. Grangier 2017, "Language Modeling with Gated Convolutional Networks", equation 1,
    arXiv:1612.08083.

    Example:
        >>> import keras
        >>> from keras_canon.layers import GatedConv2D
        >>> print(tuple(GatedConv2D(8, 3, strides=2)(keras.ops.ones((2, 8, 8, 3))).shape))
        (2, 4, 4, 8)
    """

    def __init__(
        self,
        filters,
        kernel_size,
        strides: Pair = 1,
        padding="same",
        dilation_rate: Pair = 1,
        use_bias=True,
        kernel_initializer: Any = "glorot_uniform",
        kernel_regularizer: Any = None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.filters = positive_integer("filters", filters)
        self.window = Window.of(kernel_size, strides, padding, dilation_rate)
        self.use_bias = bool(use_bias)
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.kernel_regularizer = keras.regularizers.get(kernel_regularizer)
        self.unit = ConvNormActivation(
            2 * self.filters,
            self.window.kernel_size,
            strides=self.window.strides,
            padding=self.window.padding,
            dilation_rate=self.window.dilation_rate,
            normalization=None,
            activation=None,
            use_bias=self.use_bias,
            kernel_initializer=fresh_initializer(self.kernel_initializer),
            kernel_regularizer=self.kernel_regularizer,
            dtype=self.dtype_policy,
            name="unit",
        )

    def build(self, input_shape):
        self.window.check_input(type(self).__name__, input_shape)
        self.unit.build(input_shape)

    def call(self, inputs):
        return gated_linear_unit(self.unit(inputs))

    def compute_output_shape(self, input_shape):
        return self.window.output_shape(input_shape, self.filters)

    def get_config(self):
        return {
            **super().get_config(),
            **self.window.config(),
            "filters": self.filters,
            "use_bias": self.use_bias,
            "kernel_initializer": keras.initializers.serialize(self.kernel_initializer),
            "kernel_regularizer": keras.regularizers.serialize(self.kernel_regularizer),
        }
