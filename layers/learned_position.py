"""Learned position embedding."""

from numbers import Integral
from typing import Any

import keras

from .arguments import input_rank, positive_integer
from .step_positions import step_positions


@keras.saving.register_keras_serializable(package="keras_canon")
class LearnedPositionEmbedding(keras.layers.Layer):
    """Add a learned vector for its position to each step.

    y_t = x_t + P_t        (1)

    Args:
        max_length: number of rows of the table P; a longer sequence is refused.
        embeddings_initializer: initialiser of P.

    Call arguments:
        inputs: x.
        offset: position of the first step, an integer or a tensor (B,) with one for each row, for decoding with a cache; or an
            integer tensor (B, T), the position of each step, for documents that share a row. A position beyond the table that is
            known only while running gives NaN, never a quietly wrong row.

    Input shape:
        (B, T, width)

    Output shape:
        (B, T, width)

    Raises:
        ValueError: `max_length` below 1; at build or call, a sequence longer than the table.

    Reference:
        Gehring et al., 2017, "Convolutional Sequence to Sequence Learning", section 3.1, arXiv:1705.03122; used by BERT
        (arXiv:1810.04805), GPT-2 and ViT.

    Example:
        >>> import keras
        >>> from keras_canon.layers import LearnedPositionEmbedding
        >>> print(LearnedPositionEmbedding(max_length=512)(keras.ops.zeros((2, 7, 16))).shape)
        (2, 7, 16)
    """

    def __init__(self, max_length, embeddings_initializer="uniform", **kwargs):
        super().__init__(**kwargs)
        self.max_length = positive_integer("max_length", max_length)
        self.embeddings_initializer = keras.initializers.get(embeddings_initializer)
        self.supports_masking = True

    def _check_length(self, length, offset=0):
        if length is not None and length + offset > self.max_length:
            end = length + offset
            raise ValueError(f"A sequence that ends at step {end} is longer than the position table, max_length={self.max_length}.")

    def build(self, input_shape):
        input_rank("LearnedPositionEmbedding", input_shape, 3, "(batch, steps, width)")
        self._check_length(input_shape[1])
        self.embeddings = self.add_weight(
            name="embeddings", shape=(self.max_length, input_shape[-1]), initializer=self.embeddings_initializer
        )

    def call(self, inputs, offset: Any = 0):
        length = inputs.shape[1]
        whole = isinstance(offset, Integral)
        if whole:
            offset = int(offset)
            self._check_length(length, offset)
        given = not whole and len(offset.shape) == 2
        positions = offset if given else step_positions(keras.ops.shape(inputs)[1], offset)  # (T,) or (B, T)
        if whole and length is not None:
            return inputs + self.embeddings[offset : offset + length]
        rows = keras.ops.take(self.embeddings, keras.ops.minimum(positions, self.max_length - 1), axis=0)
        return inputs + keras.ops.where(keras.ops.expand_dims(positions, -1) < self.max_length, rows, float("nan"))

    def compute_output_shape(self, input_shape):
        return tuple(input_shape)

    def get_config(self):
        return {
            **super().get_config(),
            "max_length": self.max_length,
            "embeddings_initializer": keras.initializers.serialize(self.embeddings_initializer),
        }
