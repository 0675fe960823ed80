"""Squeeze and excitation: weigh channels by what the whole map holds."""

import keras

from .arguments import input_rank, positive_integer, real
from .initializers import fresh_initializer


@keras.saving.register_keras_serializable(package="keras_canon")
class SqueezeExcite(keras.layers.Layer):
    r"""Scale each channel of a map by a gate computed from the means of all channels.

        (2)  z_c = mean over the map of u_c
        (3)  s = gate(W_2 g(W_1 z + b_1) + b_2)
        (4)  x_c = s_c u_c

    W_1 and W_2 are 1 x 1 convolutions on the 1 x 1 map z, so that their kernels have the layout of the published weights.
    Sub-layers are named `reduce` (W_1) and `expand` (W_2). The means are taken in float32 under a half-precision policy.

    Args:
        units: width of z after W_1; None takes channels // ratio, at least 1.
        ratio: the paper's reduction ratio r; used where `units` is None.
        activation: g; "relu" in the paper and in MobileNetV3, "swish" in EfficientNet.
        gate_activation: "sigmoid" in the paper and in EfficientNet, "hard_sigmoid" in MobileNetV3.
        kernel_initializer: of W_1 and W_2.
        kernel_regularizer: of W_1 and W_2.

    Input shape: (batch, height, width, channels). Output shape: the same.
    Image maps carry no mask, so none is taken.

    Raises:
        ValueError: `units` below 1, `ratio` below 1, an input without four axes.

    Reference: J. Hu, L. Shen, S. Albanie, G. Sun, E. Wu 2018, "Squeeze-and-Excitation Networks", section 3, arXiv:1709.01507.
    Hard sigmoid: A. Howard et al. 2019, "Searching for MobileNetV3", section 5.3, arXiv:1905.02244.

    Example:
        >>> import keras
        >>> from keras_canon.layers import SqueezeExcite
        >>> print(tuple(SqueezeExcite(ratio=4)(keras.ops.ones((1, 8, 8, 16))).shape))
        (1, 8, 8, 16)
    """

    def __init__(
        self,
        units=None,
        ratio=16,
        activation="relu",
        gate_activation="sigmoid",
        kernel_initializer="he_normal",
        kernel_regularizer=None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.units = None if units is None else positive_integer("units", units)
        self.ratio = real("ratio", ratio, 1.0)
        self.activation = keras.activations.get(activation)
        self.gate_activation = keras.activations.get(gate_activation)
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.kernel_regularizer = keras.regularizers.get(kernel_regularizer)

    def build(self, input_shape):
        input_rank(type(self).__name__, input_shape, 4, "(batch, height, width, channels)")
        # Both widths follow from the channels of the input, so the two convolutions can only be made here.
        channels = input_shape[-1]
        units = max(1, int(channels // self.ratio)) if self.units is None else self.units
        self.reduce = self._pointwise("reduce", units, self.activation)
        self.expand = self._pointwise("expand", channels, self.gate_activation)
        self.reduce.build((input_shape[0], 1, 1, channels))
        self.expand.build((input_shape[0], 1, 1, units))

    def call(self, inputs):
        means = keras.ops.mean(inputs, axis=(1, 2), keepdims=True)  # (B, 1, 1, C)
        return inputs * self.expand(self.reduce(means))

    def compute_output_shape(self, input_shape):
        return tuple(input_shape)

    def get_config(self):
        return {
            **super().get_config(),
            "units": self.units,
            "ratio": self.ratio,
            "activation": keras.activations.serialize(self.activation),
            "gate_activation": keras.activations.serialize(self.gate_activation),
            "kernel_initializer": keras.initializers.serialize(self.kernel_initializer),
            "kernel_regularizer": keras.regularizers.serialize(self.kernel_regularizer),
        }

    def _pointwise(self, name: str, filters: int, activation) -> keras.layers.Conv2D:
        return keras.layers.Conv2D(
            filters,
            1,
            data_format="channels_last",
            activation=activation,
            kernel_initializer=fresh_initializer(self.kernel_initializer),
            kernel_regularizer=self.kernel_regularizer,
            dtype=self.dtype_policy,
            name=name,
        )
