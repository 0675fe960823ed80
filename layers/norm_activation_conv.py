"""Normalisation, activation, convolution: the composite function of densely connected networks."""

from typing import Any

import keras

from .arguments import positive_integer
from .arguments import rate as checked_rate
from .conv_norm_activation import ConvNormActivation
from .convolution_block import ConvolutionBlock, build_in_turn


@keras.saving.register_keras_serializable(package="keras_canon")
class NormActivationConv(ConvolutionBlock):
    r"""Batch normalisation, then activation, then convolution, then dropout.

        (1)  H(x) = W * g(BN(x))

    Sub-layers: `normalization` and `unit` (its weight is `unit/convolution/kernel`).

    Args:
        filters: number of output channels.
        kernel_size: one or two integers.
        dropout: rate after the convolution.
        padding: "same" (TensorFlow's) or "symmetric" (torch's). See `Window`.
        momentum: share of the old moving statistics that batch normalisation keeps.
        epsilon: added to the variance.
        activation: g.
        kernel_initializer: of W.
        kernel_regularizer: of W.

    Input shape: (batch, height, width, channels). Output shape: (batch, height, width, filters).
    Image maps carry no mask, so none is taken.

    Raises:
        ValueError: an argument out of range, or an input without four axes.

    Reference: G. Huang, Z. Liu, L. van der Maaten, K. Weinberger 2017, "Densely Connected Convolutional Networks", section 3
    (composite function), arXiv:1608.06993.

    Example:
        >>> import keras
        >>> from keras_canon.layers import NormActivationConv
        >>> print(tuple(NormActivationConv(12, 3)(keras.ops.ones((1, 8, 8, 4))).shape))
        (1, 8, 8, 12)
    """

    def __init__(
        self,
        filters,
        kernel_size,
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
        self.dropout = checked_rate("dropout", dropout)
        self.normalization = self.batch_normalization("normalization")
        self.unit = ConvNormActivation(filters, kernel_size, normalization=None, use_bias=False, name="unit", **self.unit_arguments())
        self.after = keras.layers.Dropout(self.dropout, dtype=self.dtype_policy, name="dropout")

    def build(self, input_shape):
        self.unit.window.check_input(type(self).__name__, input_shape)
        build_in_turn([self.normalization, self.unit, self.after], input_shape)

    def call(self, inputs, training=None):
        outputs = self.activation(self.normalization(inputs, training=training))
        return self.after(self.unit(outputs, training=training), training=training)

    def compute_output_shape(self, input_shape):
        return self.unit.compute_output_shape(input_shape)

    def get_config(self):
        kernel_size = list(self.unit.window.kernel_size)
        return {**super().get_config(), "filters": self.filters, "kernel_size": kernel_size, "dropout": self.dropout}
