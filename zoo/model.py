"""`zoo.Model`: a functional Keras model that knows what it is."""

import dataclasses
import re
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import h5py
import keras
import numpy as np

from .. import layers as _layers  # registers our layers, so that a saved model loads in a fresh process
from .errors import CanonError
from .fields import read_fields
from .initializers import FanInNormal
from .records import ModelRecord, Preprocessing
from .safetensors_file import write_safetensors

# what reading a damaged archive raises
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)
VARIANT_ATTRIBUTE = "keras_canon_variant"  # of a .weights.h5 file


@keras.saving.register_keras_serializable(package="keras_canon")
class Model(keras.Model):
    """A functional `keras.Model` with a record of its variant, overrides, preprocessing, labels and origin of weights.

    The record is part of the config, so it survives `save` and `zoo.load_model`. `keras.models.clone_model` keeps the class but
    not the record's truth about weights; use `zoo.create` for a second model.

    Args:
        *args: `inputs` and `outputs`, as for `keras.Model`.
        record: a `ModelRecord` or its plain data.
        **kwargs: passed on to `keras.Model`.
    """

    def __init__(self, *args, record: ModelRecord | Mapping[str, Any] | None = None, **kwargs):
        super().__init__(*args, **kwargs)
        if record is not None and not isinstance(record, ModelRecord):
            record = read_fields(ModelRecord, record, f"the record of model {self.name!r}")
        self._record = record

    @property
    def record(self) -> ModelRecord:
        """What the model knows about itself."""
        if self._record is None:
            raise CanonError(f"Model {self.name!r} carries no record: build it with zoo.create or load it with zoo.load_model.")
        return self._record

    def update_record(
        self, *, labels: Sequence[str] | None = None, weights: str | None = None, preprocessing: Preprocessing | None = None
    ) -> None:
        """Replace the labels, the origin of the weights or the preprocessing in the record; None leaves a field as it is.

        Raises:
            CanonError: when the number of labels is not the number of classes.
        """
        changes: dict[str, Any] = {"weights": weights, "preprocessing": preprocessing}
        if labels is not None:
            if len(labels) != self.record.num_classes:
                raise CanonError(f"Model {self.name!r} has {self.record.num_classes} classes, got {len(labels)} labels.")
            changes["labels"] = tuple(labels)
        self._record = dataclasses.replace(self.record, **{key: value for key, value in changes.items() if value is not None})

    def save_weights(self, filepath, overwrite: bool = True, max_shard_size: float | None = None) -> None:
        """Save the weights with the variant that they are of: as `keras.Model` does to `.weights.h5`, or to `.safetensors`.

        A `.safetensors` file holds each array under the path of its variable, so that any program can read it; the small matrices of
        LoRA are added to their kernels, as Keras does in the other files.
        """
        if str(filepath).endswith(".safetensors"):
            if not overwrite and Path(filepath).exists():
                raise CanonError(f"There is a file {str(filepath)!r} already: name another, or give overwrite=True.")
            write_safetensors(Path(filepath), by_path(self), self.record.variant)
            return
        super().save_weights(filepath, overwrite=overwrite, max_shard_size=max_shard_size)
        if self._record is not None and str(filepath).endswith(".weights.h5") and Path(filepath).is_file():
            with h5py.File(filepath, "a") as file:
                file.attrs[VARIANT_ATTRIBUTE] = self._record.variant

    def get_config(self) -> dict[str, Any]:
        """Return the config of the functional model and the record."""
        return {**super().get_config(), "record": None if self._record is None else self._record.to_config()}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects=None):
        """Rebuild the model from its config."""
        config = dict(config)
        record = config.pop("record", None)
        model = super().from_config(config, custom_objects)
        if record is not None:
            model._record = read_fields(ModelRecord, record, f"the record of model {model.name!r}")
        return model


