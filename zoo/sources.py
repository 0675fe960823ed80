"""Weight files and mappings as arrays by name; pickles are never opened."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import h5py
import keras
import numpy as np

from .applications import read_application_file
from .errors import CanonError
from .model import VARIANT_ATTRIBUTE, Model, by_path, load_model, lora_layers
from .records import ModelRecord
from .safetensors_file import read_safetensors

# what wrappers put before every name: torch.nn.DataParallel and torch.compile
_WRAPPERS = ("module.", "_orig_mod.")
PICKLES = {".pt", ".pth", ".bin", ".pkl", ".ckpt"}


@dataclass(frozen=True)
class Source:
    """Arrays by name, and what their source says about itself.

    Args:
        arrays: name -> array.
        format: format of the names; "" for a mapping or a .safetensors file from elsewhere, whose names alone do not tell.
        origin: how to name the source in a model's record.
        variant: the variant of the zoo that the arrays are of, "" when the source does not say.
        record: of the zoo model that the arrays are of, when the source carries it.
    """

    arrays: dict[str, np.ndarray]
    format: str
    origin: str
    variant: str = ""
    record: ModelRecord | None = None


def read_source(source, model: Model) -> Source:
    """Return the arrays of a weight source by name.

    Args:
        source: a mapping of names to arrays, a `keras.Model`, or a path: `.safetensors`, `.keras`, `.weights.h5`, or the `.h5`
            of keras.applications.
        model: the model that the weights are for; its variant says which network of keras.applications an `.h5` file is of, and
            its layers how a `.weights.h5` file, which lists arrays by layer and number, calls them.

    Raises:
        CanonError: for a missing, damaged, foreign or pickled file.
    """
    if isinstance(source, keras.Model):
        return _read_model(source, f"model {source.name!r}", model)
    if isinstance(source, Mapping):
        return Source(_bare({name: _array(name, value) for name, value in source.items()}), "", "a mapping of arrays")
    path = Path(source)
    if not path.is_file():
        raise CanonError(f"There is no weight file {str(path)!r}: give the path of a .safetensors, .keras, .weights.h5 or .h5 file.")
    if path.suffix in PICKLES:
        raise CanonError(f"{str(path)!r} is a pickle, which can run code when opened: convert it to .safetensors and load that.")
    if path.suffix == ".safetensors":
        arrays, variant = read_safetensors(path)
        arrays = {name: _array(name, array) for name, array in arrays.items()}
        return Source(arrays if variant else _bare(arrays), "canon" if variant else "", str(path), variant)
    if path.suffix == ".keras":
        return _read_model(load_model(path), str(path), model)
    if path.name.endswith(".weights.h5"):
        return _read_weights_file(path, model)
    if path.suffix == ".h5":
        return Source(_read_layer_file(path, model), "keras_applications", str(path))
    raise CanonError(f"{str(path)!r} is no weight file that can be read: give a .safetensors, .keras, .weights.h5 or .h5 file.")


def _read_model(source: keras.Model, origin: str, model: Model) -> Source:
    arrays = by_path(source, merged=not lora_layers(model))  # from LoRA to LoRA everything goes as it is
    record = getattr(source, "_record", None)
    if record is not None:
        return Source(arrays, "canon", origin, record.variant, record)
    return Source(arrays, "keras_applications", origin)


def _array(name: str, value) -> np.ndarray:
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        if str(value.dtype) == "torch.bfloat16":
            value = value.float()
    array = np.asarray(value)
    if array.dtype.name.startswith(("bfloat", "float8")):  # of ml_dtypes, which NumPy takes for raw bytes
        return array.astype("float32")
    if array.dtype.kind not in "fiub":
        raise CanonError(f"The weight {name!r} is no array of numbers, but {type(value).__name__} of {array.dtype}.")
    return array


def _bare(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return arrays without what a wrapper of torch put before all their names."""
    for prefix in _WRAPPERS:
        if arrays and all(isinstance(name, str) and name.startswith(prefix) for name in arrays):
            return _bare({name.removeprefix(prefix): array for name, array in arrays.items()})
    return arrays


def _read_weights_file(path: Path, model: Model) -> Source:
    """Read the HDF5 layout of Keras 3: nested groups of layers, each with its name and its arrays by number."""
    known = {}
    for layer in model._flatten_layers():
        own: dict = {}
        layer.save_own_variables(own)
        known |= {f"{layer.path}/{index}": variable.path for index, variable in own.items()}
    try:
        with h5py.File(path) as file:
            if not isinstance(file.get("layers"), h5py.Group):
                raise CanonError(f"{str(path)!r} is no .weights.h5 file: it lists no layers.")
            variant = file.attrs.get(VARIANT_ATTRIBUTE, "")
            arrays = {known.get(name, known.get(inner, name)): array for name, inner, array in _numbered_arrays(file["layers"], (), ())}
    except (OSError, KeyError, RuntimeError) as error:
        raise CanonError(f"{str(path)!r} is damaged or no .weights.h5 file ({error}): write it again with save_weights.") from error
    return Source(arrays, "canon", str(path), str(variant))


def _numbered_arrays(group: h5py.Group, path: tuple[str, ...], inner: tuple[str, ...]):
    """Yield ("layer/sublayer/number", the same from the innermost model on, array) for a group and all groups in it.

    The layers of a model inside a model were mostly built before it, so that their paths do not begin with its name.
    """
    own = group.get("vars")
    if isinstance(own, h5py.Group) and "name" in own.attrs:
        path, inner = ((*names, str(own.attrs["name"])) for names in (path, inner))
        for number, dataset in own.items():
            yield "/".join((*path, number)), "/".join((*inner, number)), np.asarray(dataset)
    for name, child in group.items():
        if isinstance(child, h5py.Group) and name != "vars" and not name.startswith("seed_generator"):
            yield from _numbered_arrays(child, path, () if name == "layers" else inner)


def _read_layer_file(path: Path, model: Model) -> dict[str, np.ndarray]:
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
    except (OSError, KeyError, RuntimeError) as error:
        raise CanonError(f"{str(path)!r} is damaged or no HDF5 weight file ({error}): fetch it again.") from error
    twin = read_application_file(path, model.record.variant, list(arrays.values()))
    return arrays if twin is None else by_path(twin)


def _text(value) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
