"""Weight files and mappings as arrays by name; pickles are never opened."""

from collections.abc import Mapping
from pathlib import Path

import h5py
import keras
import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file

from .errors import CanonError
from .model import load_model
from .records import ModelRecord
from .registry import create

PICKLES = {".pt", ".pth", ".bin", ".pkl", ".ckpt"}


def read_source(source, record: ModelRecord) -> tuple[dict[str, np.ndarray], str]:
    """Return the arrays of a weight source by name, and the format that they speak for.

    Args:
        source: a mapping of names to arrays, a `keras.Model`, or a path: `.safetensors`, `.keras`, `.weights.h5`, or the `.h5`
            of keras.applications.
        record: of the model that the weights are for; a `.weights.h5` file names no layers and is read through its variant.

    Returns:
        (arrays, format); the format of a mapping or a .safetensors file is "" because names alone do not tell.

    Raises:
        CanonError: for a missing, damaged, foreign or pickled file.
    """
    if isinstance(source, keras.Model):
        ours = getattr(source, "_record", None) is not None
        return by_path(source), "canon" if ours else "keras_applications"
    if isinstance(source, Mapping):
        return {name: _array(name, value) for name, value in source.items()}, ""
    path = Path(source)
    if not path.is_file():
        raise CanonError(f"There is no weight file {str(path)!r}: give the path of a .safetensors, .keras, .weights.h5 or .h5 file.")
    if path.suffix in PICKLES:
        raise CanonError(f"{str(path)!r} is a pickle, which can run code when opened: convert it to .safetensors and load that.")
    if path.suffix == ".safetensors":
        return _read_safetensors(path), ""
    if path.suffix == ".keras":
        return by_path(load_model(path)), "canon"
    if path.name.endswith(".weights.h5"):
        return _read_weights_file(path, record), "canon"
    if path.suffix == ".h5":
        return _read_layer_file(path), "keras_applications"
    raise CanonError(f"{str(path)!r} is no weight file that can be read: give a .safetensors, .keras, .weights.h5 or .h5 file.")


def by_path(model: keras.Model) -> dict[str, np.ndarray]:
    """Return the weights of a model by the path of the variable, without seeds of random layers."""
    return {weight.path: np.asarray(weight) for weight in model.weights if "seed_generator" not in weight.path}


def _array(name: str, value) -> np.ndarray:
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        if str(value.dtype) == "torch.bfloat16":
            value = value.float()
    array = np.asarray(value)
    if array.dtype.kind not in "fiub":
        raise CanonError(f"The weight {name!r} is no array of numbers, but {type(value).__name__}.")
    return array


def _read_safetensors(path: Path) -> dict[str, np.ndarray]:
    try:
        return load_file(path)
    except (SafetensorError, OSError, ValueError) as error:
        raise CanonError(f"{str(path)!r} is damaged or no .safetensors file ({error}): fetch it again.") from error


def _read_weights_file(path: Path, record: ModelRecord) -> dict[str, np.ndarray]:
    """Read a `.weights.h5` file through a twin of the variant with as many classes as the file's head has."""
    try:
        with h5py.File(path) as file:
            head = file.get("layers/logits/vars")
            units = {dataset.shape[-1] for dataset in head.values()} if isinstance(head, h5py.Group) else set()
    except OSError as error:
        raise CanonError(f"{str(path)!r} is damaged or no .weights.h5 file: write it again with save_weights.") from error
    classes = units.pop() if len(units) == 1 else record.num_classes
    twin = create(record.variant, num_classes=classes, input_shape=record.input_shape, overrides=record.overrides)
    try:
        twin.load_weights(path)
    except (ValueError, KeyError, OSError) as error:
        reason = str(error).strip().splitlines()[0]
        raise CanonError(f"{str(path)!r} does not hold weights of {record.variant!r}: {reason}") from error
    return by_path(twin)


def _read_layer_file(path: Path) -> dict[str, np.ndarray]:
    """Read the HDF5 layout of Keras 2: a group for each layer, its arrays listed in `weight_names`."""
    try:
        with h5py.File(path) as file:
            root = file.get("model_weights", file)
            if "layer_names" not in root.attrs:
                raise CanonError(f"{str(path)!r} is no Keras weight file: it lists no layers.")
            arrays = {}
            for layer in root.attrs["layer_names"]:
                group = root[_text(layer)]
                for name in group.attrs["weight_names"]:
                    leaf = _text(name).split("/")[-1].split(":")[0]
                    arrays[f"{_text(layer)}/{leaf}"] = np.asarray(group[_text(name)])
            return arrays
    except (OSError, KeyError) as error:
        raise CanonError(f"{str(path)!r} is damaged or no HDF5 weight file ({error}): fetch it again.") from error


def _text(value) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
