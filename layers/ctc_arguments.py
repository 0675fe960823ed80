"""Checks of what the CTC loss and its decoders are given; values are looked at where they are known, shapes always."""

import keras
import numpy as np


def known(value) -> np.ndarray | None:
    """Return `value` as an array, or None for a tensor of a traced function or a functional model, whose values come later."""
    if isinstance(value, keras.KerasTensor):
        return None
    if keras.ops.is_tensor(value):
        return np.asarray(value.numpy()) if hasattr(value, "numpy") else None
    return np.asarray(value)


def checked_logits(function: str, logits) -> tuple:
    """Return the static shape (batch, frames, classes) of `logits`."""
    shape = tuple(logits.shape)
    if len(shape) != 3 or not shape[-1]:
        raise ValueError(f"{function} expects logits of shape (batch, frames, classes) with known classes, got {shape}.")
    return shape


def checked_blank(blank, classes: int) -> int:
    """Return `blank` as an int below `classes`."""
    if isinstance(blank, bool) or not isinstance(blank, int | np.integer) or not 0 <= blank < classes:
        raise ValueError(f"blank must be an integer from 0 to {classes - 1} for {classes} classes, got {blank!r}.")
    return int(blank)


def checked_lengths(name: str, lengths, batch: int | None, maximum: int | None):
    """Return `lengths` as an int32 tensor (batch,) after checking that each is between 0 and `maximum`."""
    values = known(lengths)
    subject = lengths if values is None else values
    shape, kind = tuple(subject.shape), keras.backend.standardize_dtype(subject.dtype)
    if len(shape) != 1 or (batch is not None and shape[0] not in (None, batch)):
        raise ValueError(f"{name} must have shape (batch,) = ({batch},), got {shape}.")
    if not kind.startswith(("int", "uint")) and shape[0] != 0:
        raise ValueError(f"{name} must be integers, got dtype {kind}.")
    if values is not None:
        wrong = (values < 0) | (values > (maximum if maximum is not None else np.inf))
        if np.any(wrong):
            raise ValueError(f"{name} must be between 0 and {maximum}, got {values[wrong][0]} in row {np.flatnonzero(wrong)[0]}.")
    return keras.ops.cast(keras.ops.convert_to_tensor(subject), "int32")
