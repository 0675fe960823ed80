"""What the four residual blocks have in common (abstract): the shortcut, the sum, stochastic depth."""

import keras

from .arguments import input_rank, integers, one_of, positive_integer, rate
from .conv_norm_activation import ConvNormActivation
from .convolution_block import ConvolutionBlock, build_in_turn
from .stochastic_depth import StochasticDepth

SHORTCUTS = ("identity", "projection", "zero_padding")


class ResidualBase(ConvolutionBlock):
    """Abstract y = shortcut(x) + F(x), with an activation after the sum, or a normalisation and an activation before F.

    A block that activates before the convolutions says so by `activates_first` and sets `self.normalization`, unless its input
    comes activated. Each block calls `set_shortcut`, and returns the layers of F from `branch`.
    """

    activates_first = False

    def __init__(self, filters, strides, shortcut, dilation_rate, stochastic_depth, *shared, **kwargs):
        super().__init__(*shared, **kwargs)
        self.filters = positive_integer("filters", filters)
        self.strides = integers("strides", strides, 2)
        self.shortcut = one_of("shortcut", shortcut, SHORTCUTS)
        self.dilation_rate = integers("dilation_rate", dilation_rate, 2)
        if max(self.strides) > 1 and max(self.dilation_rate) > 1:
            raise ValueError(
                f"strides and dilation_rate must not both be above 1, got strides={self.strides} and dilation_rate={self.dilation_rate}."
            )
        if self.shortcut == "identity" and max(self.strides) > 1:
            raise ValueError(f'strides must be 1 with shortcut="identity", got {self.strides}; use "projection" or "zero_padding".')
        stochastic_depth = rate("stochastic_depth", stochastic_depth)
        self.branch_dropout = StochasticDepth(stochastic_depth, dtype=self.dtype_policy, name="stochastic_depth")
        self.normalization = None
        self.projection = None

    def set_shortcut(self, channels: int, use_bias: bool = False) -> None:
        """Set the number of output channels, and make the projection to it where one was asked for."""
        self.output_channels = channels
        if self.shortcut == "projection":
            # Activated before F, the projection is a bare convolution, as the convolutions of F are.
            normalization = None if self.activates_first else "batch"
            self.projection = ConvNormActivation(
                channels,
                1,
                strides=self.strides,
                normalization=normalization,
                use_bias=use_bias,
                name="projection",
                **self.unit_arguments(),
            )

    def branch(self) -> list[keras.layers.Layer]:
        """Return the layers of F in their order."""
        raise TypeError(f"{type(self).__name__} has no branch of its own.")

    def build(self, input_shape):
        input_rank(type(self).__name__, input_shape, 4, "(batch, height, width, channels)")
        channels = input_shape[-1]
        if self.shortcut == "identity" and channels != self.output_channels:
            raise ValueError(
                f'{type(self).__name__} with shortcut="identity" needs {self.output_channels} input channels, got {channels}; '
                'use "projection" or "zero_padding".'
            )
        if self.shortcut == "zero_padding" and channels > self.output_channels:
            raise ValueError(
                f'{type(self).__name__} with shortcut="zero_padding" needs at most {self.output_channels} input channels, got {channels}.'
            )
        for layer in (self.normalization, self.projection):
            if layer is not None:
                layer.build(input_shape)
        self.branch_dropout.build(build_in_turn(self.branch(), input_shape))

    def call(self, inputs, training=None):
        outputs, kept = inputs, inputs
        if self.normalization is not None:
            outputs = self.activation(self.normalization(inputs, training=training))
        if self.projection is not None:
            kept = self.projection(outputs, training=training)
        elif self.shortcut == "zero_padding":
            kept = inputs[:, :: self.strides[0], :: self.strides[1]]
            kept = keras.ops.pad(kept, [(0, 0), (0, 0), (0, 0), (0, self.output_channels - inputs.shape[-1])])
        for layer in self.branch():
            outputs = layer(outputs, training=training)
        outputs = keras.ops.add(kept, self.branch_dropout(outputs, training=training))
        return outputs if self.activates_first else self.activation(outputs)

    def compute_output_shape(self, input_shape):
        sizes = [None if size is None else -(-size // stride) for size, stride in zip(input_shape[1:3], self.strides, strict=True)]
        return (input_shape[0], *sizes, self.output_channels)

    def get_config(self):
        return {
            **super().get_config(),
            "filters": self.filters,
            "strides": list(self.strides),
            "shortcut": self.shortcut,
            "dilation_rate": list(self.dilation_rate),
            "stochastic_depth": self.branch_dropout.rate,
        }
