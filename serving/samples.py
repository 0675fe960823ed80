"""Data that an export is checked, calibrated and measured on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from ..zoo.errors import CanonError
from ..zoo.preprocessing import apply_preprocessing, decode_image
from ..zoo.records import Preprocessing
from .bundle import TensorSpec
from .tensors import from_array

TARGETS = "targets"
_IMAGES = {".jpg", ".jpeg", ".png", ".gif", ".bmp", ".webp"}
_OPEN_SIZE = 32  # of an axis of any length


@dataclass(frozen=True)
class Samples:
    """Rows of inputs, with the right classes where they are known.

    Args:
        inputs: name of the input -> array, rows on axis 0.
        targets: class index of each row.
    """

    inputs: dict[str, np.ndarray]
    targets: np.ndarray | None = None

    def __len__(self) -> int:
        return len(next(iter(self.inputs.values())))

    def rows(self, start: int, stop: int) -> dict[str, np.ndarray]:
        """Return some of the rows."""
        return {name: array[start:stop] for name, array in self.inputs.items()}


def read_samples(data: Any, specs: Mapping[str, TensorSpec], preprocessing: Preprocessing | None, labels: Sequence[str]) -> Samples:
    """Read what the caller gave as data.

    Args:
        data: an array of a single input; a mapping of input names to arrays; a pair of one of these and the class indices; a path of
            an `.npz` file with arrays named like the inputs and, for the classes, `targets`; or a folder of images, in one folder a
            class where the classes are known.
        specs: name -> the type and shape of the input.
        preprocessing: for images.
        labels: names of the classes, in the order of the logits; a folder's name is looked up in them.

    Raises:
        CanonError: for data that do not fit, or none.
    """
    targets = None
    if isinstance(data, str | Path):
        inputs, targets = _read_path(Path(data), preprocessing, labels)
    elif isinstance(data, tuple) and len(data) == 2:
        inputs, targets = data
    else:
        inputs = data
    if not isinstance(inputs, Mapping):
        if len(specs) != 1:
            raise CanonError(f"The model has the inputs {', '.join(specs)}: give data as a mapping of names to arrays.")
        inputs = {next(iter(specs)): inputs}
    if set(inputs) != set(specs):
        raise CanonError(f"The data must hold exactly the inputs {', '.join(sorted(specs))}, got {', '.join(sorted(inputs)) or 'none'}.")
    samples = Samples({name: from_array(inputs[name], spec, name) for name, spec in specs.items()}, _classes(targets, len(labels)))
    lengths = {len(array) for array in samples.inputs.values()} | (set() if samples.targets is None else {len(samples.targets)})
    if len(lengths) != 1 or 0 in lengths:
        raise CanonError(f"The data need the same number of rows, at least one, in every input and target, got {sorted(lengths)}.")
    return samples


def random_samples(specs: Mapping[str, TensorSpec], rows: int = 2) -> Samples:
    """Return rows of normal noise, or of zeros and ones for whole numbers."""
    rng = np.random.default_rng(0)
    arrays = {}
    for name, spec in specs.items():
        shape = (rows, *(size or _OPEN_SIZE for size in (spec.shape or ())[1:]))
        dtype = np.dtype(spec.dtype)
        arrays[name] = (rng.normal(size=shape) if dtype.kind == "f" else rng.integers(0, 2, shape)).astype(dtype)
    return Samples(arrays)


def _read_path(path: Path, preprocessing: Preprocessing | None, labels: Sequence[str]) -> tuple[dict[str, np.ndarray], Any]:
    if path.is_dir():
        return _read_images(path, preprocessing, labels)
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except (OSError, ValueError, EOFError, AttributeError) as error:
        raise CanonError(f"The data in {str(path)!r} cannot be read: give an .npz file of arrays, or a folder of images.") from error
    return arrays, arrays.pop(TARGETS, None)


def _read_images(folder: Path, preprocessing: Preprocessing | None, labels: Sequence[str]) -> tuple[dict[str, np.ndarray], Any]:
    if preprocessing is None:
        raise CanonError("A folder of images needs a model with a preprocessing: give an .npz file of arrays instead.")
    # a notebook, an editor or a file system keeps copies in hidden folders
    shown = (path for path in folder.rglob("*") if not any(part.startswith(".") for part in path.relative_to(folder).parts))
    files = sorted(path for path in shown if path.suffix.lower() in _IMAGES)
    if not files:
        raise CanonError(f"There are no images in {str(folder)!r}: give a folder of JPEG, PNG, GIF, BMP or WebP files.")
    names = [path.parent.name for path in files]
    known = {label: index for index, label in enumerate(labels)}
    unknown = {name for name in names if name not in known}
    # where no folder is a class, the classes are not known
    if unknown and unknown < set(names):
        raise CanonError(f"In {str(folder)!r} some folders of images are no class of the model: {', '.join(map(repr, sorted(unknown)))}.")
    images = np.stack([_read_image(path, preprocessing) for path in files])
    return {"images": images}, [known[name] for name in names] if not unknown else None


def _read_image(path: Path, preprocessing: Preprocessing) -> np.ndarray:
    try:
        return apply_preprocessing(decode_image(tf.constant(path.read_bytes())), preprocessing).numpy()
    except tf.errors.InvalidArgumentError as error:
        raise CanonError(f"No JPEG, PNG, GIF, BMP or WebP image could be read from {str(path)!r}.") from error


def _classes(targets: Any, count: int) -> np.ndarray | None:
    if targets is None:
        return None
    array = np.asarray(targets)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise CanonError(f"Targets must be class indices, one a row, got {array.dtype} of shape {array.shape}.")
    if array.size and (array.min() < 0 or (count and array.max() >= count)):
        allowed = f"0 to {count - 1}" if count else "0 or above"
        raise CanonError(f"Targets must be class indices {allowed}, got {array.min()} to {array.max()}.")
    return array
