"""Relative position bias in buckets, as in T5."""

import math

import keras

from .arguments import divisible, positive_integer
from .step_positions import step_positions


def relative_position_bucket(distance, num_buckets=32, max_distance=128, bidirectional=True):
    """Return the bucket of a distance (position of the key less that of the query).

    Half of the buckets of a direction hold one distance each, the others grow with its logarithm up to `max_distance`; the
    last one takes all beyond. Without `bidirectional` later keys share bucket 0.

    Args:
        distance: int32 tensor of any shape.
        num_buckets: number of buckets, shared between the two directions with `bidirectional`.
        max_distance: distance from which on all is one bucket.
        bidirectional: whether later keys have buckets of their own.

    Returns:
        int32 tensor of the same shape, within [0, num_buckets).

    Reference:
        Raffel et al., 2020, "Exploring the Limits of Transfer Learning with a Unified Text-to-Text Transformer", section 2.1,
        arXiv:1910.10683.

    Example:
        >>> import keras
        >>> from keras_canon.layers import relative_position_bucket
        >>> print(relative_position_bucket(keras.ops.arange(-2, 3), num_buckets=8, max_distance=6).numpy().tolist())
        [2, 1, 0, 5, 6]
    """
    first = keras.ops.zeros_like(distance)
    if bidirectional:
        num_buckets //= 2
        first = keras.ops.where(distance > 0, num_buckets, 0)
        distance = keras.ops.absolute(distance)
    else:
        distance = keras.ops.maximum(-distance, 0)
    exact = num_buckets // 2
    ratio = keras.ops.cast(keras.ops.maximum(distance, 1), "float32") / exact
    far = exact + keras.ops.cast(keras.ops.log(ratio) / math.log(max_distance / exact) * (num_buckets - exact), "int32")
    far = keras.ops.minimum(far, num_buckets - 1)
    return keras.ops.cast(first + keras.ops.where(distance < exact, distance, far), "int32")


@keras.saving.register_keras_serializable(package="keras_canon")
class RelativePositionBias(keras.layers.Layer):
    """Give a learned number for each head and each bucket of the distance between query and key.

    b_hij = B[bucket(j - i), h]        (1)

    The output goes into `bias` of `MultiHeadAttention`; T5 shares one such layer between all blocks of a stack and leaves
    the scores unscaled (`scale=1.0`). The inputs only tell the lengths, so their masks end here.

    Args:
        num_heads: number of heads.
        num_buckets: number of rows of the table B.
        max_distance: distance from which on all is one bucket.
        bidirectional: True for an encoder; False for a decoder, where later keys are never seen.
        embeddings_initializer: initialiser of B.

    Call arguments:
        query, key: tensors whose lengths count; without a key it is the query's.
        offset: position of the first query, an integer or a tensor (B,); None aligns the last query with the last key,
            as the causal mask does.

    Input shape:
        query (B, T, width); key (B, S, width)

    Output shape:
        (1, num_heads, T, S), or (B, num_heads, T, S) with an offset for each row.

    Raises:
        ValueError: a count below 1; `num_buckets` not a multiple of 4 (bidirectional) or 2; `max_distance` not above
            the number of exact buckets.

    Reference:
        Raffel et al., 2020, "Exploring the Limits of Transfer Learning with a Unified Text-to-Text Transformer", section 2.1,
        arXiv:1910.10683.

    Example:
        >>> import keras
        >>> from keras_canon.layers import RelativePositionBias
        >>> print(RelativePositionBias(num_heads=8)(keras.ops.zeros((2, 5, 16))).shape)
        (1, 8, 5, 5)
    """

    def __init__(self, num_heads, num_buckets=32, max_distance=128, bidirectional=True, embeddings_initializer="random_normal", **kwargs):
        super().__init__(**kwargs)
        self.num_heads = positive_integer("num_heads", num_heads)
        self.num_buckets = positive_integer("num_buckets", num_buckets)
        self.max_distance = positive_integer("max_distance", max_distance)
        self.bidirectional = bool(bidirectional)
        self.embeddings_initializer = keras.initializers.get(embeddings_initializer)
        self.supports_masking = True
        parts = 4 if self.bidirectional else 2
        divisible("num_buckets", self.num_buckets, "the number of its parts", parts)
        if self.max_distance <= self.num_buckets // parts:
            raise ValueError(f"max_distance must be above {self.num_buckets // parts}, the exact buckets, got {self.max_distance}.")

    def build(self, query_shape, key_shape=None):
        self.embeddings = self.add_weight(
            name="embeddings", shape=(self.num_buckets, self.num_heads), initializer=self.embeddings_initializer
        )

    def call(self, query, key=None, offset=None):
        query_length = keras.ops.shape(query)[1]
        key_length = query_length if key is None else keras.ops.shape(key)[1]
        if offset is None:
            queries = keras.ops.arange(query_length, dtype="int32") + (key_length - query_length)
        else:
            queries = step_positions(query_length, offset)
        distance = keras.ops.arange(key_length, dtype="int32") - keras.ops.expand_dims(queries, -1)  # ([B,] T, S)
        bucket = relative_position_bucket(distance, self.num_buckets, self.max_distance, self.bidirectional)
        bias = keras.ops.moveaxis(keras.ops.take(self.embeddings, bucket, axis=0), -1, -3)  # ([B,] num_heads, T, S)
        return bias if len(bias.shape) == 4 else keras.ops.expand_dims(bias, 0)

    def compute_mask(self, query, mask=None):
        """Return None: the bias has no steps that could be padding."""
        return None

    def compute_output_shape(self, query_shape, key_shape=None):
        return (1, self.num_heads, query_shape[1], (query_shape if key_shape is None else key_shape)[1])

    # With an offset for each row the output has a batch axis, so a symbolic call traces `call`.
    compute_output_spec = keras.Operation.compute_output_spec

    def get_config(self):
        return {
            **super().get_config(),
            "num_heads": self.num_heads,
            "num_buckets": self.num_buckets,
            "max_distance": self.max_distance,
            "bidirectional": self.bidirectional,
            "embeddings_initializer": keras.initializers.serialize(self.embeddings_initializer),
        }
