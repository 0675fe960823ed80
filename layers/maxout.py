"""Maxout: each unit is the largest of several affine pieces, dense and convolutional."""

from typing import Any

import keras

from .arguments import positive_integer
from .conv_norm_activation import ConvNormActivation
from .initializers import fresh_initializer
from .window import Pair, Window


class _Maxout(keras.layers.Layer):
    """Abstract: number of pieces, their affine layer `pieces` with units * num_pieces outputs, and the maximum over them."""

    pieces: keras.layers.Layer

    def __init__(self, num_pieces, kernel_initializer, kernel_regularizer, **kwargs):
        super().__init__(**kwargs)
        self.num_pieces = positive_integer("num_pieces", num_pieces)
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.kernel_regularizer = keras.regularizers.get(kernel_regularizer)

    def call(self, inputs):
        outputs = self.pieces(inputs)
        # (..., units * num_pieces) -> (..., units, num_pieces)
        sizes = (*keras.ops.shape(outputs)[:-1], outputs.shape[-1] // self.num_pieces, self.num_pieces)
        return keras.ops.max(keras.ops.reshape(outputs, sizes), axis=-1)

    def get_config(self):
        return {
            **super().get_config(),
            "num_pieces": self.num_pieces,
            "kernel_initializer": keras.initializers.serialize(self.kernel_initializer),
            "kernel_regularizer": keras.regularizers.serialize(self.kernel_regularizer),
        }


@keras.saving.register_keras_serializable(package="keras_canon")
class MaxoutDense(_Maxout):
    r"""Dense layer whose units are the largest of k affine functions.

        (1)  h_i(x) = max_{j in [1, k]} z_ij,    z_ij = x^T W_{..ij} + b_ij

    The sub-layer `pieces` is a Dense layer of units * num_pieces columns; column i * k + j is piece j of unit i.

    Args:
        units: m, number of units.
        num_pieces: k, pieces a unit.
        kernel_initializer: of W.
        kernel_regularizer: of W.

    Input shape: (batch, ..., d). Output shape: (batch, ..., units).
    A mask passes through unchanged.

    Raises:
        ValueError: an argument out of range, or an input without a known last axis.

    Reference: I. Goodfellow, D. Warde-Farley, M. Mirza, A. Courville, Y. Bengio 2013, "Maxout Networks", section 3,
    arXiv:1302.4389.

    Example:
        >>> import keras
        >>> from keras_canon.layers import MaxoutDense
        >>> print(tuple(MaxoutDense(10, num_pieces=5)(keras.ops.ones((2, 16))).shape))
        (2, 10)
    """

    def __init__(self, units, num_pieces=2, kernel_initializer: Any = "glorot_uniform", kernel_regularizer: Any = None, **kwargs):
        super().__init__(num_pieces, kernel_initializer, kernel_regularizer, **kwargs)
        self.units = positive_integer("units", units)
        self.supports_masking = True
        self.pieces = keras.layers.Dense(
            self.units * self.num_pieces,
            kernel_initializer=fresh_initializer(self.kernel_initializer),
            kernel_regularizer=self.kernel_regularizer,
            dtype=self.dtype_policy,
            name="pieces",
        )

    def build(self, input_shape):
        if len(input_shape) < 2 or input_shape[-1] is None:
            raise ValueError(f"MaxoutDense needs an input of shape (batch, ..., d) with d known, got {tuple(input_shape)}.")
        self.pieces.build(input_shape)

    def compute_output_shape(self, input_shape):
        return (*input_shape[:-1], self.units)

    def get_config(self):
        return {**super().get_config(), "units": self.units}


@keras.saving.register_keras_serializable(package="keras_canon")
class MaxoutConv2D(_Maxout):
    r"""Convolution whose feature maps are the pixelwise maximum of k affine maps.

        (1)  h_i(x) = max_{j in [1, k]} z_ij,    z_ij = W_ij * x + b_ij

    The sub-layer `pieces` is a convolution to filters * num_pieces maps; map i * k + j is piece j of map i.

    Args:
        filters: number of output maps.
        kernel_size: one or two integers.
        num_pieces: k, pieces a map (2 in the thin networks of FitNets).
        strides: one or two integers; not above 1 together with a dilation.
        padding: "same" (TensorFlow's), "valid" or "symmetric" (torch's). See `Window`.
        dilation_rate: one or two integers.
        kernel_initializer: of W.
        kernel_regularizer: of W.

    Input shape: (batch, height, width, channels). Output shape: (batch, new_height, new_width, filters).
    Image maps carry no mask, so none is taken.

    Raises:
        ValueError: an argument out of range; strides and dilation_rate both above 1; an input without four axes, or smaller than
            an unpadded kernel.

    Reference: I. Goodfellow et al. 2013, "Maxout Networks", section 3, arXiv:1302.4389. A. Romero et al. 2015, "FitNets", section
    3.1, arXiv:1412.6550.

    Example:
        >>> import keras
        >>> from keras_canon.layers import MaxoutConv2D
        >>> print(tuple(MaxoutConv2D(16, 3)(keras.ops.ones((2, 8, 8, 3))).shape))
        (2, 8, 8, 16)
    """

    def __init__(
        self,
        filters,
        kernel_size,
        num_pieces=2,
        strides: Pair = 1,
        padding="same",
        dilation_rate: Pair = 1,
        kernel_initializer: Any = "glorot_uniform",
        kernel_regularizer: Any = None,
        **kwargs,
    ):
        super().__init__(num_pieces, kernel_initializer, kernel_regularizer, **kwargs)
        self.filters = positive_integer("filters", filters)
        self.window = Window.of(kernel_size, strides, padding, dilation_rate)
        self.pieces = ConvNormActivation(
            self.filters * self.num_pieces,
            self.window.kernel_size,
            strides=self.window.strides,
            padding=self.window.padding,
            dilation_rate=self.window.dilation_rate,
            normalization=None,
            activation=None,
            kernel_initializer=fresh_initializer(self.kernel_initializer),
            kernel_regularizer=self.kernel_regularizer,
            dtype=self.dtype_policy,
            name="pieces",
        )

    def build(self, input_shape):
        self.window.check_input("MaxoutConv2D", input_shape)
        self.pieces.build(input_shape)

    def compute_output_shape(self, input_shape):
        return self.window.output_shape(input_shape, self.filters)

    def get_config(self):
        return {**super().get_config(), **self.window.config(), "filters": self.filters}
