"""Features of a trained model for every picture of a data set, in one `.npz` file."""

import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from ..zoo import features as feature_maps
from ..zoo.errors import CanonError
from ..zoo.model import Model
from .data import Dataset, load
from .evaluation import load_trained
from .pipeline import batches
from .steps import compiled

_SPLITS = ("train", "validation", "test")


@dataclass(frozen=True, eq=False)
class Features:
    """What a model says of each picture before it decides.

    Args:
        model: name of the model.
        data: name of the data set.
        class_names: by class number.
        values: by split, float32 (N, dimensions).
        labels: by split, int64 (N,).
        ids: by split, a string for each example, (N,).
    """

    model: str
    data: str
    class_names: tuple[str, ...]
    values: Mapping[str, np.ndarray]
    labels: Mapping[str, np.ndarray]
    ids: Mapping[str, np.ndarray]

    @property
    def dimensions(self) -> int:
        """How many numbers there are for each picture."""
        return self.values["train"].shape[1]

    def save(self, path: str | Path) -> Path:
        """Write an `.npz` file in one move: `train_features`, `train_labels`, `train_ids` and so on, `class_names`, `model` and `data`."""
        path = Path(path)
        if path.suffix != ".npz":
            raise CanonError(f"Features are written to a file that ends in .npz, got {str(path)!r}.")
        arrays: dict[str, Any] = {"model": self.model, "data": self.data, "class_names": np.array(self.class_names)}
        for split in _SPLITS:
            found = {"features": self.values[split], "labels": self.labels[split], "ids": self.ids[split]}
            arrays |= {f"{split}_{key}": value for key, value in found.items()}
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"part.{path.name}")
        np.savez_compressed(part, **arrays)
        part.replace(path)
        return path


def load_features(path: str | Path) -> Features:
    """Read what `Features.save` wrote.

    Raises:
        CanonError: for a missing file, or one that holds something else.
    """
    path = Path(path)
    if not path.is_file():
        raise CanonError(f"There is no file {str(path)!r}: `canon features` writes it.")
    try:
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            columns = ({split: file[f"{split}_{key}"] for split in _SPLITS} for key in ("features", "labels", "ids"))
            return Features(str(file["model"]), str(file["data"]), tuple(file["class_names"].tolist()), *columns)
    except (KeyError, ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise CanonError(f"{str(path)!r} is no file of features: {' '.join(str(error).split())}") from error


def extract_features(model: Model | str | Path, data: Dataset | str, *, layer: str | None = None, batch_size: int = 256) -> Features:
    """Compute the features of all splits of a data set.

    Args:
        model: a `zoo.Model`, a run's folder, or a `.keras` file; its own preprocessing is used.
        data: a data set or its name.
        layer: name of a feature map out of `zoo.info(variant).features`, averaged over its positions; None for what enters the head.
        batch_size: pictures at a time; it changes the speed only.

    Raises:
        CanonError: for a model without preprocessing or head, a feature map that it does not have, or data that cannot be had.

    Example:
        >>> from keras_canon import training, zoo
        >>> features = training.extract_features(zoo.create("lenet5_modern"), "digits")
        >>> features.values["test"].shape
        (360, 84)
    """
    if not isinstance(model, Model):
        model, _ = load_trained(model)
    preprocessing = model.record.preprocessing
    if preprocessing is None:
        raise CanonError(f"Model {model.name!r} has no preprocessing in its record: its inputs are not images.")
    data = data if isinstance(data, Dataset) else load(data)
    extractor = feature_vectors(model, layer)
    forward, values = None, {}
    for name, split in data.splits.items():
        pictures = batches(split, preprocessing, batch_size)
        forward = forward or _compiled(extractor, pictures)
        values[name] = np.concatenate([forward(images).numpy() for images, _ in pictures])
    labels, ids = ({name: getattr(split, key) for name, split in data.splits.items()} for key in ("labels", "ids"))
    return Features(model.name, data.name, data.class_names, values, labels, ids)


def feature_vectors(model: Model, layer: str | None = None) -> keras.Model:
    """Return a model that gives one vector (B, dimensions) for each picture, sharing all weights.

    Args:
        model: a `zoo.Model`.
        layer: name of a feature map; None for what enters the head, or the output of a model without one.
    """
    heads = [item for item in model.layers if item.name == "logits"]
    tensor = heads[0].input if heads else model.output
    if layer is not None:
        tensor = feature_maps(model, [layer]).output[layer]
    if isinstance(tensor, list | tuple | dict):
        raise CanonError(f"Model {model.name!r} has no single tensor before its head: name a feature map with `layer`.")
    if len(tensor.shape) > 2:
        pool = keras.layers.GlobalAveragePooling2D if len(tensor.shape) == 4 else keras.layers.GlobalAveragePooling1D
        tensor = pool(data_format="channels_last", name="feature_pool")(tensor)
    return keras.Model(model.input, tensor, name=f"{model.name}_vectors")


def _compiled(extractor: keras.Model, pictures: tf.data.Dataset):
    def outputs(images):
        return tf.cast(extractor(images, training=False), "float32")

    return compiled(outputs, tf.nest.flatten(pictures.element_spec)[:1])
