"""LeNet's sub-sampling layer: summing pooling with a trainable coefficient and bias per map."""

import math

import keras

from .activations import scaled_tanh
from .arguments import input_rank, integers
from .initializers import LeCunFanInUniform, fresh_initializer


@keras.saving.register_keras_serializable(package="keras_canon")
class TrainableSubsampling2D(keras.layers.Layer):
    """Sub-sample each map: add the inputs of a window, scale, shift, squash.

    y_c = f(w_c (sum over the window of x_c) + b_c)        (section II.B, layer S2)

    The windows do not overlap. One coefficient w_c and one bias b_c per map: 12 parameters for the 6 maps of S2, 32 for
    the 16 maps of S4. Images carry no time axis, so the layer takes no mask.

    Args:
        pool_size: height and width of the window; one integer for both (2 in the paper).
        activation: squashing function f.
        coefficient_initializer: initialiser of w_c. None is the paper's rule: uniform in [-2.4 / F, 2.4 / F], where F is
            the number of inputs in a window.
        bias_initializer: initialiser of b_c.

    Input shape:
        (batch, height, width, channels)

    Output shape:
        (batch, height // pool_size[0], width // pool_size[1], channels); rows and columns that fill no window are left out.

    Raises:
        ValueError: a `pool_size` below 1; an input that has not 4 axes, no known channels, or a side under the window.

    Reference:
        LeCun, Bottou, Bengio, Haffner, 1998, "Gradient-Based Learning Applied to Document Recognition", section II.B,
        doi:10.1109/5.726791.

    Example:
        >>> import keras
        >>> from keras_canon.layers import TrainableSubsampling2D
        >>> print(tuple(TrainableSubsampling2D()(keras.ops.ones((1, 28, 28, 6))).shape))
        (1, 14, 14, 6)
    """

    def __init__(self, pool_size=2, activation=scaled_tanh, coefficient_initializer=None, bias_initializer="zeros", **kwargs):
        super().__init__(**kwargs)
        self.pool_size = integers("pool_size", pool_size, 2)
        self.activation = keras.activations.get(activation)
        self.coefficient_initializer = keras.initializers.get(coefficient_initializer)
        self.bias_initializer = keras.initializers.get(bias_initializer)

    def build(self, input_shape):
        input_rank(type(self).__name__, input_shape, 4, "(batch, height, width, channels)")
        for side, window in zip(input_shape[1:3], self.pool_size, strict=True):
            if side is not None and side < window:
                raise ValueError(
                    f"pool_size must be at most the height and width of the input, got {self.pool_size} for input {tuple(input_shape)}."
                )
        channels = input_shape[-1]
        self.coefficient = self.add_weight(
            name="coefficient",
            shape=(channels,),
            initializer=fresh_initializer(self.coefficient_initializer) or LeCunFanInUniform(fan_in=math.prod(self.pool_size)),
        )
        self.bias = self.add_weight(name="bias", shape=(channels,), initializer=self.bias_initializer)

    def call(self, inputs):
        average = keras.ops.average_pool(inputs, self.pool_size, strides=self.pool_size, padding="valid", data_format="channels_last")
        return self.activation(average * (self.coefficient * math.prod(self.pool_size)) + self.bias)

    def compute_output_shape(self, input_shape):
        batch, *sides, channels = input_shape
        sides = [None if side is None else side // window for side, window in zip(sides, self.pool_size, strict=True)]
        return (batch, *sides, channels)

    def get_config(self):
        return {
            **super().get_config(),
            "pool_size": list(self.pool_size),
            "activation": keras.activations.serialize(self.activation),
            "coefficient_initializer": keras.initializers.serialize(self.coefficient_initializer) if self.coefficient_initializer else None,
            "bias_initializer": keras.initializers.serialize(self.bias_initializer),
        }
