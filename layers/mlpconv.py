"""The mlpconv layer of Network In Network: a small perceptron slides over the map."""

from collections.abc import Sequence
from typing import Any

import keras

from .arguments import integers
from .conv_norm_activation import ConvNormActivation
from .convolution_block import build_in_turn
from .initializers import fresh_initializer
from .window import Pair, Window


@keras.saving.register_keras_serializable(package="keras_canon")
class MlpConv2D(keras.layers.Layer):
    r"""A convolution followed by 1 x 1 convolutions, each with an activation.

        (2)  f^1_{i,j,k} = max(w^1_k^T x_{i,j} + b_k, 0),  ...,  f^n_{i,j,k} = max(w^n_k^T f^{n-1}_{i,j} + b_k, 0)

    with x_{i,j} the patch at (i, j). Sub-layers are `ConvNormActivation`s named `unit_1` (the convolution), `unit_2`, ...

    Args:
        filters: output channels of the n steps, one integer each: (192, 160, 96) in the first layer of the paper's network.
        kernel_size: of the convolution, one or two integers.
        strides: of the convolution; not above 1 together with a dilation.
        padding: "same" (TensorFlow's), "valid" or "symmetric" (torch's). See `Window`.
        dilation_rate: of the convolution, one or two integers.
        activation: max(., 0) in the paper.
        kernel_initializer: of every kernel.
        kernel_regularizer: of every kernel.

    Input shape: (batch, height, width, channels). Output shape: (batch, new_height, new_width, filters[-1]).
    Image maps carry no mask, so none is taken.

    Raises:
        ValueError: an argument out of range; strides and dilation_rate both above 1; an input without four axes, or smaller than
            an unpadded kernel.

    Reference: M. Lin, Q. Chen, S. Yan 2014, "Network In Network", equation 2, section 3.1, arXiv:1312.4400.

    Example:
        >>> import keras
        >>> from keras_canon.layers import MlpConv2D
        >>> print(tuple(MlpConv2D((16, 12, 8), 5)(keras.ops.ones((1, 8, 8, 3))).shape))
        (1, 8, 8, 8)
    """

    def __init__(
        self,
        filters,
        kernel_size,
        strides: Pair = 1,
        padding="same",
        dilation_rate: Pair = 1,
        activation: Any = "relu",
        kernel_initializer: Any = "he_normal",
        kernel_regularizer: Any = None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        if not isinstance(filters, Sequence) or isinstance(filters, str) or not filters:
            raise ValueError(f"filters must list the output channels of at least one step, got {filters!r}.")
        self.filters = integers("filters", filters, len(filters))
        self.window = Window.of(kernel_size, strides, padding, dilation_rate)
        self.activation = keras.activations.get(activation)
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.kernel_regularizer = keras.regularizers.get(kernel_regularizer)
        windows = [self.window] + [Window.of(1)] * (len(self.filters) - 1)
        self.units = [
            ConvNormActivation(
                channels,
                window.kernel_size,
                strides=window.strides,
                padding=window.padding,
                dilation_rate=window.dilation_rate,
                normalization=None,
                activation=self.activation,
                kernel_initializer=fresh_initializer(self.kernel_initializer),
                kernel_regularizer=self.kernel_regularizer,
                dtype=self.dtype_policy,
                name=f"unit_{index}",
            )
            for index, (channels, window) in enumerate(zip(self.filters, windows, strict=True), start=1)
        ]

    def build(self, input_shape):
        self.window.check_input(type(self).__name__, input_shape)
        build_in_turn(self.units, input_shape)

    def call(self, inputs):
        outputs = inputs
        for unit in self.units:
            outputs = unit(outputs)
        return outputs

    def compute_output_shape(self, input_shape):
        return self.window.output_shape(input_shape, self.filters[-1])

    def get_config(self):
        return {
            **super().get_config(),
            **self.window.config(),
            "filters": list(self.filters),
            "activation": keras.activations.serialize(self.activation),
            "kernel_initializer": keras.initializers.serialize(self.kernel_initializer),
            "kernel_regularizer": keras.regularizers.serialize(self.kernel_regularizer),
        }
