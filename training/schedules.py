"""Learning rates by step, as Keras schedules that serialise, for `fit` and for our loop alike."""

import keras

from .schedule_section import ScheduleSection
from .schedules_chain import Chain, Constant, InverseSquareRoot, Warmup
from .schedules_cosine import CosineRestarts, WarmupCosine
from .schedules_linear import PiecewiseLinear, Triangular, one_cycle, one_cycle_momentum
from .sections import OptimizerSection, TrainSection

__all__ = [
    "Chain",
    "Constant",
    "CosineRestarts",
    "InverseSquareRoot",
    "PiecewiseLinear",
    "Triangular",
    "Warmup",
    "WarmupCosine",
    "learning_rate",
    "momentum",
    "one_cycle",
    "one_cycle_momentum",
    "plateau_callback",
]


def learning_rate(
    optimizer: OptimizerSection, schedule: ScheduleSection, train: TrainSection, steps_per_epoch: int
) -> float | keras.optimizers.schedules.LearningRateSchedule:
    """Return what a recipe asks for: a number, or a schedule over all updates of the run.

    Args:
        optimizer, schedule, train: sections of the recipe.
        steps_per_epoch: updates of an epoch.

    Raises:
        ValueError: when a warm-up or a part of a chain is longer than the run, or a floor is above the highest rate.
    """
    total = train.epochs * steps_per_epoch
    if schedule.name == "plateau" or (schedule.name == "constant" and not schedule.warmup_epochs and not schedule.then):
        return optimizer.learning_rate
    parts, boundaries, begin = [], [], 0
    for part in (schedule, *schedule.then):
        length = total - begin if part.epochs is None else round(part.epochs * steps_per_epoch)
        if length < 1 or begin + length > total:
            raise ValueError(f"the schedules before the last must end within the {train.epochs} epochs of the run, each after an update.")
        parts.append(_part(part, part.learning_rate or optimizer.learning_rate, length, steps_per_epoch))
        boundaries.append(begin)
        begin += length
    return parts[0] if len(parts) == 1 else Chain(parts, boundaries[1:])


def _part(section: ScheduleSection, peak: float, length: int, steps_per_epoch: int) -> keras.optimizers.schedules.LearningRateSchedule:
    """Return one schedule of `length` updates."""
    warmup, floor = round((section.warmup_epochs or 0.0) * steps_per_epoch), section.floor or 0.0
    if warmup > length:
        raise ValueError(f"warmup_epochs must be at most the {length / steps_per_epoch:g} epochs of it, got {section.warmup_epochs}.")
    if floor > peak:
        raise ValueError(f"floor must be at most the learning rate, got floor={floor} and learning_rate={peak}.")
    if section.name == "cosine":
        return WarmupCosine(peak, warmup, length - warmup, floor)
    if section.name == "inverse_square_root":
        return InverseSquareRoot(peak, max(warmup, 1))
    if section.name == "one_cycle":
        return one_cycle(peak, length, start=section.start, floor=floor, tail=_or(section.tail, 0.1))
    schedule = _decay(section, peak, max(length - warmup, 1), steps_per_epoch)
    return Warmup(schedule, warmup) if warmup else schedule


def _decay(section: ScheduleSection, peak: float, length: int, steps_per_epoch: int) -> keras.optimizers.schedules.LearningRateSchedule:
    """Return the schedule after the warm-up, from Keras where Keras has it."""
    stock, floor = keras.optimizers.schedules, section.floor or 0.0

    def updates(epochs: float | None) -> int:
        return max(round((epochs or 0.0) * steps_per_epoch), 1)

    match section.name:
        case "linear" | "polynomial":
            return stock.PolynomialDecay(peak, length, floor, power=_or(section.power, 1.0))
        case "step":
            return stock.ExponentialDecay(peak, updates(section.every_epochs), section.factor, staircase=True)
        case "exponential":
            return stock.ExponentialDecay(peak, steps_per_epoch, section.factor)
        case "multi_step":
            milestones = section.milestones or ()
            # Keras changes the value after the boundary's update; ours is the first with the new value
            boundaries = [updates(milestone) - 1 for milestone in milestones]
            return stock.PiecewiseConstantDecay(
                boundaries, [peak * (section.factor or 1.0) ** power for power in range(len(milestones) + 1)]
            )
        case "cosine_restarts":
            return CosineRestarts(peak, updates(section.cycle_epochs), section.growth or 1, floor)
        case "triangular":
            return Triangular(peak, updates((section.cycle_epochs or 0.0) / 2.0), floor, _or(section.shrink, 1.0))
    return Constant(peak)


def momentum(schedule: ScheduleSection, train: TrainSection, steps_per_epoch: int) -> PiecewiseLinear | None:
    """Return the momentum schedule that a recipe asks for, None where it asks for none.

    Args:
        schedule, train: sections of the recipe.
        steps_per_epoch: updates of an epoch.

    Raises:
        ValueError: for values that are not from 0 to below 1 and ascending.
    """
    if schedule.momentum is None:
        return None
    return one_cycle_momentum(schedule.momentum, train.epochs * steps_per_epoch, tail=_or(schedule.tail, 0.1))


def plateau_callback(schedule: ScheduleSection, monitor: str) -> keras.callbacks.ReduceLROnPlateau | None:
    """Return the callback that lowers the rate on a plateau, None where a recipe has another schedule.

    Args:
        schedule: section of the recipe.
        monitor: figure that tells a plateau, as `train.monitor` has it.
    """
    if schedule.name != "plateau":
        return None
    mode = "min" if monitor.endswith("loss") else "max"
    return keras.callbacks.ReduceLROnPlateau(
        monitor, factor=schedule.factor, patience=schedule.patience, min_lr=schedule.floor or 0.0, mode=mode
    )


def _or(value: float | None, default: float) -> float:
    return default if value is None else value
