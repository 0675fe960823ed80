"""From a recipe to a compiled model."""

import dataclasses

import keras

from .. import zoo
from ..zoo.errors import CanonError
from ..zoo.fields import read_fields
from ..zoo.model import Model
from ..zoo.records import Preprocessing
from .auxiliary import WithAuxiliary, auxiliary_outputs
from .data import Dataset
from .data.balance import class_weights
from .data.sequences import SequenceDataset
from .losses import ClassWeighted, build_loss, class_weight_list
from .optimizers import build_optimizer
from .penalties import add_penalties
from .precision import precision_policy
from .recipe_parts import snapshot_epochs
from .schedules import learning_rate, momentum
from .sections import ModelSection, Recipe, TrainSection
from .sequence_building import sequence_model
from .sequence_losses import sequence_loss


def updates_per_epoch(section: TrainSection, examples: int) -> int:
    """Return how many batches an epoch has; the last of them may be short.

    Raises:
        CanonError: when the data cannot fill `steps_per_epoch`.
    """
    batches = -(-examples // section.batch_size)
    if section.steps_per_epoch is not None and section.steps_per_epoch > batches:
        raise CanonError(
            f"train.steps_per_epoch is {section.steps_per_epoch}, but {examples} training examples fill only {batches} batches: lower it."
        )
    return section.steps_per_epoch or batches


def build(recipe: Recipe, data: Dataset | SequenceDataset) -> Model:
    """Return the compiled model of a recipe."""
    train_section = recipe.train
    if train_section.batch_size > len(data.train):
        raise CanonError(
            f"train.batch_size is {train_section.batch_size}, but {data.name!r} has {len(data.train)} training examples: lower it."
        )
    if not len(data.validation) or not len(data.test):
        raise CanonError(f"{data.name!r} has an empty validation or test split: a run needs both, so give it more examples.")
    if train_section.snapshots:
        snapshot_epochs(recipe)
    with precision_policy(train_section.precision):
        model = sequence_model(recipe, data) if isinstance(data, SequenceDataset) else _picture_model(recipe, data)
    if model.record.num_classes == len(data.class_names):  # a model of language has none, only a vocabulary
        model.update_record(labels=data.class_names)
    add_penalties(model, train_section.l1, train_section.l2)
    updates = updates_per_epoch(train_section, len(data.train))
    try:
        rate = learning_rate(recipe.optimizer, recipe.schedule, train_section, updates)
        follow = momentum(recipe.schedule, train_section, updates)
    except ValueError as error:
        raise CanonError(f"[schedule] of recipe {recipe.name!r}: {error}") from error
    optimizer = build_optimizer(recipe.optimizer, rate, model, follow)
    if train_section.precision == "mixed_float16":
        # float16 holds nothing below 6e-8: small gradients would vanish
        optimizer = keras.optimizers.LossScaleOptimizer(optimizer)
    loss = sequence_loss(train_section, data) if isinstance(data, SequenceDataset) else _loss(train_section, data, model)
    model.compile(optimizer=optimizer, loss=loss, metrics=["accuracy"], jit_compile=False, auto_scale_loss=False)
    return model


def _picture_model(recipe: Recipe, data: Dataset) -> Model:
    section = recipe.model
    model = zoo.create(section.name, num_classes=data.num_classes, input_shape=section.input_shape, overrides=section.overrides)
    if model.record.preprocessing is None:
        raise CanonError(f"Model {section.name!r} reads sequences, and {data.name!r} holds pictures: try rows:{data.name}.")
    change_preprocessing(model, section)
    return model


def change_preprocessing(model: Model, section: ModelSection) -> None:
    """Change how pictures become the model's input as `[model]` asks for; the model's record has it then.

    Raises:
        CanonError: for a name or a value that preprocessing has not, and for the size and the channels, which follow from the input.
    """
    if section.preprocessing:
        where = "model.preprocessing"
        for name in ("size", "channels"):
            if name in section.preprocessing:
                raise CanonError(f"{name} in {where} follows from model.input_shape: leave it out, and set that.")
        present = model.record.preprocessing
        assert present is not None  # models of sequences were refused before
        table = {**dataclasses.asdict(present), **section.preprocessing}
        model.update_record(preprocessing=read_fields(Preprocessing, table, where))


def _loss(section: TrainSection, data: Dataset, model: Model) -> keras.losses.Loss:
    if section.scheduled_sampling:
        raise CanonError("train.scheduled_sampling replaces words of translations, and pictures have none: leave it out.")
    if section.loss in ("ctc", "mean_squared_error"):
        raise CanonError(f"train.loss {section.loss!r} is for sequences whose labels are no classes: use 'cross_entropy' for classes.")
    loss, auxiliary = build_loss(section.loss, section.loss_options), auxiliary_outputs(model)
    if section.class_weights is not None:
        weights = section.class_weights
        if isinstance(weights, str):  # "balanced"
            weights = class_weights(data.train.labels, data.class_names)
        loss = ClassWeighted(loss, class_weight_list(weights, data.class_names))
    if bool(auxiliary) != (section.auxiliary_weight is not None):
        raise CanonError(
            f"Model {model.name!r} has the auxiliary outputs {', '.join(auxiliary)}: set train.auxiliary_weight, the weight of their loss."
            if auxiliary
            else f"train.auxiliary_weight does nothing to {model.name!r}, which has one output: leave it out."
        )
    return WithAuxiliary(loss, section.auxiliary_weight) if section.auxiliary_weight is not None else loss
