"""The last layer of a model whose output still knows where things are: a feature map, or a row of tokens."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import keras

from .errors import CanonError


@dataclass(frozen=True, eq=False)
class SpatialMap:
    """A tensor with positions.

    Args:
        layer: name of the layer that gives it.
        tensor: (B, rows, columns, channels), or tokens (B, T, channels).
        inputs: the input of the model that the tensor belongs to.
        path: the models that lie around that one, from the outside inwards, as layers of one another; empty for the model itself.
    """

    layer: str
    tensor: Any
    inputs: Any
    path: tuple[keras.layers.Layer, ...] = ()

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns; those of tokens form a square, after tokens that stand for no place."""
        if len(self.tensor.shape) == 4:
            return self.tensor.shape[1], self.tensor.shape[2]
        side = int(self.tensor.shape[1] ** 0.5)
        return side, side

    def on_grid(self, values):
        """Return values of the tensor (B, ..., channels) as (B, rows, columns, channels), without class tokens."""
        if len(values.shape) == 4:
            return values
        rows, columns = self.grid
        return keras.ops.reshape(values[:, -rows * columns :], (-1, rows, columns, values.shape[-1]))


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
                yield SpatialMap(layer.name, tensor, model.input, path)


def _has_positions(shape: tuple[int | None, ...]) -> bool:
    if len(shape) == 4:
        return all(size is not None and size > 1 for size in shape[1:3])
    return len(shape) == 3 and shape[1] is not None and shape[1] > 3
