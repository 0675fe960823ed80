"""The law of padding on plain arrays: padded = trimmed = left-padded. NumPy only, so that it also runs beside a SavedModel."""

import numpy as np

SIDES = ("right", "left")
EXTRA = 3  # steps of padding


def pad(array: np.ndarray, axis: int, side: str, value) -> np.ndarray:
    """Return the array with steps of padding on one side of an axis."""
    widths = [(0, 0)] * array.ndim
    widths[axis] = (0, EXTRA) if side == "right" else (EXTRA, 0)
    return np.pad(array, widths, constant_values=value)


def unpadded(padded: np.ndarray, trimmed: np.ndarray, side: str) -> np.ndarray:
    """Return the part of an output of padded input that stands for the real steps, by the shape of the trimmed output."""
    assert padded.ndim == trimmed.ndim
    for axis, size in enumerate(trimmed.shape):
        assert padded.shape[axis] >= size
        extra = padded.shape[axis] - size
        padded = np.take(padded, np.arange(size) + (extra if side == "left" else 0), axis=axis)
    return padded


def law_error(trimmed: dict, padded: dict, side: str) -> float:
    """Return the largest difference of outputs by name, relative to the largest value where that is above 1."""
    assert trimmed.keys() == padded.keys()
    errors = [0.0]
    for name, expected in trimmed.items():
        found = unpadded(padded[name], expected, side)
        assert np.all(np.isfinite(found)), name
        scale = max(1.0, float(np.abs(expected).max(initial=0.0)))
        errors.append(float(np.abs(found.astype("float64") - expected).max(initial=0.0)) / scale)
    return max(errors)
