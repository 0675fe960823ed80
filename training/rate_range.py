"""The learning-rate range test: a short run with a rate that grows, to see which rates a network takes."""

import dataclasses
import math
from collections.abc import Iterator
from dataclasses import dataclass

import keras
import numpy as np
import tensorflow as tf

from ..zoo.errors import CanonError
from .auto_precision import resolve_precision
from .building import build
from .data import Dataset
from .optimizers import build_optimizer
from .pipeline import epoch_order, load_data, reader
from .recipe_parts import recipe_augmentation, recipe_rule, refuse_others
from .schedule_section import ScheduleSection
from .sections import Recipe
from .steps import NotFinite, Totals, TrainStep

# share of the old mean in the smoothed loss
_SMOOTHING = 0.9
# a loss so many times the best has run away
_DIVERGED = 4.0
_LEAST_UPDATES = 10


@dataclass(frozen=True, eq=False)
class RateRange:
    """What a range test found.

    Args:
        rates: the rate of each update.
        losses: the loss of its batch, before it.
        smoothed: a mean of the losses in which old ones count less and less.
        suggestion: the rate at which the smoothed loss falls fastest over the logarithm of the rate.
    """

    rates: np.ndarray
    losses: np.ndarray
    smoothed: np.ndarray
    suggestion: float


def find_rate(recipe: Recipe, *, low: float = 1e-6, high: float = 10.0, updates: int = 200) -> RateRange:
    """Train a recipe's model with a rate that grows by the same factor at every update, until the loss runs away.

    Everything but the schedule is the recipe's: data, augmentation, optimizer, clipping, precision. The model is thrown away.

    Args:
        recipe: the recipe.
        low: the first rate.
        high: the last rate.
        updates: how many, at most.

    Raises:
        CanonError: for bounds that do not ascend, too few updates, a loss that ran away before it fell, or a recipe on sequences or with
            `[transfer]`.

    Reference:
        Smith, 2017, "Cyclical Learning Rates for Training Neural Networks", section 3.3 ("LR range test"), arXiv:1506.01186; here the
        rate grows by factors and not by equal steps, and the test is of batches and not of epochs.
    """
    if not 0.0 < low < high:
        raise CanonError(f"The rates of a range test must ascend from above 0, got {low} to {high}.")
    if updates < _LEAST_UPDATES:
        raise CanonError(f"A range test needs at least {_LEAST_UPDATES} updates, got {updates}.")
    refuse_others(recipe, "The range test")
    recipe = resolve_precision(recipe, None, alone=True)
    data = load_data(recipe.data)
    # after the data, whose preparation (once a machine) draws random numbers too
    keras.utils.set_random_seed(recipe.train.seed)
    model = _model(recipe, data, keras.optimizers.schedules.ExponentialDecay(low, updates - 1, high / low))
    rates, losses = [], []
    for rate, loss in _updates(recipe, data, model, updates):
        if not math.isfinite(loss) or (losses and loss > 100.0 * _DIVERGED * losses[0]):
            break
        rates.append(rate)
        losses.append(loss)
        smoothed = smooth(losses)
        if len(losses) > _LEAST_UPDATES and smoothed[-1] > _DIVERGED * smoothed.min():
            break
    return RateRange(np.array(rates), np.array(losses), smooth(losses), suggest(rates, losses))


def _model(recipe: Recipe, data: Dataset, schedule) -> keras.Model:
    """Return the recipe's model, with another schedule in the place of its own."""
    plain = dataclasses.replace(recipe, schedule=ScheduleSection(), train=dataclasses.replace(recipe.train, snapshots=False))
    model = build(plain, data)
    optimizer = build_optimizer(recipe.optimizer, schedule, model)
    if isinstance(model.optimizer, keras.optimizers.LossScaleOptimizer):
        optimizer = keras.optimizers.LossScaleOptimizer(optimizer)
    model.compile(optimizer=optimizer, loss=model.loss, jit_compile=False, auto_scale_loss=False)
    return model


def _updates(recipe: Recipe, data: Dataset, model: keras.Model, updates: int) -> Iterator[tuple[float, float]]:
    """Yield the rate and the loss of each update; it ends early where the loss is no number."""
    preprocessing, section = model.record.preprocessing, recipe.train
    read = reader(data.train, preprocessing, section.batch_size, recipe_augmentation(recipe, data.num_classes))
    per_epoch = -(-len(data.train) // section.batch_size)
    totals, step = Totals(["loss"]), None
    for epoch in range(-(-updates // per_epoch)):
        batches: tf.data.Dataset = read(epoch_order(len(data.train), section.seed, epoch), epoch).take(updates - epoch * per_epoch)
        step = step or TrainStep(model, {}, totals, batches.element_spec, recipe_rule(recipe, None))
        for inputs, labels in batches:
            totals.reset()
            try:
                rate = float(step(inputs, labels))
            except NotFinite:
                return
            yield rate, totals.means()["loss"]


def smooth(losses) -> np.ndarray:
    """Return the exponential mean of losses, corrected for its start, so that the first one is the first loss."""
    mean, smoothed = 0.0, []
    for number, loss in enumerate(losses, 1):
        mean = _SMOOTHING * mean + (1.0 - _SMOOTHING) * loss
        smoothed.append(mean / (1.0 - _SMOOTHING**number))
    return np.array(smoothed)


def suggest(rates, losses) -> float:
    """Return the rate at which the smoothed loss falls fastest, before it is lowest.

    Raises:
        CanonError: when it never fell.
    """
    smoothed = smooth(losses)
    lowest = int(smoothed.argmin()) if len(smoothed) else 0
    if lowest < 2:
        raise CanonError("The loss ran away before it fell: start the range test from a lower rate, or look at the data with canon doctor.")
    slopes = np.gradient(smoothed[: lowest + 1], np.log(np.asarray(rates)[: lowest + 1]))
    return float(rates[int(slopes.argmin())])
