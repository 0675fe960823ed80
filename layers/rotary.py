"""Rotary position embedding."""

import keras

from .arguments import one_of, real
from .step_positions import step_positions


@keras.saving.register_keras_serializable(package="keras_canon")
class RotaryEmbedding(keras.layers.Layer):
    """Turn pairs of features by an angle proportional to the position.

    (x_2i, x_2i+1) -> (x_2i cos m t_i - x_2i+1 sin m t_i,  x_2i+1 cos m t_i + x_2i sin m t_i),  t_i = base^(-2i / d)        (34)

    m is the position of a step. Applied to queries and keys, their product depends on the distance of the two only. Angles
    are computed in float32 under every policy.

    Args:
        base: 10000 in the paper.
        pairing: which features make a pair: "interleaved" (2i with 2i + 1, the paper) or "halves" (i with i + d / 2, the
            form of GPT-NeoX and of LLaMA as commonly converted).

    Call arguments:
        inputs: queries or keys.
        offset: position of the first step, an integer or a tensor (B,) with one for each row, for decoding with a cache.

    Input shape:
        (B, T, d) or (B, num_heads, T, d)

    Output shape:
        the input's.

    Raises:
        ValueError: `base` below 1; an unknown pairing; at build, an odd width or other than three or four axes.

    Reference:
        Su et al., 2021, "RoFormer: Enhanced Transformer with Rotary Position Embedding", section 3.4.2, equation 34,
        arXiv:2104.09864.

    Example:
        >>> import keras
        >>> from keras_canon.layers import RotaryEmbedding
        >>> print(RotaryEmbedding()(keras.ops.ones((2, 8, 5, 64))).shape)
        (2, 8, 5, 64)
    """

    def __init__(self, base=10000.0, pairing="interleaved", **kwargs):
        super().__init__(**kwargs)
        self.base = real("base", base, 1.0)
        self.pairing = one_of("pairing", pairing, ("interleaved", "halves"))
        self.supports_masking = True

    def build(self, input_shape):
        if len(input_shape) not in (3, 4):
            raise ValueError(f"RotaryEmbedding expects input of shape (batch, [num_heads,] steps, width), got {tuple(input_shape)}.")
        if input_shape[-1] is None or input_shape[-1] % 2:
            raise ValueError(f"RotaryEmbedding needs an even width to make pairs, got {input_shape[-1]}.")

    def call(self, inputs, offset=0):
        width, rank = inputs.shape[-1], len(inputs.shape)
        positions = keras.ops.cast(step_positions(keras.ops.shape(inputs)[-2], offset), "float32")
        if len(positions.shape) == 2 and rank == 4:
            positions = keras.ops.expand_dims(positions, 1)  # (B, 1, T)
        angles = keras.ops.expand_dims(positions, -1) * self.base ** (-keras.ops.arange(0, width, 2, dtype="float32") / width)
        cosine = keras.ops.cast(keras.ops.cos(angles), inputs.dtype)  # (..., T, d / 2)
        sine = keras.ops.cast(keras.ops.sin(angles), inputs.dtype)
        if self.pairing == "halves":
            first, second = inputs[..., : width // 2], inputs[..., width // 2 :]
            return keras.ops.concatenate([first * cosine - second * sine, second * cosine + first * sine], axis=-1)
        first, second = inputs[..., ::2], inputs[..., 1::2]
        turned = keras.ops.stack([first * cosine - second * sine, second * cosine + first * sine], axis=-1)
        return keras.ops.reshape(turned, keras.ops.shape(inputs))

    def compute_output_shape(self, input_shape):
        return tuple(input_shape)

    def get_config(self):
        return {**super().get_config(), "base": self.base, "pairing": self.pairing}
