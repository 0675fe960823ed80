"""The fire module of SqueezeNet."""

import keras

from .arguments import input_rank, positive_integer
from .initializers import fresh_initializer


@keras.saving.register_keras_serializable(package="keras_canon")
class FireModule(keras.layers.Layer):
    r"""Squeeze to few channels by a 1 x 1 convolution, then expand by 1 x 1 and 3 x 3 convolutions side by side.

        (1)  s = g(W_s * x + b_s),    y = [g(W_1 * s + b_1), g(W_3 * s + b_3)]

    Sub-layers are named `squeeze`, `expand_1x1` and `expand_3x3`.

    Args:
        squeeze_filters: s_1x1, channels of s.
        expand_1x1_filters: e_1x1.
        expand_3x3_filters: e_3x3.
        activation: g.
        kernel_initializer: of every kernel.
        kernel_regularizer: of every kernel.

    Input shape: (batch, height, width, channels).
    Output shape: (batch, height, width, expand_1x1_filters + expand_3x3_filters).
    Image maps carry no mask, so none is taken.

    Raises:
        ValueError: a number of filters below 1, an input without four axes.

    Reference: F. Iandola, S. Han, M. Moskewicz, K. Ashraf, W. Dally, K. Keutzer 2016, "SqueezeNet", section 3.2, figure 1,
    table 1, arXiv:1602.07360.

    Example:
        >>> import keras
        >>> from keras_canon.layers import FireModule
        >>> print(tuple(FireModule(16, 64, 64)(keras.ops.ones((1, 8, 8, 96))).shape))
        (1, 8, 8, 128)
    """

    def __init__(
        self,
        squeeze_filters,
        expand_1x1_filters,
        expand_3x3_filters,
        activation="relu",
        kernel_initializer="glorot_uniform",
        kernel_regularizer=None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.squeeze_filters = positive_integer("squeeze_filters", squeeze_filters)
        self.expand_1x1_filters = positive_integer("expand_1x1_filters", expand_1x1_filters)
        self.expand_3x3_filters = positive_integer("expand_3x3_filters", expand_3x3_filters)
        self.activation = keras.activations.get(activation)
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.kernel_regularizer = keras.regularizers.get(kernel_regularizer)
        self.squeeze = self._convolution("squeeze", self.squeeze_filters, 1)
        self.expand_1x1 = self._convolution("expand_1x1", self.expand_1x1_filters, 1)
        self.expand_3x3 = self._convolution("expand_3x3", self.expand_3x3_filters, 3)

    def build(self, input_shape):
        input_rank(type(self).__name__, input_shape, 4, "(batch, height, width, channels)")
        self.squeeze.build(input_shape)
        squeezed = (*input_shape[:3], self.squeeze_filters)
        self.expand_1x1.build(squeezed)
        self.expand_3x3.build(squeezed)

    def call(self, inputs):
        squeezed = self.squeeze(inputs)
        return keras.ops.concatenate([self.expand_1x1(squeezed), self.expand_3x3(squeezed)], axis=-1)

    def compute_output_shape(self, input_shape):
        return (*input_shape[:3], self.expand_1x1_filters + self.expand_3x3_filters)

    def get_config(self):
        return {
            **super().get_config(),
            "squeeze_filters": self.squeeze_filters,
            "expand_1x1_filters": self.expand_1x1_filters,
            "expand_3x3_filters": self.expand_3x3_filters,
            "activation": keras.activations.serialize(self.activation),
            "kernel_initializer": keras.initializers.serialize(self.kernel_initializer),
            "kernel_regularizer": keras.regularizers.serialize(self.kernel_regularizer),
        }

    def _convolution(self, name: str, filters: int, kernel_size: int) -> keras.layers.Conv2D:
        return keras.layers.Conv2D(
            filters,
            kernel_size,
            padding="same",
            data_format="channels_last",
            activation=self.activation,
            kernel_initializer=fresh_initializer(self.kernel_initializer),
            kernel_regularizer=self.kernel_regularizer,
            dtype=self.dtype_policy,
            name=name,
        )
