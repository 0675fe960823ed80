"""Boolean attention masks: True where a query may look at a key."""

import keras


def attached_mask(tensor, mask=None):
    """Return `mask`, or where it is None the mask that Keras has attached to `tensor`, or None.

    Keras fills an argument called `mask` only for a layer called with one tensor, and `NAME_mask` only for one called
    with several; a layer whose second tensor is optional would lose its mask in one of the two.
    """
    return getattr(tensor, "_keras_mask", None) if mask is None else mask


def boolean_mask(name: str, mask):
    """Return `mask` as a boolean tensor.

    Raises:
        ValueError: `mask` holds floating-point numbers, which may be meant as terms to add to the scores.
    """
    mask = keras.ops.convert_to_tensor(mask)
    dtype = keras.backend.standardize_dtype(mask.dtype)
    if "float" in dtype:
        raise ValueError(f"{name} must be boolean, True where a query may look at a key, got dtype {dtype}; terms to add go into bias.")
    return keras.ops.cast(mask, "bool")


def head_mask(name: str, mask):
    """Return a mask of shape (T, S), (B, T, S) or (B, H, T, S) with the four axes of the scores (B, H, T, S)."""
    mask = boolean_mask(name, mask)
    if len(mask.shape) not in (2, 3, 4):
        raise ValueError(f"{name} must have shape (T, S), (B, T, S) or (B, num_heads, T, S), got {tuple(mask.shape)}.")
    if len(mask.shape) == 4:
        return mask
    return keras.ops.expand_dims(mask, -3) if len(mask.shape) == 3 else keras.ops.expand_dims(mask, (0, 1))


def causal_mask(query_length, key_length):
    """Return the (T, S) mask that hides the future, aligned at the right.

    m_ij = (j <= i + S - T)        (1)

    With fewer queries than keys the last query sees every key; with S = T it is the lower triangle.

    Args:
        query_length: T, an integer or a tensor.
        key_length: S, an integer or a tensor.

    Returns:
        a boolean tensor (T, S), True where a query may look.

    Reference:
        Vaswani et al., 2017, "Attention Is All You Need", section 3.2.3 (for S = T), arXiv:1706.03762.

    Example:
        >>> from keras_canon.layers import causal_mask
        >>> print(causal_mask(2, 3).numpy().tolist())
        [[True, True, False], [True, True, True]]
    """
    queries = keras.ops.expand_dims(keras.ops.arange(query_length), 1)
    return keras.ops.arange(key_length) <= queries + (key_length - query_length)


def combine_masks(*masks):
    """Return the logical and of those masks that are not None, or None."""
    combined = None
    for mask in masks:
        if mask is not None:
            combined = mask if combined is None else keras.ops.logical_and(combined, mask)
    return combined
