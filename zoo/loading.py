"""`zoo.load_weights`: everything is matched and checked first, then assigned, so a bad source leaves the model as it was."""

import difflib
from collections.abc import Mapping
from typing import Literal

import keras
import numpy as np

from .conversion import Conversion, Move, plan
from .errors import CanonError
from .layouts import adapt_input_channels, resample_positions, torch_to_keras, unflatten_channels_first
from .load_report import LoadReport
from .model import Model
from .registry import conversions, info
from .sources import read_source

Format = Literal["auto", "canon", "keras_applications", "torchvision", "huggingface", "torch"]
FORMATS = ("auto", "canon", "keras_applications", "torchvision", "huggingface", "torch")
HEAD = "logits"


def load_weights(model: Model, source, format: Format = "auto", strict: bool = True, *, skip_head: bool = False) -> LoadReport:
    """Load weights of this project or of another framework into a model.

    Args:
        model: a `zoo.Model`.
        source: a mapping of names to arrays, a `keras.Model`, or the path of a .safetensors, .keras, .weights.h5 or .h5 file.
        format: where the names come from; "auto" finds out.
        strict: True to refuse, before anything is changed, a source that lacks a weight, has one too many, or one of another
            shape; False to load what fits and list the rest in the report.
        skip_head: True to leave the output layer `logits` as it is, for another number of classes.

    Returns:
        a `LoadReport`.

    Raises:
        CanonError: for an unreadable source, a format that the variant has no conversion from (weights that fit in shape but
            not in arithmetic are refused), and in strict mode for any difference, with the names and both shapes.
    """
    if format not in FORMATS:
        raise CanonError(f"format must be one of {', '.join(FORMATS)}, got {format!r}.")
    arrays, told = read_source(source, model.record)
    _check_variant(model, source)
    targets = {weight.path: weight for weight in model.weights if "seed_generator" not in weight.path}
    chosen = _choose_format(model, arrays, targets, told if format == "auto" else format)
    loader = _Loader(model, targets, arrays, skip_head)
    if chosen == "canon":
        loader.take_canon()
    else:
        loader.take_converted(_conversion(model, chosen))
    report = loader.report(chosen)
    if strict:
        _refuse_differences(model, report, loader)
    loader.assign()
    return report


def _check_variant(model: Model, source) -> None:
    """Refuse a zoo model of another variant, whose weights may fit in shape but not in arithmetic."""
    record = getattr(source, "_record", None)
    if record is not None and record.variant != model.record.variant:
        raise CanonError(f"Weights of {record.variant!r} are not weights of {model.record.variant!r}: create that variant instead.")


def _choose_format(model: Model, arrays: Mapping, targets: Mapping, wanted: str) -> str:
    if wanted not in ("", "auto"):
        return wanted
    if sum(name in targets for name in arrays) * 2 > len(arrays):
        return "canon"
    best, matched = "", 0
    for conversion in conversions(info(model.record.variant).family):
        count = len(arrays) - len(plan(conversion, arrays, targets)[1])
        if count > matched:
            best, matched = conversion.format, count
    if not best:
        some = ", ".join(list(arrays)[:3])
        raise CanonError(
            f"The names of the weights ({some}, ...) are those of no format known for {model.record.variant!r}: name the format."
        )
    return best


def _conversion(model: Model, chosen: str) -> Conversion:
    variant = model.record.variant
    candidates = [one for one in conversions(info(variant).family) if one.format == chosen]
    for conversion in candidates:
        if variant in conversion.variants:
            return conversion
    others = [name for conversion in candidates for name in conversion.variants]
    near = difflib.get_close_matches(variant, others, n=2, cutoff=0.6)
    cure = f"such weights fit {' or '.join(map(repr, near))}" if near else "no variant of its family takes them"
    raise CanonError(f"{variant!r} cannot take weights in the format {chosen!r}, because its arithmetic differs: {cure}.")


def _refuse_differences(model: Model, report: LoadReport, loader: "_Loader") -> None:
    faults = [f"{path} is {ours} and the source has {source}" for path, source, ours in report.skipped if not loader.left_out(path)]
    faults += [f"{path} {shape} is missing" for path, shape in report.missing if not loader.left_out(path)]
    faults += [f"{name} is not used" for name in report.unused if name not in loader.not_needed]
    if faults:
        more = f", and {len(faults) - 3} more" if len(faults) > 3 else ""
        raise CanonError(f"The weights do not fit {model.name!r}: {'; '.join(faults[:3])}{more} (strict=False loads what fits).")


