"""What goes where when weights are loaded: matched, laid out and adapted first, assigned last."""

import math
from collections.abc import Mapping

import keras
import numpy as np

from .conversion import CELLS, Conversion, Move, plan
from .errors import CanonError
from .layouts import (
    adapt_input_channels,
    cell_weights,
    recurrent_array,
    resample_positions,
    torch_to_keras,
    unflatten_channels_first,
)
from .load_report import LoadReport
from .model import Model
from .spatial_maps import patch_grid

HEAD = "logits"


class Placement:
    """Collects the value of each variable; nothing is assigned before `assign`.

    Args:
        model: the model to fill.
        arrays: the source, name -> array.
        skip_head: as for `zoo.load_weights`.
        image_size: (height, width) that the source is for, where that is known.
    """

    def __init__(
        self, model: Model, arrays: Mapping[str, np.ndarray], skip_head: bool | None, image_size: tuple[int | None, ...] | None = None
    ):
        self.model, self.arrays, self.skip_head = model, arrays, skip_head
        self.targets = {weight.path: weight for weight in model.weights if "seed_generator" not in weight.path}
        self.values: dict[str, np.ndarray] = {}
        self.loaded, self.adapted, self.skipped = [], [], []
        self.unused: list[str] = []
        self.not_needed: set[str] = set()
        self.biases: list[tuple[str, str]] = []
        self.tied: list[tuple[str, str]] = []
        images = len(model.inputs) == 1 and len(model.inputs[0].shape) == 4
        kernels = [path for path in self.targets if path.endswith("kernel")] if images else []
        self.stem = kernels[0] if kernels else ""
        self.grid = patch_grid(model) if images else None
        self.given_grid = self._patches(image_size)
        self.is_foreign = False

    def forgiven(self, path: str) -> bool:
        """Say whether the variable at `path` may stay as it is in strict mode."""
        # an auxiliary classifier has a layer of that name inside
        return self.skip_head is not False and HEAD in path.split("/")[:-1]

    def take_canon(self) -> None:
        """Match names that are paths of our variables."""
        for name, array in self.arrays.items():
            if name in self.targets:
                self._put(name, name, array)
            else:
                self._leave(name, name)

    def take_converted(self, conversion: Conversion) -> None:
        """Match names by the rules of a conversion."""
        self.is_foreign = True
        moves, unknown = plan(conversion, self.arrays, self.targets)
        self.unused += unknown
        for move in moves:
            if move.rule.how not in CELLS:
                self._move(move, conversion)
        self._put_cells([move for move in moves if move.rule.how in CELLS])
        for name, path in self.tied:
            self._put_tied(name, path, None if conversion.format == "keras_applications" else "torch")
        for name, path in self.biases:
            if path in self.values and self.values[path].shape == self.arrays[name].shape:
                self.values[path] = self.values[path] - self.arrays[name]
                self.loaded.append((name, path, self.arrays[name].shape))
            else:
                self.unused.append(name)
        if conversion.epsilon is not None:
            self._carry_epsilon(conversion.epsilon)

    def report(self, chosen: str, notes: tuple[str, ...] = ()) -> LoadReport:
        """Return the report on what was matched."""
        put = {path for path, *_ in self.skipped} | set(self.values)
        missing = tuple((path, tuple(weight.shape)) for path, weight in self.targets.items() if path not in put)
        return LoadReport(chosen, tuple(self.loaded), tuple(self.adapted), tuple(self.skipped), missing, tuple(self.unused), notes)

    def assign(self) -> None:
        """Change the model."""
        for path, value in self.values.items():
            self.targets[path].assign(value)

    def _leave(self, name: str, path: str) -> None:
        """Note an array for which the model has no variable."""
        self.unused.append(name)
        if self.forgiven(path):
            self.not_needed.add(name)

    def _move(self, move: Move, conversion: Conversion) -> None:
        array = self.arrays[move.name]
        if move.rule.how == "skip":
            self.unused.append(move.name)
            self.not_needed.add(move.name)
            return
        if any(path not in self.targets for path in move.targets):
            self._leave(move.name, move.targets[0])
            return
        if move.rule.how == "absorb_bias":
            self.biases.append((move.name, move.targets[0]))
            return
        if move.rule.how == "tied":
            self.tied.append((move.name, move.targets[0]))
            return
        if move.rule.how == "flatten" and array.ndim == 2 and array.shape[1] == np.prod(move.rule.shape):
            array = unflatten_channels_first(array, *move.rule.shape)
        # uneven pieces fit nowhere, and are reported as such
        if move.rule.how.startswith("split") and array.ndim:
            pieces = np.array_split(array, len(move.targets), axis=0 if move.rule.how == "split" else -1)
        else:
            pieces = [array] * len(move.targets)
        keep = move.rule.how in ("same", "split_last") or conversion.format == "keras_applications"
        for path, piece in zip(move.targets, pieces, strict=True):
            self._put(move.name, path, piece, None if keep else "torch")

    def _put_tied(self, name: str, path: str, layout: str | None) -> None:
        """Note an array that may be stored twice: the model has one variable for both uses, and a file may have kept either name."""
        if path not in self.values and all(path != skipped for skipped, *_ in self.skipped):
            self._put(name, path, self.arrays[name], layout)
            return
        if path in self.values and not np.array_equal(self.values[path], self.arrays[name]):
            raise CanonError(
                f"{name} differs from the array for {path}, and {self.model.name!r} has one matrix for both: they must be equal."
            )
        self.unused.append(name)
        self.not_needed.add(name)

    def _put_cells(self, moves: list[Move]) -> None:
        """Put the arrays of each recurrent layer together, and note the weights of its cell."""
        cells: dict[str, list[Move]] = {}
        for move in moves:
            cells.setdefault(move.targets[0], []).append(move)
        for cell, parts in cells.items():
            arrays = {recurrent_array(move.name): self.arrays[move.name] for move in parts}
            weights = cell_weights(parts[0].rule.how, arrays) if len(arrays) == len(parts) else None
            if weights is None or any(cell + leaf not in self.targets for leaf in weights):
                self.unused += [move.name for move in parts]
                continue
            names = {"kernel": "weight_ih", "recurrent_kernel": "weight_hh", "bias": "bias_ih"}
            by_array = {recurrent_array(move.name): move.name for move in parts}
            for leaf, weight in weights.items():
                self._put(by_array[names[leaf]], cell + leaf, weight)
            if "bias" in weights and cell + "bias" in self.values:
                self.loaded.append((by_array["bias_hh"], cell + "bias", weights["bias"].shape))

    def _put(self, name: str, path: str, array: np.ndarray, layout: str | None = None) -> None:
        """Note the array for the variable at `path`, after a layout change or an adaptation where one applies."""
        shape = tuple(self.targets[path].shape)
        if self.skip_head and self.forgiven(path):
            self.skipped.append((path, array.shape, shape))
            self.not_needed.add(name)
            return
        if path in self.values:
            raise CanonError(f"Two arrays lead to {path}, the second is {name}: the source is not in the format asked for.")
        found = torch_to_keras(array, shape, path.split("/")[-1]) if layout == "torch" else _reshaped(array, shape)
        if found is None or (self._is_positions(path, array) and self._grid_of(array, shape) not in (None, self.grid)):
            found = self._adapt(path, array, shape, layout)
            if found is None:
                self.skipped.append((path, array.shape, shape))
                return
            self.adapted.append((path, array.shape, shape))
        self.values[path] = found
        self.loaded.append((name, path, shape))

    def _adapt(self, path: str, array: np.ndarray, shape: tuple[int, ...], layout: str | None) -> np.ndarray | None:
        if path == self.stem:
            kernel = np.transpose(array, (*range(2, array.ndim), 1, 0)) if layout == "torch" else array
            if kernel.ndim == len(shape) > 2 and kernel.shape[:-2] == shape[:-2] and kernel.shape[-1] == shape[-1]:
                return adapt_input_channels(kernel, shape[-2])
        if self._is_positions(path, array):
            table = array.reshape(-1, array.shape[-1])
            try:
                return resample_positions(table, shape[-2], self.grid, self._grid_of(table, shape)).reshape(shape)
            except ValueError as error:
                raise CanonError(f"{path}: {error}.") from error
        return None

    def _patches(self, image_size: tuple[int | None, ...] | None) -> tuple[int, int] | None:
        """Return rows and columns of the patches of images of another size."""
        # what is no image has one length or none
        rows, columns = image_size[:2] if image_size and len(image_size) == 3 else (None, None)
        if self.grid is None or not rows or not columns:
            return None
        height, width = self.model.inputs[0].shape[1:3]
        return rows * self.grid[0] // height, columns * self.grid[1] // width

    def _grid_of(self, array: np.ndarray, shape: tuple[int, ...]) -> tuple[int, int] | None:
        """Return rows and columns of a table of positions (..., T, width), None where they are not known: other frameworks' are square."""
        length, (rows, columns) = array.shape[-2], self.grid or (0, 0)
        side = math.isqrt(max(0, length - shape[-2] + rows * columns))
        candidates = [self.given_grid, (side, side) if self.is_foreign else None]
        return next((grid for grid in candidates if grid and grid[0] * grid[1] in (length, length - 1)), None)

    def _is_positions(self, path: str, array: np.ndarray) -> bool:
        return self.grid is not None and "position" in path and array.shape[-1:] == tuple(self.targets[path].shape)[-1:]

    def _carry_epsilon(self, epsilon: float) -> None:
        for layer in self.model._flatten_layers():
            if isinstance(layer, keras.layers.BatchNormalization) and layer.moving_variance.path in self.values:
                path = layer.moving_variance.path
                self.values[path] = (self.values[path].astype("float64") + epsilon - layer.epsilon).astype("float32")


def _reshaped(array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray | None:
    """Keras layouts agree but for axes of size one and attention's split axes."""
    if array.shape == shape:
        return array
    squeezed = [tuple(size for size in one if size != 1) for one in (array.shape, shape)]
    return array.reshape(shape) if squeezed[0] == squeezed[1] and array.size == np.prod(shape) else None
