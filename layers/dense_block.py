"""Densely connected convolution: the layer that adds k maps, the block of such layers, and the transition between blocks."""

from typing import Any

import keras

from .arguments import input_rank, positive_integer
from .arguments import rate as checked_rate
from .convolution_block import ConvolutionBlock, build_in_turn
from .norm_activation_conv import NormActivationConv


class _DenseConnection(ConvolutionBlock):
    """Abstract: growth rate, bottleneck and dropout, which the layer and the block share."""

    def __init__(self, growth_rate, bottleneck_ratio, dropout, *shared, **kwargs):
        super().__init__(*shared, **kwargs)
        self.growth_rate = positive_integer("growth_rate", growth_rate)
        self.bottleneck_ratio = None if bottleneck_ratio is None else positive_integer("bottleneck_ratio", bottleneck_ratio)
        self.dropout = checked_rate("dropout", dropout)

    def get_config(self):
        return {
            **super().get_config(),
            "growth_rate": self.growth_rate,
            "bottleneck_ratio": self.bottleneck_ratio,
            "dropout": self.dropout,
        }


@keras.saving.register_keras_serializable(package="keras_canon")
class DenseBlockLayer(_DenseConnection):
    r"""One layer of a dense block: k new maps, joined behind all earlier ones.

        (2)  x_l = H_l([x_0, x_1, ..., x_{l-1}])

    The input is [x_0, ..., x_{l-1}] and the output [x_0, ..., x_l]. H is BN, activation, 3 x 3 convolution to k maps; with a
    bottleneck BN, activation, 1 x 1 convolution to 4 k maps goes before it. Sub-layers `bottleneck` and `convolution` are
    `NormActivationConv`s.

    Args:
        growth_rate: k.
        bottleneck_ratio: maps of the 1 x 1 convolution over k, 4 in DenseNet-B; None for no bottleneck.
        dropout: rate after each convolution (0.2 in the paper where data are not augmented).
        padding: "same" (TensorFlow's) or "symmetric" (torch's); at stride 1 they agree.
        momentum: share of the old moving statistics that batch normalisation keeps.
        epsilon: added to the variance.
        activation: a Keras activation.
        kernel_initializer: of every kernel.
        kernel_regularizer: of every kernel.

    Input shape: (batch, height, width, channels). Output shape: (batch, height, width, channels + growth_rate).
    Image maps carry no mask, so none is taken.

    Raises:
        ValueError: an argument out of range, or an input without four axes.

    Reference: G. Huang, Z. Liu, L. van der Maaten, K. Weinberger 2017, "Densely Connected Convolutional Networks", equation 2 and
    section 3, arXiv:1608.06993.

    Example:
        >>> import keras
        >>> from keras_canon.layers import DenseBlockLayer
        >>> print(tuple(DenseBlockLayer(12)(keras.ops.ones((1, 8, 8, 16))).shape))
        (1, 8, 8, 28)
    """

    def __init__(
        self,
        growth_rate,
        bottleneck_ratio: int | None = 4,
        dropout=0.0,
        padding="same",
        momentum=0.9,
        epsilon=1e-5,
        activation: Any = "relu",
        kernel_initializer: Any = "he_normal",
        kernel_regularizer: Any = None,
        **kwargs,
    ):
        shared = (padding, momentum, epsilon, activation, kernel_initializer, kernel_regularizer)
        super().__init__(growth_rate, bottleneck_ratio, dropout, *shared, **kwargs)
        self.bottleneck = None
        if self.bottleneck_ratio is not None:
            self.bottleneck = NormActivationConv(
                self.bottleneck_ratio * self.growth_rate, 1, self.dropout, name="bottleneck", **self.unit_arguments(self.activation)
            )
        self.convolution = NormActivationConv(self.growth_rate, 3, self.dropout, name="convolution", **self.unit_arguments(self.activation))

    def build(self, input_shape):
        input_rank(type(self).__name__, input_shape, 4, "(batch, height, width, channels)")
        build_in_turn([layer for layer in (self.bottleneck, self.convolution) if layer is not None], input_shape)

    def call(self, inputs, training=None):
        new = inputs if self.bottleneck is None else self.bottleneck(inputs, training=training)
        return keras.ops.concatenate([inputs, self.convolution(new, training=training)], axis=-1)

    def compute_output_shape(self, input_shape):
        return (*input_shape[:-1], input_shape[-1] + self.growth_rate)