class _Loader:
    """Collects what goes where; nothing is assigned before `assign`."""

    def __init__(self, model: Model, targets: Mapping, arrays: Mapping[str, np.ndarray], skip_head: bool):
        self.model, self.targets, self.arrays, self.skip_head = model, targets, arrays, skip_head
        self.values: dict[str, np.ndarray] = {}
        self.loaded, self.adapted, self.skipped = [], [], []
        self.unused: list[str] = []
        self.not_needed: set[str] = set()
        self.biases: list[tuple[str, str]] = []
        kernels = [path for path in targets if path.endswith("kernel")]
        self.stem = kernels[0] if kernels else ""

    def left_out(self, path: str) -> bool:
        return self.skip_head and path.split("/")[0] == HEAD

    def take_canon(self) -> None:
        for name, array in self.arrays.items():
            if name in self.targets:
                self.put(name, name, array)
            else:
                self.unused.append(name)

    def take_converted(self, conversion: Conversion) -> None:
        moves, unknown = plan(conversion, self.arrays, self.targets)
        self.unused += unknown
        for move in moves:
            self._move(move, conversion)
        for name, path in self.biases:
            if path in self.values:
                self.values[path] = self.values[path] - self.arrays[name]
        if conversion.epsilon is not None:
            self._carry_epsilon(conversion.epsilon)

    def _move(self, move: Move, conversion: Conversion) -> None:
        array = self.arrays[move.name]
        if move.rule.how == "skip":
            self.unused.append(move.name)
            self.not_needed.add(move.name)
            return
        if any(path not in self.targets for path in move.targets):
            self.unused.append(move.name)
            if self.left_out(move.targets[0]):
                self.not_needed.add(move.name)
            return
        if move.rule.how == "absorb_bias":
            self.biases.append((move.name, move.targets[0]))
            self.loaded.append((move.name, move.targets[0], array.shape))
            return
        if move.rule.how == "flatten":
            array = unflatten_channels_first(array, *move.rule.shape)
        pieces = np.split(array, len(move.targets)) if move.rule.how == "split" else [array]
        keep = move.rule.how == "same" or conversion.format == "keras_applications"
        for path, piece in zip(move.targets, pieces, strict=True):
            self.put(move.name, path, piece, None if keep else "torch")

    def put(self, name: str, path: str, array: np.ndarray, layout: str | None = None) -> None:
        """Note the array for the variable at `path`, after a layout change or an adaptation where one applies."""
        shape = tuple(self.targets[path].shape)
        if self.left_out(path):
            self.skipped.append((path, array.shape, shape))
            self.not_needed.add(name)
            return
        if path in self.values:
            raise CanonError(f"Two arrays lead to {path}, the second is {name}: the source is not in the format asked for.")
        found = torch_to_keras(array, shape, path.split("/")[-1]) if layout == "torch" else _reshaped(array, shape)
        if found is None:
            found = self._adapted(path, array, shape, layout)
            if found is None:
                self.skipped.append((path, array.shape, shape))
                return
            self.adapted.append((path, array.shape, shape))
        self.values[path] = found
        self.loaded.append((name, path, shape))

    def _adapted(self, path: str, array: np.ndarray, shape: tuple[int, ...], layout: str | None) -> np.ndarray | None:
        if path == self.stem:
            kernel = np.transpose(array, (*range(2, array.ndim), 1, 0)) if layout == "torch" else array
            if kernel.ndim == len(shape) > 2 and kernel.shape[:-2] == shape[:-2] and kernel.shape[-1] == shape[-1]:
                return adapt_input_channels(kernel, shape[-2])
        if "position" in path and array.shape[-1] == shape[-1]:
            table = array.reshape(-1, array.shape[-1])
            try:
                return resample_positions(table, shape[-2]).reshape(shape)
            except ValueError as error:
                raise CanonError(f"{path}: {error}.") from error
        return None

    def _carry_epsilon(self, epsilon: float) -> None:
        for layer in self.model._flatten_layers():
            if isinstance(layer, keras.layers.BatchNormalization) and layer.moving_variance.path in self.values:
                path = layer.moving_variance.path
                self.values[path] = (self.values[path].astype("float64") + epsilon - layer.epsilon).astype("float32")

    def report(self, chosen: str) -> LoadReport:
        put = {path for path, *_ in self.skipped} | set(self.values)
        missing = tuple((path, tuple(weight.shape)) for path, weight in self.targets.items() if path not in put)
        return LoadReport(chosen, tuple(self.loaded), tuple(self.adapted), tuple(self.skipped), missing, tuple(self.unused))

    def assign(self) -> None:
        for path, value in self.values.items():
            self.targets[path].assign(value)


def _reshaped(array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray | None:
    """Keras layouts agree but for axes of size one and attention's split axes."""
    if array.shape == shape:
        return array
    squeezed = [tuple(size for size in one if size != 1) for one in (array.shape, shape)]
    return array.reshape(shape) if squeezed[0] == squeezed[1] and array.size == np.prod(shape) else None
