"""Schedules made of schedules: a warm-up before any, one after another, and the Transformer's."""

import keras

from .schedule_arguments import steps

_Schedule = keras.optimizers.schedules.LearningRateSchedule


@keras.saving.register_keras_serializable(package="keras_canon")
class Constant(_Schedule):
    """The same rate always; a piece for `Warmup` and `Chain`.

    Args:
        rate: the rate, at least 0.
        name: as for any Keras schedule.

    Raises:
        ValueError: a rate below 0.

    Example:
        >>> from keras_canon.training.schedules import Constant
        >>> float(Constant(0.5)(7))
        0.5
    """

    def __init__(self, rate, name="Constant"):
        super().__init__()
        if not rate >= 0.0:
            raise ValueError(f"rate must be at least 0, got {rate}.")
        self.rate, self.name = float(rate), name

    def __call__(self, step):
        """Return the rate, a float32 scalar."""
        return keras.ops.full_like(keras.ops.cast(step, "float32"), self.rate)

    def get_config(self):
        """Return the arguments."""
        return {"rate": self.rate, "name": self.name}


@keras.saving.register_keras_serializable(package="keras_canon")
class Warmup(_Schedule):
    """Go up in a straight line to where another schedule starts, then follow it.

    rate(t) = s(0) (t + 1) / W      for t < W       (1)
    rate(t) = s(t - W)              for t >= W      (2)

    No update is wasted: the first one has rate s(0) / W, not 0, and the last one of the warm-up has s(0) exactly.

    Args:
        schedule: s, a Keras schedule.
        warmup_steps: W.
        name: as for any Keras schedule.

    Raises:
        ValueError: no schedule, or a negative number of steps.

    Reference:
        Goyal et al., 2017, "Accurate, Large Minibatch SGD: Training ImageNet in 1 Hour", section 2.2, arXiv:1706.02677.

    Example:
        >>> from keras_canon.training.schedules import Constant, Warmup
        >>> [float(Warmup(Constant(1.0), warmup_steps=4)(step)) for step in (0, 1, 3, 4, 5)]
        [0.25, 0.5, 1.0, 1.0, 1.0]
    """

    def __init__(self, schedule, warmup_steps, name="Warmup"):
        super().__init__()
        self.schedule = _schedule(schedule)
        self.warmup_steps = steps("warmup_steps", warmup_steps, least=0)
        self.name = name

    def __call__(self, step):
        """Return the rate of update number `step`, a float32 scalar."""
        step = keras.ops.cast(step, "int64")
        after = keras.ops.cast(self.schedule(keras.ops.maximum(step - self.warmup_steps, 0)), "float32")
        if not self.warmup_steps:
            return after
        # during the warm-up `after` is s(0)
        share = keras.ops.cast(keras.ops.minimum(step + 1, self.warmup_steps), "float32") / self.warmup_steps
        return after * share

    def get_config(self):
        """Return the arguments."""
        schedule = keras.optimizers.schedules.serialize(self.schedule)
        return {"schedule": schedule, "warmup_steps": self.warmup_steps, "name": self.name}


@keras.saving.register_keras_serializable(package="keras_canon")
class Chain(_Schedule):
    """Follow one schedule after another; each counts its updates from 0.

    Args:
        schedules: at least one.
        boundaries: first update of each but the first, strictly ascending.
        name: as for any Keras schedule.

    Raises:
        ValueError: no schedule, or boundaries that do not ascend or are not one fewer than the schedules.

    Example:
        >>> from keras_canon.training.schedules import Chain, Constant
        >>> [float(Chain([Constant(1.0), Constant(0.5)], boundaries=[3])(step)) for step in (0, 2, 3, 4)]
        [1.0, 1.0, 0.5, 0.5]
    """

    def __init__(self, schedules, boundaries, name="Chain"):
        super().__init__()
        self.schedules = tuple(map(_schedule, schedules))
        self.boundaries = tuple(steps("a boundary", boundary) for boundary in boundaries)
        if not self.schedules or len(self.boundaries) != len(self.schedules) - 1:
            raise ValueError(f"boundaries must be {max(len(self.schedules) - 1, 0)}, one fewer than schedules, got {list(boundaries)}.")
        if list(self.boundaries) != sorted(set(self.boundaries)):
            raise ValueError(f"boundaries must be strictly ascending, got {list(boundaries)}.")
        self.name = name

    def __call__(self, step):
        """Return the rate of update number `step`, a float32 scalar."""
        step = keras.ops.cast(step, "int64")
        rate = keras.ops.cast(self.schedules[0](step), "float32")
        for begin, schedule in zip(self.boundaries, self.schedules[1:], strict=True):
            value = keras.ops.cast(schedule(keras.ops.maximum(step - begin, 0)), "float32")
            rate = keras.ops.where(step >= begin, value, rate)
        return rate

    def get_config(self):
        """Return the arguments."""
        schedules = [keras.optimizers.schedules.serialize(schedule) for schedule in self.schedules]
        return {"schedules": schedules, "boundaries": list(self.boundaries), "name": self.name}


@keras.saving.register_keras_serializable(package="keras_canon")
class InverseSquareRoot(_Schedule):
    """The Transformer's rate: up in a straight line, then down with the inverse square root of the update's number.

    rate = d_model^-0.5 min(step^-0.5, step W^-1.5)          (3)

    with step = t + 1, so that no update has rate 0. This is peak min((W / step)^0.5, step / W) with peak = (d_model W)^-0.5,
    reached at step = W.

    Args:
        peak: the highest rate; `(model_dim * warmup_steps) ** -0.5` is the paper's.
        warmup_steps: W, `warmup_steps`; the paper's is 4000.
        name: as for any Keras schedule.

    Raises:
        ValueError: a peak below 0, or no steps of warm-up.

    Reference:
        Vaswani et al., 2017, "Attention Is All You Need", section 5.3, equation 3, arXiv:1706.03762.

    Example:
        >>> from keras_canon.training.schedules import InverseSquareRoot
        >>> [round(float(InverseSquareRoot(1.0, warmup_steps=4)(step)), 3) for step in (0, 1, 3, 15)]
        [0.25, 0.5, 1.0, 0.5]
    """

    def __init__(self, peak, warmup_steps, name="InverseSquareRoot"):
        super().__init__()
        if not peak >= 0.0:
            raise ValueError(f"peak must be at least 0, got {peak}.")
        self.peak, self.warmup_steps = float(peak), steps("warmup_steps", warmup_steps)
        self.name = name

    def __call__(self, step):
        """Return the rate of update number `step`, a float32 scalar."""
        share = (keras.ops.cast(step, "float32") + 1.0) / self.warmup_steps
        return self.peak * keras.ops.minimum(share, keras.ops.rsqrt(share))

    def get_config(self):
        """Return the arguments."""
        return {"peak": self.peak, "warmup_steps": self.warmup_steps, "name": self.name}


def _schedule(value) -> keras.optimizers.schedules.LearningRateSchedule:
    """Return a schedule, read from its config where need be."""
    schedule = keras.optimizers.schedules.deserialize(value) if isinstance(value, dict) else value
    if not isinstance(schedule, _Schedule):
        raise ValueError(f"A schedule must be a Keras LearningRateSchedule, got {value!r}.")
    return schedule
