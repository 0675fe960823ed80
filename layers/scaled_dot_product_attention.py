"""Scaled dot-product attention as a plain function."""

import keras

from .masked_softmax import HIDDEN, masked_softmax


def scaled_dot_product_attention(query, key, value, mask=None, bias=None, scale=None, dropout=0.0, seed=None, return_weights=False):
    """Average values with weights that compare queries with keys.

    Attention(Q, K, V) = softmax(Q K^T / sqrt(d_k)) V        (1)

    Args:
        query: Q, (..., T, d_k).
        key: K, (..., S, d_k).
        value: V, (..., S, d_v).
        mask: boolean, True where a query may look at a key, broadcast against (..., T, S). A query that may see no key
            gets weights of exactly 0 and a context of 0.
        bias: numbers added to the scaled scores (a relative position bias), broadcast against (..., T, S).
        scale: factor on the scores; None is 1 / sqrt(d_k).
        dropout: share of the weights dropped; a caller passes 0 when it does not train.
        seed: a `keras.random.SeedGenerator` (or an integer) for the dropout.
        return_weights: also return the weights, as they are before dropout.

    Returns:
        the context (..., T, d_v), or the context and the weights (..., T, S).

    Reference:
        Vaswani et al., 2017, "Attention Is All You Need", section 3.2.1, equation 1, arXiv:1706.03762.

    Example:
        >>> import keras
        >>> from keras_canon.layers import scaled_dot_product_attention
        >>> query, key, value = keras.ops.ones((2, 8, 3, 4)), keras.ops.ones((2, 8, 5, 4)), keras.ops.ones((2, 8, 5, 6))
        >>> print(scaled_dot_product_attention(query, key, value).shape)
        (2, 8, 3, 6)
    """
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    # Scaling the queries, T d_k numbers, is cheaper than scaling the scores, T S, and keeps float16 products small.
    scores = keras.ops.matmul(query * keras.ops.cast(scale, query.dtype), keras.ops.swapaxes(key, -1, -2))  # (..., T, S)
    if bias is not None:
        precise = keras.backend.result_type(scores.dtype, "float32")
        # Limited, because some callers hide keys with -inf and a row of nothing else would be NaN; a difference, not a sum,
        # for the reason given in `masked_softmax`.
        scores = keras.ops.cast(scores, precise) - keras.ops.minimum(-keras.ops.cast(bias, precise), HIDDEN)
    weights = keras.ops.cast(masked_softmax(scores, mask), value.dtype)
    kept = keras.random.dropout(weights, dropout, seed=seed) if dropout else weights
    context = keras.ops.matmul(kept, value)
    return (context, weights) if return_weights else context
