"""GoogLeNet's auxiliary classifier."""

import math

import keras

from .adaptive_pooling import AdaptiveAveragePooling2D
from .arguments import input_rank, one_of, positive_integer
from .arguments import rate as checked_rate
from .conv_norm_activation import ConvNormActivation
from .convolution_block import ConvolutionBlock
from .initializers import fresh_initializer
from .spatial_pooling import SpatialPooling2D


@keras.saving.register_keras_serializable(package="keras_canon")
class AuxiliaryHead(ConvolutionBlock):
    r"""Classifier on an intermediate map, whose loss joins the main one in training with a weight of 0.3.

        (1)  y = W_l dropout(g(W_h flatten(g(W_1 * avgpool(x)))))

    biases left out in the equation. Sub-layers are named `convolution` (W_1, 1 x 1), `hidden` (W_h) and `logits` (W_l).

    Args:
        units: number of classes; the outputs are logits.
        pooling: "average" (5 x 5 windows at stride 3, as in the paper: 14 x 14 gives 4 x 4) or "adaptive" (4 x 4 windows for any
            input size: torchvision's).
        filters: channels of W_1.
        hidden_units: width of W_h.
        dropout: share of the hidden units that is dropped in training.
        normalization: None, or "batch" after W_1 (torchvision's).
        momentum: share of the old moving statistics that batch normalisation keeps.
        epsilon: added to the variance.
        activation: g.
        kernel_initializer: of every kernel.
        kernel_regularizer: of every kernel.

    Input shape: (batch, height, width, channels); height and width known, at least 5, with "average".
    Output shape: (batch, units).
    Image maps carry no mask, so none is taken.

    Raises:
        ValueError: an argument out of range; an input without four axes; with "average", unknown sizes or sizes under 5.

    Reference: C. Szegedy et al. 2014, "Going Deeper with Convolutions", section 5, arXiv:1409.4842.

    Example:
        >>> import keras
        >>> from keras_canon.layers import AuxiliaryHead
        >>> print(tuple(AuxiliaryHead(10)(keras.ops.ones((1, 14, 14, 8))).shape))
        (1, 10)
    """

    def __init__(
        self,
        units,
        pooling="average",
        filters=128,
        hidden_units=1024,
        dropout=0.7,
        normalization=None,
        momentum=0.9,
        epsilon=1e-3,
        activation="relu",
        kernel_initializer="he_normal",
        kernel_regularizer=None,
        **kwargs,
    ):
        super().__init__("same", momentum, epsilon, activation, kernel_initializer, kernel_regularizer, **kwargs)
        self.units = positive_integer("units", units)
        self.pooling = one_of("pooling", pooling, ("average", "adaptive"))
        self.filters = positive_integer("filters", filters)
        self.hidden_units = positive_integer("hidden_units", hidden_units)
        self.dropout = checked_rate("dropout", dropout)
        self.normalization = one_of("normalization", normalization, ("batch", None))
        policy = self.dtype_policy
        if self.pooling == "average":
            self.pool = SpatialPooling2D("average", 5, 3, dtype=policy, name="pool")
        else:
            self.pool = AdaptiveAveragePooling2D(4, dtype=policy, name="pool")
        self.convolution = ConvNormActivation(
            self.filters, 1, normalization=self.normalization, name="convolution", **self.unit_arguments(self.activation)
        )
        self.hidden = self._dense("hidden", self.hidden_units, self.activation)
        self.hidden_dropout = keras.layers.Dropout(self.dropout, dtype=policy, name="dropout")
        self.logits = self._dense("logits", self.units, None)

    def build(self, input_shape):
        input_rank(type(self).__name__, input_shape, 4, "(batch, height, width, channels)")
        if self.pooling == "average" and None in tuple(input_shape)[1:3]:
            raise ValueError(f'AuxiliaryHead with pooling="average" needs a known height and width, got {tuple(input_shape)}.')
        self.pool.build(input_shape)
        pooled = self.pool.compute_output_shape(input_shape)
        self.convolution.build(pooled)
        self.hidden.build((input_shape[0], math.prod(pooled[1:3]) * self.filters))
        self.hidden_dropout.build((input_shape[0], self.hidden_units))
        self.logits.build((input_shape[0], self.hidden_units))

    def call(self, inputs, training=None):
        outputs = self.convolution(self.pool(inputs), training=training)
        flat = math.prod(outputs.shape[1:])
        outputs = self.hidden(keras.ops.reshape(outputs, (keras.ops.shape(outputs)[0], flat)))
        return self.logits(self.hidden_dropout(outputs, training=training))

    def compute_output_shape(self, input_shape):
        return (input_shape[0], self.units)

    def get_config(self):
        config = {
            **super().get_config(),
            "units": self.units,
            "pooling": self.pooling,
            "filters": self.filters,
            "hidden_units": self.hidden_units,
            "dropout": self.dropout,
            "normalization": self.normalization,
        }
        config.pop("padding")
        return config

    def _dense(self, name: str, units: int, activation) -> keras.layers.Dense:
        return keras.layers.Dense(
            units,
            activation=activation,
            kernel_initializer=fresh_initializer(self.kernel_initializer),
            kernel_regularizer=self.kernel_regularizer,
            dtype=self.dtype_policy,
            name=name,
        )
