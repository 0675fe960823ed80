"""Padding in networks that convolve over time before they recur: which frames are real, after each layer.

Real steps are moved to the front first, so that strides begin at the first real one wherever the padding lies; after each convolution
the frames that stand for padding are set to zero again, as a trimmed input would have it.
"""

import keras

_LAST = 2**20  # a place behind every real step


def real_first(x, axis: int):
    """Move the steps that are not all zeros to the front of an axis of (B, ..., C), in their order.

    Returns:
        the input in the new order, and (B, steps, 1) with 1.0 at real steps and 0.0 at padding.
    """
    others = tuple(place for place in range(1, len(x.shape)) if place != axis)
    real = keras.ops.cast(keras.ops.any(keras.ops.not_equal(x, 0.0), axis=others), "int32")  # (B, steps)
    places = keras.ops.cumsum(keras.ops.ones_like(real), axis=1)
    order = keras.ops.argsort(places + (1 - real) * _LAST, axis=1)
    wide = order
    for place in others:
        wide = keras.ops.expand_dims(wide, place)
    real = keras.ops.cast(keras.ops.take_along_axis(real, order, axis=1), "float32")
    return keras.ops.take_along_axis(x, wide, axis=axis), keras.ops.expand_dims(real, -1)


def whole_windows(real, size: int, strides: int):
    """Return which outputs of an unpadded window (B, steps, 1) read real steps only."""
    return 1.0 - keras.ops.max_pool(1.0 - real, size, strides, padding="valid", data_format="channels_last")


def lengths_of(real):
    """Return the number of real frames of each row, int32 (B,)."""
    return keras.ops.cast(keras.ops.sum(real, axis=(1, 2)), "int32")
