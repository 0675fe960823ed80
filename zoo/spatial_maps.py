"""The last layer of a model whose output still knows where things are: a feature map, or a row of tokens."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import keras

from ..layers import PatchEmbedding
from .errors import CanonError


@dataclass(frozen=True, eq=False)
class SpatialMap:
    """A tensor with positions.

    Args:
        layer: name of the layer that gives it.
        tensor: (B, rows, columns, channels), or tokens (B, T, channels).
        inputs: the input of the model that the tensor belongs to.
        path: the models that lie around that one, from the outside inwards, as layers of one another; empty for the model itself.
        patches: rows and columns of the patches that an image was cut into; None for a model that cuts none.
    """

    layer: str
    tensor: Any
    inputs: Any
    path: tuple[keras.layers.Layer, ...] = ()
    patches: tuple[int, int] | None = None

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns; those of tokens are the patches', or a square, after tokens that stand for no place."""
        if len(self.tensor.shape) == 4:
            return self.tensor.shape[1], self.tensor.shape[2]
        return token_grid(self.tensor.shape[1], self.patches)

    def on_grid(self, values):
        """Return values of the tensor (B, ..., channels) as (B, rows, columns, channels), without class tokens."""
        if len(values.shape) == 4:
            return values
        rows, columns = self.grid
        return keras.ops.reshape(values[:, -rows * columns :], (-1, rows, columns, values.shape[-1]))


def token_grid(tokens: int, patches: tuple[int, int] | None = None) -> tuple[int, int]:
    """Return rows and columns of tokens that stand for places, one class token before them left aside.

    Args:
        tokens: how many there are.
        patches: rows and columns that are known; None for a square.

    Raises:
        CanonError: when neither all tokens nor all but one fill the grid.
    """
    for extra in (0, 1):
        rows, columns = patches or (math.isqrt(tokens - extra),) * 2
        if rows and rows * columns == tokens - extra:
            return rows, columns
    what = f"{patches[0]} x {patches[1]} places" if patches else "a square"
    raise CanonError(f"{tokens} tokens are neither {what} nor that and a class token: give a grid that they fill.")


def patch_grid(model: keras.Model) -> tuple[int, int] | None:
    """Return how many rows and columns of patches a model cuts an image into, also one inside it; None when it cuts none."""
    for layer in model.layers:
        if isinstance(layer, PatchEmbedding):
            (height, width), (rows, columns) = layer.input.shape[1:3], layer.patch_size
            return (height // rows, width // columns) if height and width else None
        found = patch_grid(layer) if isinstance(layer, keras.Model) else None
        if found:
            return found
    return None


def last_spatial_map(model: keras.Model, layer: str | None = None) -> SpatialMap:
    """Return the last tensor with positions, also of a model inside the model.

    Args:
        model: functional, with one image as input.
        layer: name of a layer to take instead; its output must have positions.

    Raises:
        CanonError: when there is none.
    """
    found = [item for item in _spatial_maps(model, ()) if layer is None or item.layer == layer]
    if not found:
        what = f"no layer {layer!r} whose output has" if layer else "no layer whose output has"
        raise CanonError(f"Model {model.name!r} has {what} positions (rows and columns, or tokens).")
    return found[-1]


def _spatial_maps(model: keras.Model, path: tuple[keras.layers.Layer, ...]) -> Iterator[SpatialMap]:
    for layer in model.layers:
        if isinstance(layer, keras.Model) and isinstance(layer.input, keras.KerasTensor):
            yield from _spatial_maps(layer, (*path, layer))
        elif not isinstance(layer, keras.layers.InputLayer):
            tensor = layer.output
            if isinstance(tensor, keras.KerasTensor) and _has_positions(tensor.shape):
                yield SpatialMap(layer.name, tensor, model.input, path, patch_grid(model))


def _has_positions(shape: tuple[int | None, ...]) -> bool:
    if len(shape) == 4:
        return all(size is not None and size > 1 for size in shape[1:3])
    return len(shape) == 3 and shape[1] is not None and shape[1] > 3
