"""`train.precision = "auto"`: the precision of a run is found once, and a resumed run keeps it."""

import dataclasses
from pathlib import Path
from typing import Any, cast

import keras
import tensorflow as tf

from .. import zoo
from ..zoo.errors import CanonError
from .auxiliary import WithAuxiliary
from .data.names import is_sequence
from .precision import choose_precision, precision_policy, update_seconds
from .recipe import load_recipe
from .sections import Recipe
from .steps import Totals, TrainStep

# how many there are makes next to no difference to the time
_CLASSES = 10


def resolve_precision(recipe: Recipe, folder: str | Path | None, *, alone: bool) -> Recipe:
    """Return the recipe with the precision that it is run with; on processors, sequences take float32 without being measured.

    Args:
        recipe: whose `train.precision` may be "auto".
        folder: of the run; where an earlier run of the same recipe began there, its precision is kept; None for no folder.
        alone: whether one process and device does all the work. Where several must agree, processors are not measured.
    """
    if recipe.train.precision != "auto":
        return recipe
    earlier = None if folder is None else _earlier(Path(folder) / "recipe.toml")
    if earlier is not None and _with_precision(recipe, earlier.train.precision) == earlier:
        return earlier

    def seconds(policy: str) -> float:
        # equal times choose float32; how long sequences are, and what their labels, no recipe says
        return _seconds(recipe, policy) if alone and not is_sequence(recipe.data.name) else 0.0

    return _with_precision(recipe, choose_precision("auto", seconds))


def _earlier(path: Path) -> Recipe | None:
    try:
        return load_recipe(path)
    except CanonError:
        return None


def _with_precision(recipe: Recipe, precision: str) -> Recipe:
    train = dataclasses.replace(recipe.train, precision=cast(Any, precision))
    return dataclasses.replace(recipe, train=train)


def _seconds(recipe: Recipe, policy: str) -> float:
    """Return the time of an update of the recipe's own model, on a batch of zeros."""
    section = recipe.model
    with precision_policy(policy):
        model = zoo.create(section.name, num_classes=_CLASSES, input_shape=section.input_shape, overrides=section.overrides)
    if model.record.preprocessing is None:
        return 0.0  # a network for sequences, which `build` refuses to train on pictures
    loss = WithAuxiliary(keras.losses.SparseCategoricalCrossentropy(from_logits=True), 1.0)
    model.compile(keras.optimizers.SGD(1e-3), loss=loss)
    inputs, labels = tf.zeros((recipe.train.batch_size, *model.input_shape[1:])), tf.zeros(recipe.train.batch_size, "int64")
    signature = tf.TensorSpec(inputs.shape, inputs.dtype), tf.TensorSpec(labels.shape, labels.dtype)
    step = TrainStep(model, {}, Totals(["loss"]), signature)
    return update_seconds(lambda: float(step(inputs, labels)))
