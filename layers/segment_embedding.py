"""Segment embedding."""

import keras

from .arguments import input_rank, positive_integer


@keras.saving.register_keras_serializable(package="keras_canon")
class SegmentEmbedding(keras.layers.Layer):
    """Add a learned vector for its segment to each step.

    y_t = x_t + S_(s_t)        (1)

    Args:
        num_segments: number of segments, rows of the table S.
        embeddings_initializer: initialiser of S.

    Call arguments:
        inputs: x.
        segment_ids: s, integers, 0 for the first segment.
        inputs_mask: False at padding; it is passed on.

    Input shape:
        inputs (B, T, width); segment_ids (B, T)

    Output shape:
        (B, T, width)

    Raises:
        ValueError: `num_segments` below 1; at build, an input that has not three axes or no known width.

    Reference:
        Devlin et al., 2019, "BERT: Pre-training of Deep Bidirectional Transformers", section 3, figure 2, arXiv:1810.04805.

    Example:
        >>> import keras
        >>> from keras_canon.layers import SegmentEmbedding
        >>> print(SegmentEmbedding(2)(keras.ops.zeros((1, 3, 8)), keras.ops.convert_to_tensor([[0, 0, 1]])).shape)
        (1, 3, 8)
    """

    def __init__(self, num_segments, embeddings_initializer="uniform", **kwargs):
        super().__init__(**kwargs)
        self.num_segments = positive_integer("num_segments", num_segments)
        self.embeddings_initializer = keras.initializers.get(embeddings_initializer)
        self.supports_masking = True

    def build(self, inputs_shape, segment_ids_shape):
        input_rank("SegmentEmbedding", inputs_shape, 3, "(batch, steps, width)")
        shape = (self.num_segments, inputs_shape[-1])
        self.embeddings = self.add_weight(name="embeddings", shape=shape, initializer=self.embeddings_initializer)

    def call(self, inputs, segment_ids, inputs_mask=None):
        return inputs + keras.ops.take(self.embeddings, keras.ops.cast(segment_ids, "int32"), axis=0)

    def compute_mask(self, inputs, previous_mask=None):
        """Return the mask of x."""
        return previous_mask[0] if isinstance(previous_mask, list | tuple) else previous_mask

    def compute_output_shape(self, inputs_shape, segment_ids_shape):
        return tuple(inputs_shape)

    def get_config(self):
        return {
            **super().get_config(),
            "num_segments": self.num_segments,
            "embeddings_initializer": keras.initializers.serialize(self.embeddings_initializer),
        }
