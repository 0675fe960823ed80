"""Pointwise (1 x 1) convolution: a dense layer at every pixel."""

from typing import Any

import keras

from .arguments import divisible, input_rank, integers, positive_integer
from .grouped_convolution import GroupedConv2D
from .initializers import fresh_initializer
from .window import Pair


@keras.saving.register_keras_serializable(package="keras_canon")
class PointwiseConv2D(keras.layers.Layer):
    r"""Mix the channels of each pixel by one matrix.

        (1)  y_{i,j} = g(W^T x_{i,j} + b)

    Args:
        filters: number of output channels.
        strides: every how many rows and columns a pixel is taken, one or two integers.
        groups: number of groups into which input and output channels are split.
        activation: g, a Keras activation, or None.
        use_bias: whether b is added.
        kernel_initializer: of W.
        bias_initializer: of b.
        kernel_regularizer: of W.

    Input shape: (batch, height, width, channels).
    Output shape: (batch, ceil(height / stride), ceil(width / stride), filters).
    Image maps carry no mask, so none is taken.

    Raises:
        ValueError: an argument out of range; filters or channels that `groups` does not divide; an input without four axes.

    Reference: M. Lin, Q. Chen, S. Yan 2014, "Network In Network", section 3.1 (cross channel parametric pooling),
    arXiv:1312.4400.

    Example:
        >>> import keras
        >>> from keras_canon.layers import PointwiseConv2D
        >>> print(tuple(PointwiseConv2D(16, strides=2)(keras.ops.ones((1, 8, 8, 4))).shape))
        (1, 4, 4, 16)
    """

    def __init__(
        self,
        filters,
        strides: Pair = 1,
        groups=1,
        activation: Any = None,
        use_bias=True,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.filters = positive_integer("filters", filters)
        self.strides = integers("strides", strides, 2)
        self.groups = positive_integer("groups", groups)
        divisible("filters", self.filters, "groups", self.groups)
        self.activation = keras.activations.get(activation)
        self.use_bias = bool(use_bias)
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.bias_initializer = keras.initializers.get(bias_initializer)
        self.kernel_regularizer = keras.regularizers.get(kernel_regularizer)
        self.convolution = GroupedConv2D(
            self.filters,
            1,
            strides=self.strides,
            groups=self.groups,
            data_format="channels_last",
            activation=self.activation,
            use_bias=self.use_bias,
            kernel_initializer=fresh_initializer(self.kernel_initializer),
            bias_initializer=fresh_initializer(self.bias_initializer),
            kernel_regularizer=self.kernel_regularizer,
            dtype=self.dtype_policy,
            name="convolution",
        )

    def build(self, input_shape):
        input_rank(type(self).__name__, input_shape, 4, "(batch, height, width, channels)")
        divisible("channels", input_shape[-1], "groups", self.groups)
        self.convolution.build(input_shape)

    def call(self, inputs):
        return self.convolution(inputs)

    def compute_output_shape(self, input_shape):
        return self.convolution.compute_output_shape(input_shape)

    def get_config(self):
        return {
            **super().get_config(),
            "filters": self.filters,
            "strides": list(self.strides),
            "groups": self.groups,
            "activation": keras.activations.serialize(self.activation),
            "use_bias": self.use_bias,
            "kernel_initializer": keras.initializers.serialize(self.kernel_initializer),
            "bias_initializer": keras.initializers.serialize(self.bias_initializer),
            "kernel_regularizer": keras.regularizers.serialize(self.kernel_regularizer),
        }
