"""Highway layers, dense and convolutional: a gate chooses, unit by unit, between a transform and the input itself."""

from typing import Any

import keras

from .arguments import input_rank, integers, positive_integer, real
from .initializers import fresh_initializer


class _Highway(keras.layers.Layer):
    """Abstract: the two layers `plain` and `transform_gate`, which a subclass makes, and what becomes of their outputs."""

    plain: keras.layers.Layer
    transform_gate: keras.layers.Layer

    def __init__(self, activation, transform_bias, kernel_initializer, kernel_regularizer, **kwargs):
        super().__init__(**kwargs)
        self.activation = keras.activations.get(activation)
        self.transform_bias = real("transform_bias", transform_bias)
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.kernel_regularizer = keras.regularizers.get(kernel_regularizer)

    def arguments_of(self, name: str) -> dict:
        """Return the arguments of the layer of this name, with an initialiser of its own."""
        gate = name == "transform_gate"
        return {
            "activation": "sigmoid" if gate else self.activation,
            "kernel_initializer": fresh_initializer(self.kernel_initializer),
            "bias_initializer": keras.initializers.Constant(self.transform_bias) if gate else "zeros",
            "kernel_regularizer": self.kernel_regularizer,
            "dtype": self.dtype_policy,
            "name": name,
        }

    def call(self, inputs):
        # x + T (H - x) is H T + x (1 - T) with one product less.
        change = keras.ops.subtract(self.plain(inputs), inputs)
        return keras.ops.add(inputs, keras.ops.multiply(self.transform_gate(inputs), change))

    def compute_output_shape(self, input_shape):
        return input_shape

    def get_config(self):
        return {
            **super().get_config(),
            "activation": keras.activations.serialize(self.activation),
            "transform_bias": self.transform_bias,
            "kernel_initializer": keras.initializers.serialize(self.kernel_initializer),
            "kernel_regularizer": keras.regularizers.serialize(self.kernel_regularizer),
        }


@keras.saving.register_keras_serializable(package="keras_canon")
class HighwayDense(_Highway):
    r"""Dense layer with a gate between its output and its input.

        (3)  y = H(x, W_H) T(x, W_T) + x (1 - T(x, W_T))
             H = g(W_H^T x + b_H),    T = sigmoid(W_T^T x + b_T)

    Sub-layers: `plain` (H) and `transform_gate` (T). The carry gate C of equation 2 is 1 - T.

    Args:
        units: width of the layer, which must be that of its input.
        activation: g.
        transform_bias: initial value of b_T; negative, so that a deep stack starts by carrying its input (section 2.2: -1 to -3).
        kernel_initializer: of W_H and W_T.
        kernel_regularizer: of W_H and W_T.

    Input shape: (batch, ..., units). Output shape: the same.
    A mask passes through unchanged.

    Raises:
        ValueError: an argument out of range, or an input of another width.

    Reference: R. Srivastava, K. Greff, J. Schmidhuber 2015, "Highway Networks", equations 2 and 3, section 2.2, arXiv:1505.00387.

    Example:
        >>> import keras
        >>> from keras_canon.layers import HighwayDense
        >>> print(tuple(HighwayDense(16)(keras.ops.ones((2, 16))).shape))
        (2, 16)
    """

    def __init__(
        self,
        units,
        activation: Any = "relu",
        transform_bias=-2.0,
        kernel_initializer: Any = "glorot_uniform",
        kernel_regularizer: Any = None,
        **kwargs,
    ):
        super().__init__(activation, transform_bias, kernel_initializer, kernel_regularizer, **kwargs)
        self.units = positive_integer("units", units)
        self.supports_masking = True
        self.plain = keras.layers.Dense(self.units, **self.arguments_of("plain"))
        self.transform_gate = keras.layers.Dense(self.units, **self.arguments_of("transform_gate"))

    def build(self, input_shape):
        if len(input_shape) < 2 or input_shape[-1] != self.units:
            raise ValueError(f"HighwayDense needs an input of shape (batch, ..., units) with units={self.units}, got {tuple(input_shape)}.")
        self.plain.build(input_shape)
        self.transform_gate.build(input_shape)

    def get_config(self):
        return {**super().get_config(), "units": self.units}


@keras.saving.register_keras_serializable(package="keras_canon")
class HighwayConv2D(_Highway):
    r"""Convolution with a gate between its output and its input.

        (3)  y = H(x, W_H) T(x, W_T) + x (1 - T(x, W_T))
             H = g(W_H * x + b_H),    T = sigmoid(W_T * x + b_T)

    Stride 1 and padding "same", as the sum needs one shape (section 2.1). Sub-layers: `plain` (H) and `transform_gate` (T).

    Args:
        filters: channels of the layer, which must be those of its input.
        kernel_size: of both convolutions, one or two integers.
        activation: g.
        transform_bias: initial value of b_T; negative, so that a deep stack starts by carrying its input (section 2.2: -1 to -3).
        kernel_initializer: of W_H and W_T.
        kernel_regularizer: of W_H and W_T.

    Input shape: (batch, height, width, filters). Output shape: the same.
    Image maps carry no mask, so none is taken.

    Raises:
        ValueError: an argument out of range; an input without four axes or with other channels.

    Reference: R. Srivastava, K. Greff, J. Schmidhuber 2015, "Highway Networks", equations 2 and 3, section 2, arXiv:1505.00387.

    Example:
        >>> import keras
        >>> from keras_canon.layers import HighwayConv2D
        >>> print(tuple(HighwayConv2D(4, 3)(keras.ops.ones((2, 8, 8, 4))).shape))
        (2, 8, 8, 4)
    """

    def __init__(
        self,
        filters,
        kernel_size,
        activation: Any = "relu",
        transform_bias=-2.0,
        kernel_initializer: Any = "glorot_uniform",
        kernel_regularizer: Any = None,
        **kwargs,
    ):
        super().__init__(activation, transform_bias, kernel_initializer, kernel_regularizer, **kwargs)
        self.filters = positive_integer("filters", filters)
        self.kernel_size = integers("kernel_size", kernel_size, 2)
        window = {"padding": "same", "data_format": "channels_last"}
        self.plain = keras.layers.Conv2D(self.filters, self.kernel_size, **window, **self.arguments_of("plain"))
        self.transform_gate = keras.layers.Conv2D(self.filters, self.kernel_size, **window, **self.arguments_of("transform_gate"))

    def build(self, input_shape):
        input_rank("HighwayConv2D", input_shape, 4, "(batch, height, width, channels)")
        if input_shape[-1] != self.filters:
            raise ValueError(f"HighwayConv2D needs as many input channels as filters={self.filters}, got {input_shape[-1]}.")
        self.plain.build(input_shape)
        self.transform_gate.build(input_shape)

    def get_config(self):
        return {**super().get_config(), "filters": self.filters, "kernel_size": list(self.kernel_size)}