def by_path(model: keras.Model, merged: bool = True) -> dict[str, np.ndarray]:
    """Return the weights of a model by the path of the variable, without seeds of random layers.

    Args:
        model: any.
        merged: True for the weights of the model without LoRA that answers the same, False for LoRA's matrices beside their kernels.
    """
    values: dict[str, Any] = {weight.path: weight for weight in model.weights if "seed_generator" not in weight.path}
    for layer in lora_layers(model) if merged else ():
        # Dense and convolutions have a kernel, Embedding a table; the property adds the change to the variable of that name
        own = "kernel" if hasattr(layer, "_kernel") else "embeddings"
        values[getattr(layer, f"_{own}").path] = getattr(layer, own)
        for part in "ab":
            del values[getattr(layer, f"lora_{own}_{part}").path]
    return {path: np.asarray(value) for path, value in values.items()}


def lora_layers(model: keras.Model) -> list[keras.layers.Layer]:
    """Return the layers to which LoRA's matrices were added."""
    return [layer for layer in model._flatten_layers() if getattr(layer, "lora_enabled", False)]


def check_ours(model: Any) -> None:
    """Raise unless a model is one of the zoo, whose record says what it is.

    Raises:
        CanonError: for any other model.
    """
    if not isinstance(model, Model):
        name = repr(model.name) if isinstance(model, keras.Model) else type(model).__name__
        raise CanonError(f"{name} is no model of the zoo, whose record would say what it is: build it with zoo.create.")


def model_file(folder: Path) -> Path:
    """Return the `model.keras` of a run's folder.

    Raises:
        CanonError: when it has none, with the name of a run that lies in it.
    """
    file = folder / "model.keras"
    if file.is_file():
        return file
    inner = sorted(folder.glob("*/model.keras"))
    example = f", such as {str(inner[0].parent)!r}" if inner else ""
    raise CanonError(f"There is no model.keras in {str(folder)!r}: give the folder of a run that has finished{example}.")


def load_model(path: str | Path) -> Model:
    """Load a `.keras` file with our layers, in Keras's safe mode.

    A class that was registered after ours under the name of one of ours loses that name, so it is never taken for ours.

    Args:
        path: a file that `Model.save` or a run wrote (`run/model.keras`), or the folder of a run.

    Returns:
        the model, with its record when it is one of ours.

    Raises:
        CanonError: when the file is missing, is no `.keras` file, is damaged, or needs classes that are not registered.
    """
    path = Path(path)
    if path.is_dir():
        path = model_file(path)
    if not path.is_file():
        raise CanonError(f"There is no model file {str(path)!r}: give the path of a .keras file, such as run/model.keras.")
    if path.suffix != ".keras":
        raise CanonError(f"{str(path)!r} is not a .keras file: load_model reads what model.save('NAME.keras') wrote.")
    try:
        # Keras takes whichever class was registered last under a name, whatever custom_objects says
        keras.saving.get_custom_objects().update(_our_objects())
        return keras.saving.load_model(path)  # type: ignore[return-value]
    except CanonError:
        raise
    except _DAMAGE as error:
        reason = str(error).strip().splitlines()
        raise CanonError(
            f"{str(path)!r} could not be loaded, because the file is damaged: {reason[0] if reason else 'it is cut'}."
        ) from error
    except (ValueError, TypeError, KeyError, OSError) as error:
        reason = _reason(error)
        raise CanonError(f"{str(path)!r} could not be loaded as a Keras model: {reason}") from error


def _our_objects() -> dict[str, Any]:
    """Return our classes by registered name."""
    objects = [getattr(_layers, name) for name in _layers.__all__] + [FanInNormal, Model]
    names = {keras.saving.get_registered_name(item): item for item in objects if callable(item)}
    return {name: item for name, item in names.items() if name.startswith("keras_canon>")}


def _reason(error: Exception) -> str:
    """Return what is wrong in one line, out of the configs that Keras prints: the innermost layer's name and the last cause."""
    outer, _, cause = str(error).rpartition("Exception encountered: ")
    line = cause.strip().splitlines()[0].split(" Full object config:")[0] if cause.strip() else type(error).__name__
    names = re.findall(r"'name': '([^']*)'", outer.split("Exception encountered: ")[-1]) if outer else []
    return f"in layer {names[0]!r}: {line}" if names else line
