"""What the blocks made of several convolution units have in common (abstract)."""

import keras

from .arguments import one_of, rate, real
from .initializers import fresh_initializer


def build_in_turn(layers, input_shape):
    """Build each layer with the shape that the one before it gives, and return the last shape."""
    for layer in layers:
        layer.build(input_shape)
        input_shape = layer.compute_output_shape(input_shape)
    return input_shape


class ConvolutionBlock(keras.layers.Layer):
    """Abstract block of convolution units: checks, stores and emits the arguments that all units of a block share.

    Args:
        padding: one of `paddings`, for every convolution in the block. See `Window`.
        momentum: share of the old moving statistics that batch normalisation keeps.
        epsilon: added to the variance in batch normalisation.
        activation: a Keras activation.
        kernel_initializer: of every kernel; each gets a clone of it.
        kernel_regularizer: of every kernel.
    """

    paddings = ("same", "symmetric")  # a block that sums or joins maps needs them of one size; others allow "valid" too

    def __init__(self, padding, momentum, epsilon, activation, kernel_initializer, kernel_regularizer, **kwargs):
        super().__init__(**kwargs)
        self.padding = one_of("padding", padding, self.paddings)
        self.momentum = rate("momentum", momentum)
        self.epsilon = real("epsilon", epsilon, 1e-12, 1.0)
        self.activation = keras.activations.get(activation)
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.kernel_regularizer = keras.regularizers.get(kernel_regularizer)

    def unit_arguments(self, activation=None) -> dict:
        """Return the arguments of a `ConvNormActivation` of this block, with an initialiser of its own."""
        return {
            "padding": self.padding,
            "momentum": self.momentum,
            "epsilon": self.epsilon,
            "activation": activation,
            "kernel_initializer": fresh_initializer(self.kernel_initializer),
            "kernel_regularizer": self.kernel_regularizer,
            "dtype": self.dtype_policy,
        }

    def batch_normalization(self, name: str) -> keras.layers.BatchNormalization:
        """Return a batch normalisation with the momentum and epsilon of this block."""
        return keras.layers.BatchNormalization(momentum=self.momentum, epsilon=self.epsilon, dtype=self.dtype_policy, name=name)

    def get_config(self):
        return {
            **super().get_config(),
            "padding": self.padding,
            "momentum": self.momentum,
            "epsilon": self.epsilon,
            "activation": keras.activations.serialize(self.activation),
            "kernel_initializer": keras.initializers.serialize(self.kernel_initializer),
            "kernel_regularizer": keras.regularizers.serialize(self.kernel_regularizer),
        }
