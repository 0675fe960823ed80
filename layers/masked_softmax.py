"""The softmax over those entries that a mask allows."""

import keras

# Taken from the score of a hidden entry. Far above every score, yet finite in float32: exp(-1e30 - maximum) is exactly 0 and
# no gradient turns into 0 * inf.
HIDDEN = 1e30


def masked_softmax(scores, mask=None):
    """Normalise scores over the last axis, giving exactly 0 to masked entries.

    w_j = m_j exp(e_j) / sum over k of m_k exp(e_k)        (1)

    The sum is taken in float32 for half-precision scores, where no finite constant hides an entry next to a score of
    -60000. A row with no allowed entry gives zeros, not NaN, in the output and in the gradient.

    Args:
        scores: e, a floating-point tensor (..., S).
        mask: m, boolean, True for allowed entries, of a shape that broadcasts against `scores`; None allows all.

    Returns:
        the weights w in the dtype of `scores`.

    Reference:
        Vaswani et al., 2017, "Attention Is All You Need", section 3.2.3 (masking inside the softmax), arXiv:1706.03762.

    Example:
        >>> import keras
        >>> from keras_canon.layers import masked_softmax
        >>> scores = keras.ops.convert_to_tensor([-60000.0, -60000.0, 3.0], "float16")
        >>> print(masked_softmax(scores, keras.ops.convert_to_tensor([True, True, False])).numpy().tolist())
        [0.5, 0.5, 0.0]
    """
    scores = keras.ops.convert_to_tensor(scores)
    dtype = keras.backend.standardize_dtype(scores.dtype)
    precise = keras.backend.result_type(dtype, "float32")
    scores = keras.ops.cast(scores, precise)
    if mask is None:
        return keras.ops.cast(_softmax(scores), dtype)
    # A difference costs a third of a choice (`where`) on a CPU, where the mask is broadcast over batch or heads. It is not a
    # sum because TensorFlow fuses (product, scale, sum) on a CPU into a kernel that is a thousand times slower for a sum
    # with shape (1, 1, T, S), which a causal mask has.
    weights = _softmax(scores - keras.ops.where(mask, keras.ops.zeros((), precise), HIDDEN))
    # Only a row without any allowed entry is changed by this: all its scores are equally low.
    weights = weights * keras.ops.cast(keras.ops.any(mask, axis=-1, keepdims=True), precise)
    return keras.ops.cast(weights, dtype)


def _softmax(scores):
    # Keras warns of an axis of size 1, which here is a sequence of one step and no mistake
    return keras.ops.exp(scores - scores) if scores.shape[-1] == 1 else keras.ops.softmax(scores, axis=-1)
