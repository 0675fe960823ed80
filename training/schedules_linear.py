"""Schedules of straight lines: through given points, up and down in triangles, and once up and down (one-cycle)."""

from collections.abc import Sequence

import keras

from .schedule_arguments import rates, steps


@keras.saving.register_keras_serializable(package="keras_canon")
class PiecewiseLinear(keras.optimizers.schedules.LearningRateSchedule):
    """Straight lines from point to point; before the first and after the last point the value stays.

    Args:
        points: numbers of updates, strictly ascending, at least one.
        values: the value at each, at least 0.
        name: as for any Keras schedule.

    Raises:
        ValueError: points that do not ascend, a value below 0, or other than one value a point.

    Example:
        >>> from keras_canon.training.schedules import PiecewiseLinear
        >>> [float(PiecewiseLinear([2, 4], [1.0, 0.0])(step)) for step in (0, 2, 3, 4, 9)]
        [1.0, 1.0, 0.5, 0.0, 0.0]
    """

    def __init__(self, points, values, name="PiecewiseLinear"):
        super().__init__()
        points, values = tuple(points), tuple(float(value) for value in values)
        if not points or list(points) != sorted(set(points)) or points[0] < 0:
            raise ValueError(f"points must be strictly ascending integers of at least 0, got {list(points)}.")
        if len(points) != len(values) or min(values) < 0.0:
            raise ValueError(f"values must be {len(points)} numbers of at least 0, one a point, got {list(values)}.")
        self.points, self.values, self.name = points, values, name

    def __call__(self, step):
        """Return the value of update number `step`, a float32 scalar."""
        step = keras.ops.cast(step, "float32")
        value = keras.ops.full_like(step, self.values[0])
        ends = zip(self.points, self.points[1:], self.values, self.values[1:], strict=False)
        for begin, end, first, last in ends:
            share = (step - begin) / (end - begin)
            value = keras.ops.where(step > begin, first + (last - first) * share, value)
            value = keras.ops.where(step >= end, last, value)  # exact at the points, whatever the rounding between them
        return value

    def get_config(self):
        """Return the arguments."""
        return {"points": list(self.points), "values": list(self.values), "name": self.name}


