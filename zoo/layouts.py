"""Layout changes of weight arrays between frameworks, derived from the two shapes."""

from collections.abc import Mapping, Sequence

import numpy as np

from ..layers import elman_from_torch, gru_from_torch, lstm_from_torch

_CELL_LAYOUTS = {"elman": elman_from_torch, "lstm": lstm_from_torch, "gru": gru_from_torch}
_CELL_ARRAYS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")


def torch_to_keras(array: np.ndarray, shape: Sequence[int], leaf: str) -> np.ndarray | None:
    """Bring an array of torch's layout into the layout of a Keras variable.

    Convolution kernels go from (out, in, height, width) to (height, width, in, out); depthwise kernels from
    (channels x multiplier, 1, height, width) to (height, width, channels, multiplier); dense kernels from (out, in) to (in, out),
    for attention also to (in, heads, width) and (heads, width, out). A 1 x 1 convolution may become a dense kernel and the
    reverse. Other arrays stay as they are.

    Args:
        array: the source array.
        shape: shape of the Keras variable.
        leaf: name of the Keras variable, such as "kernel".

    Returns:
        the array in the new layout, or None when no layout change leads to the shape.
    """
    shape = tuple(shape)
    candidates = [array]
    if leaf.endswith("kernel"):
        candidates = _kernel_layouts(array, shape)
    elif array.size == np.prod(shape) and (array.ndim == 1 or _squeezed(array.shape) == _squeezed(shape)):
        candidates = [array.reshape(shape)]
    return next((candidate for candidate in candidates if candidate.shape == shape), None)


def _squeezed(shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(size for size in shape if size != 1)


def _kernel_layouts(array: np.ndarray, shape: tuple[int, ...]) -> list[np.ndarray]:
    if array.ndim == 2:
        dense = array.T
        layouts = [dense, dense.reshape(1, 1, *dense.shape)]
        # attention: (in, heads x width) to (in, heads, width), (heads x width, out) to (heads, width, out)
        if len(shape) == 3 and dense.size == np.prod(shape) and (shape[0] == dense.shape[0] or shape[-1] == dense.shape[1]):
            layouts.append(dense.reshape(shape))
        return layouts
    if array.ndim not in (3, 4, 5):
        return [array]
    # (out, in, *window) -> (*window, in, out)
    moved = np.transpose(array, (*range(2, array.ndim), 1, 0))
    layouts = [moved]
    if array.shape[1] == 1 and len(shape) == array.ndim and shape[-2] and array.shape[0] % shape[-2] == 0:
        multiplier = array.shape[0] // shape[-2]
        depthwise = array.reshape(shape[-2], multiplier, *array.shape[2:])
        layouts.append(np.transpose(depthwise, (*range(2, array.ndim), 0, 1)))
    if all(size == 1 for size in array.shape[2:]):
        layouts.append(moved.reshape(moved.shape[-2:]))
    return layouts


def unflatten_channels_first(array: np.ndarray, channels: int, height: int, width: int) -> np.ndarray:
    """Reorder the inputs of a torch dense kernel (out, channels x height x width) that follows a flattened map.

    A channels-last model flattens (height, width, channels); the shape does not reveal the difference.

    Returns:
        the kernel (out, height x width x channels), still in torch's (out, in) order.
    """
    kernel = array.reshape(array.shape[0], channels, height, width)
    return np.transpose(kernel, (0, 2, 3, 1)).reshape(array.shape[0], -1)


def adapt_input_channels(kernel: np.ndarray, channels: int) -> np.ndarray:
    """Fit the kernel of the first layer to another number of input channels.

    For one channel the kernel is summed over its channels, so a grey image gives the response that it gave as three equal
    channels. For more channels the given ones are repeated in turn and scaled by given / wanted, which keeps the response to
    an image whose channels are all equal.

    Args:
        kernel: (..., in, out).
        channels: wanted number of input channels.

    Returns:
        the kernel (..., channels, out).
    """
    given = kernel.shape[-2]
    if channels == 1:
        return kernel.sum(axis=-2, keepdims=True)
    repeated = np.take(kernel, np.arange(channels) % given, axis=-2)
    return (repeated * (given / channels)).astype(kernel.dtype)


def resample_positions(
    table: np.ndarray, length: int, grid: tuple[int, int] | None = None, given: tuple[int, int] | None = None
) -> np.ndarray:
    """Resample a learned position table for another image size.

    A class position before the grid is recognised by the lengths: each is that of its grid, or each is that and one more. It is kept
    bit for bit, and the grid is resampled bicubically.

    Args:
        table: (positions, width).
        length: wanted number of positions.
        grid: wanted rows and columns; None for a square.
        given: rows and columns of the given table; None for a square, or for the wanted ones where the length is the same.

    Returns:
        the table (length, width); the same array when nothing is to be changed.

    Raises:
        ValueError: when the two lengths are not both those of a grid, or both of a grid plus a class position.
    """
    if table.shape[0] == length and given in (None, grid):
        return table
    for extra in (1, 0):
        source = given or (round((table.shape[0] - extra) ** 0.5),) * 2
        wanted = grid or (round((length - extra) ** 0.5),) * 2
        if source[0] * source[1] + extra == table.shape[0] and wanted[0] * wanted[1] + extra == length:
            return np.concatenate([table[:extra], _resample_grid(table[extra:], source, wanted)])
    raise ValueError(
        f"a position table of length {table.shape[0]} cannot be resampled to {length}: both must be a grid of patches, or both "
        "a grid and a class position"
    )


def _resample_grid(table: np.ndarray, source: tuple[int, int], wanted: tuple[int, int]) -> np.ndarray:
    import tensorflow as tf

    image = table.reshape(1, *source, table.shape[-1]).astype("float32")
    smaller = wanted[0] < source[0] or wanted[1] < source[1]
    resized = tf.image.resize(image, wanted, method="bicubic", antialias=smaller).numpy()
    return resized.reshape(-1, table.shape[-1]).astype(table.dtype)


def recurrent_array(name: str) -> str:
    """Return which array of a recurrent layer a source name ends in, such as "weight_ih" for `rnn.weight_ih_l0_reverse`; "" for none."""
    return next((array for array in _CELL_ARRAYS if f"{array}_l" in name.rsplit(".", 1)[-1]), "")


def cell_weights(how: str, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray] | None:
    """Put the arrays of a torch recurrent layer together into the weights of our cell.

    Args:
        how: "elman", "lstm" or "gru".
        arrays: "weight_ih", "weight_hh" and, unless the layer has no biases, "bias_ih" and "bias_hh".

    Returns:
        name of our weight -> value, or None when an array is missing or has not a shape that goes with the others.
    """
    gates = {"elman": 1, "lstm": 4, "gru": 3}[how]
    hidden = arrays.get("weight_hh")
    if hidden is None or "weight_ih" not in arrays or hidden.ndim != 2 or hidden.shape[0] != gates * hidden.shape[1]:
        return None
    if len(arrays) not in (2, 4) or any(array.shape[:1] != hidden.shape[:1] for array in arrays.values()):
        return None
    weights = _CELL_LAYOUTS[how](*(arrays.get(name) for name in _CELL_ARRAYS))
    return dict(zip(("kernel", "recurrent_kernel", "bias"), weights, strict=False))
