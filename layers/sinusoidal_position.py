"""Sinusoidal position encoding."""

import keras

from .arguments import input_rank, real
from .step_positions import step_positions


@keras.saving.register_keras_serializable(package="keras_canon")
class SinusoidalPositionEncoding(keras.layers.Layer):
    """Add sines and cosines of the position to the features of each step.

    PE(pos, 2i) = sin(pos / 10000^(2i / d_model)),  PE(pos, 2i + 1) = cos(pos / 10000^(2i / d_model))        (section 3.5)

    Nothing is learned and no length is fixed. With an odd d_model the last feature is a sine. The encoding is computed in
    float32 under every policy. Where embeddings are scaled by sqrt(d_model), as in the paper, that comes before this layer
    (`TokenEmbedding(scale=True)`).

    Args:
        base: 10000 in the paper.

    Call arguments:
        inputs: the features of each step.
        offset: position of the first step, an integer or a tensor (B,) with one for each row, for decoding with a cache.

    Input shape:
        (B, T, d_model)

    Output shape:
        (B, T, d_model)

    Raises:
        ValueError: `base` below 1; at build, an input that has not three axes or no known width.

    Reference:
        Vaswani et al., 2017, "Attention Is All You Need", section 3.5, arXiv:1706.03762.

    Example:
        >>> import keras
        >>> from keras_canon.layers import SinusoidalPositionEncoding
        >>> print(SinusoidalPositionEncoding()(keras.ops.zeros((1, 2, 4)))[0, 0].numpy().tolist())
        [0.0, 1.0, 0.0, 1.0]
    """

    def __init__(self, base=10000.0, **kwargs):
        super().__init__(**kwargs)
        self.base = real("base", base, 1.0)
        self.supports_masking = True

    def build(self, input_shape):
        input_rank("SinusoidalPositionEncoding", input_shape, 3, "(batch, steps, width)")

    def call(self, inputs, offset=0):
        width = inputs.shape[-1]
        positions = keras.ops.cast(step_positions(keras.ops.shape(inputs)[1], offset), "float32")
        frequencies = self.base ** (-keras.ops.arange(0, width, 2, dtype="float32") / width)
        angles = keras.ops.expand_dims(positions, -1) * frequencies  # (T, ceil(d / 2)), or (B, T, ceil(d / 2))
        pairs = keras.ops.stack([keras.ops.sin(angles), keras.ops.cos(angles)], axis=-1)
        shape = keras.ops.shape(pairs)
        encoding = keras.ops.reshape(pairs, (*shape[:-2], shape[-2] * 2))[..., :width]
        return inputs + keras.ops.cast(encoding, inputs.dtype)

    def compute_output_shape(self, input_shape):
        return tuple(input_shape)

    def get_config(self):
        return {**super().get_config(), "base": self.base}