@keras.saving.register_keras_serializable(package="keras_canon")
class Triangular(keras.optimizers.schedules.LearningRateSchedule):
    """Go up and down between two rates in straight lines, again and again.

    x = |t / S - 2 c + 1|,  c = floor(1 + t / (2 S))                                  (1)
    rate(t) = floor + (peak - floor) (1 - x) k^(c - 1)                                (2)

    Args:
        peak: `max_lr`.
        half_cycle_steps: S, `stepsize`: updates from the floor to the peak.
        floor: `base_lr`.
        shrink: k, by which each cycle's height is multiplied; 1 is the paper's `triangular` policy, 0.5 its `triangular2`.
        name: as for any Keras schedule.

    Raises:
        ValueError: a peak or floor below 0, a floor above the peak, half a cycle without updates, or a shrink outside 0 to 1.

    Reference:
        Smith, 2017, "Cyclical Learning Rates for Training Neural Networks", section 3.1, arXiv:1506.01186.

    Example:
        >>> from keras_canon.training.schedules import Triangular
        >>> [float(Triangular(1.0, half_cycle_steps=2)(step)) for step in (0, 1, 2, 3, 4)]
        [0.0, 0.5, 1.0, 0.5, 0.0]
    """

    def __init__(self, peak, half_cycle_steps, floor=0.0, shrink=1.0, name="Triangular"):
        super().__init__()
        self.peak, self.floor = rates(peak, floor)
        self.half_cycle_steps = steps("half_cycle_steps", half_cycle_steps)
        if not 0.0 < shrink <= 1.0:
            raise ValueError(f"shrink must be above 0 and at most 1, got {shrink}.")
        self.shrink, self.name = float(shrink), name

    def __call__(self, step):
        """Return the rate of update number `step`, a float32 scalar."""
        step = keras.ops.cast(step, "int64")
        # integers tell cycles apart: a quotient of floats would be an update off in long runs
        cycle = keras.ops.cast(step // (2 * self.half_cycle_steps), "float32")
        position = keras.ops.cast(step % (2 * self.half_cycle_steps), "float32") / self.half_cycle_steps  # 0 to 2
        height = (self.peak - self.floor) * keras.ops.power(self.shrink, cycle)
        return self.floor + height * (1.0 - keras.ops.abs(position - 1.0))

    def get_config(self):
        """Return the arguments."""
        return {
            "peak": self.peak,
            "half_cycle_steps": self.half_cycle_steps,
            "floor": self.floor,
            "shrink": self.shrink,
            "name": self.name,
        }


def one_cycle(peak: float, total_steps: int, *, start: float | None = None, floor: float = 0.0, tail: float = 0.1) -> PiecewiseLinear:
    """Return the one-cycle schedule: up to the peak, down as long, and in a short tail down to the floor.

    The peak is reached exactly, and the floor is the rate of the run's last update and of any after it.

    Args:
        peak: the highest rate, as a learning-rate range test finds it.
        total_steps: updates of the run, at least 4.
        start: rate of the first update; None for a tenth of the peak.
        floor: rate of the last update.
        tail: share of the run for the tail.

    Raises:
        ValueError: a start or floor below 0 or above the peak, a run too short, or a tail that is not above 0 and below 1.

    Reference:
        Smith, Topin, 2018, "Super-Convergence: Very Fast Training of Neural Networks Using Large Learning Rates", section 3
        ("1cycle"), arXiv:1708.07120.

    Example:
        >>> from keras_canon.training.schedules import one_cycle
        >>> [round(float(one_cycle(1.0, 21, tail=0.2)(step)), 3) for step in (0, 4, 8, 16, 20)]
        [0.1, 0.55, 1.0, 0.1, 0.0]
    """
    peak, start = rates(peak, peak / 10.0 if start is None else start, ("peak", "start"))
    _, floor = rates(peak, floor)
    return PiecewiseLinear(_knots(total_steps, tail), (start, peak, start, floor), name="OneCycle")


def one_cycle_momentum(momentum: Sequence[float], total_steps: int, *, tail: float = 0.1) -> PiecewiseLinear:
    """Return the momentum that goes with `one_cycle`: lowest where the rate is highest.

    Args:
        momentum: the lowest and the highest value, such as (0.85, 0.95).
        total_steps: updates of the run, at least 4.
        tail: share of the run for the tail, in which the highest value is kept.

    Raises:
        ValueError: values that are not from 0 to below 1 and ascending, or lengths that `one_cycle` refuses.

    Reference:
        Smith, 2018, "A disciplined approach to neural network hyper-parameters: Part 1", section 4.3, arXiv:1803.09820.

    Example:
        >>> from keras_canon.training.schedules import one_cycle_momentum
        >>> [round(float(one_cycle_momentum((0.85, 0.95), 21, tail=0.2)(step)), 3) for step in (0, 4, 8, 16, 20)]
        [0.95, 0.9, 0.85, 0.95, 0.95]
    """
    low, high = momentum
    if not 0.0 <= low <= high < 1.0:
        raise ValueError(f"momentum must be two ascending numbers from 0 to below 1, got {list(momentum)}.")
    return PiecewiseLinear(_knots(total_steps, tail), (high, low, high, high), name="OneCycleMomentum")


def _knots(total_steps: int, tail: float) -> tuple[int, ...]:
    """Return the first update, the peak, the end of the way down, and the last update."""
    if not 0.0 < tail < 1.0:
        raise ValueError(f"tail must be above 0 and below 1, got {tail}.")
    last = steps("total_steps", total_steps, least=4) - 1
    half = max(min(round(last * (1.0 - tail) / 2.0), (last - 1) // 2), 1)
    return (0, half, 2 * half, last)
