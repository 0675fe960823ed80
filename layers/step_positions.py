"""Positions of the steps of a sequence."""

from numbers import Integral

import keras


def step_positions(length, offset=0):
    """Return the positions offset, offset + 1, ... of `length` steps.

    Args:
        length: number of steps T, an integer or a tensor.
        offset: position of the first step: an integer or a scalar tensor, or a tensor (B,) with one for each row (the
            steps already in a cache).

    Returns:
        int32 (T,), or (B, T) for an offset of each row.

    Raises:
        ValueError: a negative integer, or an offset with more than one axis.
    """
    steps = keras.ops.arange(length, dtype="int32")
    if isinstance(offset, Integral):
        if offset < 0:
            raise ValueError(f"offset must be at least 0, got {offset}.")
        return steps + int(offset)
    offset = keras.ops.cast(keras.ops.convert_to_tensor(offset), "int32")
    if len(offset.shape) > 1:
        raise ValueError(f"offset must be an integer or have shape (batch,), got shape {tuple(offset.shape)}.")
    return steps + (keras.ops.expand_dims(offset, 1) if len(offset.shape) else offset)
