"""The parts of a run besides model and data that a recipe asks for: averages, plateau, snapshots, augmentation."""

from collections.abc import Callable
from pathlib import Path

import keras

from ..zoo.errors import CanonError
from .augmentation import Augmentation
from .averaging import AveragedWeights, ExponentialAverage, StochasticAverage
from .data.names import is_sequence
from .schedules import plateau_callback
from .sections import Recipe
from .snapshots import Snapshots, cycle_ends
from .updates import UpdateRule, update_rule

_MOMENTUM = 0.999


def refuse_others(recipe: Recipe, what: str) -> None:
    """Refuse recipes that are not trained on pictures from random weights.

    Args:
        recipe: the recipe.
        what: what is for such recipes only, to begin the sentence.

    Raises:
        CanonError: for sequences and for `[transfer]`; it names them.
    """
    if is_sequence(recipe.data.name):
        raise CanonError(f"{what} is for recipes on pictures, and {recipe.data.name!r} of {recipe.name!r} holds sequences.")
    if recipe.transfer.active:
        raise CanonError(f"{what} is for recipes that start from random weights: take the section [transfer] out of {recipe.name!r}.")


def recipe_average(recipe: Recipe, refresh: Callable[[keras.Model], None]) -> AveragedWeights | None:
    """Return the average of a recipe, None for none.

    Args:
        recipe: the recipe.
        refresh: takes the statistics of batch normalisation anew.
    """
    section = recipe.average
    if section.name == "exponential":
        return ExponentialAverage(_MOMENTUM if section.momentum is None else section.momentum)
    return StochasticAverage(section.start_epoch or 1, refresh) if section.name == "stochastic" else None


def recipe_rule(recipe: Recipe, average: AveragedWeights | None) -> UpdateRule:
    """Return how a batch moves the weights."""
    return update_rule(recipe, average if isinstance(average, ExponentialAverage) else None)


def recipe_callbacks(recipe: Recipe, folder: Path, *, writes: bool) -> list[keras.callbacks.Callback]:
    """Return the callbacks that a recipe asks for by its schedule.

    Args:
        recipe: the recipe.
        folder: of the run.
        writes: whether this process writes files.
    """
    plateau = plateau_callback(recipe.schedule, recipe.train.monitor)
    callbacks: list[keras.callbacks.Callback] = [] if plateau is None else [plateau]
    if recipe.train.snapshots and writes:
        callbacks.append(Snapshots(folder / "snapshots", snapshot_epochs(recipe)))
    return callbacks


def snapshot_epochs(recipe: Recipe) -> tuple[int, ...]:
    """Return the epochs, from 0, at whose end a snapshot is taken.

    Raises:
        CanonError: when cycles do not end with epochs, or none ends within the run.
    """
    schedule = recipe.schedule
    return cycle_ends(schedule.cycle_epochs or 0.0, schedule.growth or 1, recipe.train.epochs, schedule.warmup_epochs or 0.0)


def recipe_augmentation(recipe: Recipe, classes: int) -> Augmentation | None:
    """Return the changes of training pictures, None for none."""
    section = recipe.augment
    return Augmentation(section, recipe.train.seed, classes) if section.changes_pictures or section.mixes_labels else None
