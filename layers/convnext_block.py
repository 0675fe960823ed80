"""The ConvNeXt block."""

import keras

from .arguments import input_rank, integers, positive_integer, real
from .convolution_block import build_in_turn
from .initializers import fresh_initializer
from .stochastic_depth import StochasticDepth


@keras.saving.register_keras_serializable(package="keras_canon")
class ConvNeXtBlock(keras.layers.Layer):
    r"""Depthwise 7 x 7 convolution, layer normalisation and a two-layer perceptron over channels, around a shortcut.

        (1)  y = x + lambda * (W_2 g(W_1 LN(D * x)))

    lambda is one trainable factor a channel (layer scale). Sub-layers are named `depthwise` (D), `normalization`, `expand` (W_1)
    and `contract` (W_2); the factors are the weight `layer_scale`.

    Args:
        filters: channels of input and output.
        expansion: channels between W_1 and W_2 over `filters`.
        kernel_size: of D, one or two integers.
        layer_scale: lambda at the start; None leaves it out.
        stochastic_depth: probability that the branch is dropped for a sample while training.
        epsilon: added to the variance in layer normalisation.
        activation: g; Keras's "gelu" is the exact one.
        kernel_initializer: of every kernel; None is the paper's rule, normal with deviation 0.02, truncated.
        kernel_regularizer: of every kernel.

    Input shape: (batch, height, width, filters). Output shape: the same.
    Image maps carry no mask, so none is taken.

    Raises:
        ValueError: an argument out of range; an input without four axes or whose channels are not `filters`.

    Reference: Z. Liu, H. Mao, C.-Y. Wu, C. Feichtenhofer, T. Darrell, S. Xie 2022, "A ConvNet for the 2020s", figure 4,
    appendix A.1, arXiv:2201.03545. Layer scale: H. Touvron et al. 2021, arXiv:2103.17239, equation 4.

    Example:
        >>> import keras
        >>> from keras_canon.layers import ConvNeXtBlock
        >>> print(tuple(ConvNeXtBlock(16)(keras.ops.ones((1, 8, 8, 16))).shape))
        (1, 8, 8, 16)
    """

    def __init__(
        self,
        filters,
        expansion=4,
        kernel_size=7,
        layer_scale: float | None = 1e-6,
        stochastic_depth=0.0,
        epsilon=1e-6,
        activation="gelu",
        kernel_initializer=None,
        kernel_regularizer=None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.filters = positive_integer("filters", filters)
        self.expansion = positive_integer("expansion", expansion)
        self.kernel_size = integers("kernel_size", kernel_size, 2)
        self.layer_scale = None if layer_scale is None else real("layer_scale", layer_scale)
        self.epsilon = real("epsilon", epsilon, 0.0)
        self.activation = keras.activations.get(activation)
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.kernel_regularizer = keras.regularizers.get(kernel_regularizer)
        self.depthwise = keras.layers.DepthwiseConv2D(
            self.kernel_size,
            padding="same",
            data_format="channels_last",
            depthwise_initializer=self._kernel_initializer(),
            depthwise_regularizer=self.kernel_regularizer,
            dtype=self.dtype_policy,
            name="depthwise",
        )
        self.normalization = keras.layers.LayerNormalization(epsilon=self.epsilon, dtype=self.dtype_policy, name="normalization")
        self.expand = self._dense("expand", self.filters * self.expansion, self.activation)
        self.contract = self._dense("contract", self.filters, None)
        self.branch_dropout = StochasticDepth(stochastic_depth, dtype=self.dtype_policy, name="stochastic_depth")
        self.scale = None

    def build(self, input_shape):
        input_rank(type(self).__name__, input_shape, 4, "(batch, height, width, channels)")
        if input_shape[-1] != self.filters:
            raise ValueError(f"ConvNeXtBlock with filters={self.filters} needs as many input channels, got {tuple(input_shape)}.")
        build_in_turn((self.depthwise, self.normalization, self.expand, self.contract, self.branch_dropout), input_shape)
        if self.layer_scale is not None:
            start = keras.initializers.Constant(self.layer_scale)
            self.scale = self.add_weight(name="layer_scale", shape=(self.filters,), initializer=start)

    def call(self, inputs, training=None):
        outputs = self.contract(self.expand(self.normalization(self.depthwise(inputs))))
        if self.scale is not None:
            outputs = outputs * self.scale
        return keras.ops.add(inputs, self.branch_dropout(outputs, training=training))

    def compute_output_shape(self, input_shape):
        return tuple(input_shape)

    def get_config(self):
        return {
            **super().get_config(),
            "filters": self.filters,
            "expansion": self.expansion,
            "kernel_size": list(self.kernel_size),
            "layer_scale": self.layer_scale,
            "stochastic_depth": self.branch_dropout.rate,
            "epsilon": self.epsilon,
            "activation": keras.activations.serialize(self.activation),
            "kernel_initializer": keras.initializers.serialize(self.kernel_initializer),
            "kernel_regularizer": keras.regularizers.serialize(self.kernel_regularizer),
        }

    def _kernel_initializer(self):
        if self.kernel_initializer is None:
            return keras.initializers.TruncatedNormal(stddev=0.02)
        return fresh_initializer(self.kernel_initializer)

    def _dense(self, name: str, units: int, activation) -> keras.layers.Dense:
        return keras.layers.Dense(
            units,
            activation=activation,
            kernel_initializer=self._kernel_initializer(),
            kernel_regularizer=self.kernel_regularizer,
            dtype=self.dtype_policy,
            name=name,
        )