@keras.saving.register_keras_serializable(package="keras_canon")
class DenseBlock(_DenseConnection):
    r"""Layers of which each sees the maps of all before it.

        (2)  x_l = H_l([x_0, x_1, ..., x_{l-1}]),    l = 1 .. L;    y = [x_0, ..., x_L]

    Sub-layers are `DenseBlockLayer`s named `layer_1`, `layer_2`, ...

    Args:
        num_layers: L.
        growth_rate: k.
        bottleneck_ratio: maps of the 1 x 1 convolution over k, 4 in DenseNet-B; None for no bottleneck.
        dropout, padding, momentum, epsilon, activation, kernel_initializer, kernel_regularizer: as in `DenseBlockLayer`.

    Input shape: (batch, height, width, channels). Output shape: (batch, height, width, channels + num_layers * growth_rate).
    Image maps carry no mask, so none is taken.

    Raises:
        ValueError: an argument out of range, or an input without four axes.

    Reference: G. Huang, Z. Liu, L. van der Maaten, K. Weinberger 2017, "Densely Connected Convolutional Networks", equation 2,
    table 1, arXiv:1608.06993.

    Example:
        >>> import keras
        >>> from keras_canon.layers import DenseBlock
        >>> print(tuple(DenseBlock(3, 12)(keras.ops.ones((1, 8, 8, 16))).shape))
        (1, 8, 8, 52)
    """

    def __init__(
        self,
        num_layers,
        growth_rate,
        bottleneck_ratio: int | None = 4,
        dropout=0.0,
        padding="same",
        momentum=0.9,
        epsilon=1e-5,
        activation: Any = "relu",
        kernel_initializer: Any = "he_normal",
        kernel_regularizer: Any = None,
        **kwargs,
    ):
        shared = (padding, momentum, epsilon, activation, kernel_initializer, kernel_regularizer)
        super().__init__(growth_rate, bottleneck_ratio, dropout, *shared, **kwargs)
        self.num_layers = positive_integer("num_layers", num_layers)
        self.layers = [
            DenseBlockLayer(
                self.growth_rate, self.bottleneck_ratio, self.dropout, name=f"layer_{index}", **self.unit_arguments(self.activation)
            )
            for index in range(1, self.num_layers + 1)
        ]

    def build(self, input_shape):
        input_rank(type(self).__name__, input_shape, 4, "(batch, height, width, channels)")
        build_in_turn(self.layers, input_shape)

    def call(self, inputs, training=None):
        outputs = inputs
        for layer in self.layers:
            outputs = layer(outputs, training=training)
        return outputs

    def compute_output_shape(self, input_shape):
        return (*input_shape[:-1], input_shape[-1] + self.num_layers * self.growth_rate)

    def get_config(self):
        return {**super().get_config(), "num_layers": self.num_layers}


@keras.saving.register_keras_serializable(package="keras_canon")
class TransitionBlock(ConvolutionBlock):
    r"""Step between two dense blocks: BN, activation, 1 x 1 convolution, 2 x 2 average pooling.

    From m maps the convolution makes floor(theta m), with the compression 0 < theta <= 1 (section 3; theta = 0.5 in DenseNet-C).
    Sub-layer `convolution` is a `NormActivationConv`.

    Args:
        filters: floor(theta m).
        pool_size: side and step of the pooling window.
        dropout: rate after the convolution.
        padding, momentum, epsilon, activation, kernel_initializer, kernel_regularizer: as in `DenseBlockLayer`.

    Input shape: (batch, height, width, channels).
    Output shape: (batch, floor(height / pool_size), floor(width / pool_size), filters).
    Image maps carry no mask, so none is taken.

    Raises:
        ValueError: an argument out of range; an input without four axes, or smaller than the pooling window.

    Reference: G. Huang, Z. Liu, L. van der Maaten, K. Weinberger 2017, "Densely Connected Convolutional Networks", section 3
    (pooling layers, compression), table 1, arXiv:1608.06993.

    Example:
        >>> import keras
        >>> from keras_canon.layers import TransitionBlock
        >>> print(tuple(TransitionBlock(8)(keras.ops.ones((1, 8, 8, 16))).shape))
        (1, 4, 4, 8)
    """

    def __init__(
        self,
        filters,
        pool_size=2,
        dropout=0.0,
        padding="same",
        momentum=0.9,
        epsilon=1e-5,
        activation: Any = "relu",
        kernel_initializer: Any = "he_normal",
        kernel_regularizer: Any = None,
        **kwargs,
    ):
        super().__init__(padding, momentum, epsilon, activation, kernel_initializer, kernel_regularizer, **kwargs)
        self.filters = positive_integer("filters", filters)
        self.pool_size = positive_integer("pool_size", pool_size)
        self.dropout = checked_rate("dropout", dropout)
        self.convolution = NormActivationConv(filters, 1, self.dropout, name="convolution", **self.unit_arguments(self.activation))
        self.pooling = keras.layers.AveragePooling2D(self.pool_size, data_format="channels_last", dtype=self.dtype_policy, name="pooling")

    def build(self, input_shape):
        input_rank(type(self).__name__, input_shape, 4, "(batch, height, width, channels)")
        if any(size is not None and size < self.pool_size for size in input_shape[1:3]):
            raise ValueError(
                f"TransitionBlock needs maps of at least pool_size={self.pool_size}, got height and width {tuple(input_shape[1:3])}."
            )
        build_in_turn([self.convolution, self.pooling], input_shape)

    def call(self, inputs, training=None):
        return self.pooling(self.convolution(inputs, training=training))

    def compute_output_shape(self, input_shape):
        sizes = [None if size is None else size // self.pool_size for size in input_shape[1:3]]
        return (input_shape[0], *sizes, self.filters)

    def get_config(self):
        return {**super().get_config(), "filters": self.filters, "pool_size": self.pool_size, "dropout": self.dropout}
