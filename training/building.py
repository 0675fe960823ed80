"""From a recipe to a compiled model."""

from .. import zoo
from ..zoo.errors import CanonError
from ..zoo.model import Model
from .data import Dataset
from .losses import build_loss
from .optimizers import build_optimizer
from .schedules import learning_rate
from .sections import Recipe, TrainSection


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


def build(recipe: Recipe, data: Dataset) -> Model:
    """Return the compiled model of a recipe."""
    section, train_section = recipe.model, recipe.train
    if train_section.batch_size > len(data.train):
        raise CanonError(
            f"train.batch_size is {train_section.batch_size}, but {data.name!r} has {len(data.train)} training examples: lower it."
        )
    if not len(data.validation) or not len(data.test):
        raise CanonError(f"{data.name!r} has an empty validation or test split: a run needs both, so give it more examples.")
    model = zoo.create(section.name, num_classes=data.num_classes, input_shape=section.input_shape, overrides=section.overrides)
    if model.record.preprocessing is None:
        raise CanonError(f"Model {section.name!r} takes no images, and recipes train on images.")
    model.update_record(labels=data.class_names)
    try:
        rate = learning_rate(recipe.optimizer, recipe.schedule, train_section, updates_per_epoch(train_section, len(data.train)))
    except ValueError as error:
        raise CanonError(f"[schedule] of recipe {recipe.name!r}: {error}") from error
    loss = build_loss(train_section.loss, train_section.loss_options)
    model.compile(optimizer=build_optimizer(recipe.optimizer, rate, model), loss=loss, metrics=["accuracy"], jit_compile=False)
    return model
