"""What the inception modules have in common (abstract): branches that run side by side and are concatenated."""

from typing import Any

import keras

from .arguments import input_rank, one_of
from .conv_norm_activation import ConvNormActivation
from .convolution_block import ConvolutionBlock
from .initializers import fresh_initializer
from .spatial_pooling import SpatialPooling2D


def _walk(branch, value, step, join):
    """Send `value` through the layers of a branch by `step`; a tuple in it forks, and `join` puts its branches together."""
    for part in branch:
        value = join([_walk(fork, value, step, join) for fork in part]) if isinstance(part, tuple) else step(part, value)
    return value


def _joined_shape(shapes):
    return (*shapes[0][:-1], sum(shape[-1] for shape in shapes))


class ParallelBranches(ConvolutionBlock):
    """Abstract y = [branch_1(x), ..., branch_n(x)], concatenated over channels.

    A module makes its layers as attributes in `__init__` and returns them from `branches`: a tuple of lists, where a tuple inside a
    list is a fork of its own. All convolutions run at padding "same" unless they say otherwise (at stride 1 and odd kernels
    that is the symmetric one too).

    Args:
        normalization: "batch", or None for convolutions with a bias and no normalisation.
        momentum, epsilon, activation, kernel_initializer, kernel_regularizer: as in `ConvolutionBlock`.
        gamma_initializer: as in `ConvNormActivation`.
    """

    def __init__(
        self,
        normalization,
        momentum,
        epsilon,
        activation,
        kernel_initializer,
        kernel_regularizer,
        gamma_initializer: Any = "ones",
        **kwargs,
    ):
        super().__init__("same", momentum, epsilon, activation, kernel_initializer, kernel_regularizer, **kwargs)
        self.normalization = one_of("normalization", normalization, ("batch", None))
        self.gamma_initializer = keras.initializers.get(gamma_initializer)

    def convolution(self, name: str, filters: int, kernel_size, strides=1, padding="same") -> ConvNormActivation:
        """Return a convolution unit of this module."""
        arguments = {**self.unit_arguments(self.activation), "padding": padding, "normalization": self.normalization}
        gamma = fresh_initializer(self.gamma_initializer)
        return ConvNormActivation(filters, kernel_size, strides=strides, gamma_initializer=gamma, name=name, **arguments)

    def pooling(self, method: str, strides: int = 1, padding: str = "symmetric", count_padding: bool = False) -> SpatialPooling2D:
        """Return a 3 x 3 pooling of this module."""
        return SpatialPooling2D(method, 3, strides, padding, count_padding=count_padding, dtype=self.dtype_policy, name="pool")

    def branches(self) -> tuple:
        """Return the branches, each a list of layers."""
        raise TypeError(f"{type(self).__name__} has no branches of its own.")

    def build(self, input_shape):
        input_rank(type(self).__name__, input_shape, 4, "(batch, height, width, channels)")

        def step(layer, shape):
            layer.build(shape)
            return layer.compute_output_shape(shape)

        _walk([self.branches()], tuple(input_shape), step, _joined_shape)

    def call(self, inputs, training=None):
        def step(layer, value):
            return layer(value, training=training)

        def join(values):
            return keras.ops.concatenate(values, axis=-1)

        return _walk([self.branches()], inputs, step, join)

    def compute_output_shape(self, input_shape):
        def step(layer, shape):
            return layer.compute_output_shape(shape)

        return _walk([self.branches()], tuple(input_shape), step, _joined_shape)

    def get_config(self):
        gamma = keras.initializers.serialize(self.gamma_initializer)
        config = {**super().get_config(), "normalization": self.normalization, "gamma_initializer": gamma}
        config.pop("padding")
        return config
