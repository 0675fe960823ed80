"""Half cosines: one for a whole run, or one after another with warm restarts."""

import math

import keras

from .schedule_arguments import rates, steps


@keras.saving.register_keras_serializable(package="keras_canon")
class WarmupCosine(keras.optimizers.schedules.LearningRateSchedule):
    """Warm up in a straight line, then go down along half a cosine.

    rate(t) = peak (t + 1) / W                                       for t < W               (1)
    rate(t) = floor + (peak - floor) (1 + cos(pi (t - W) / D)) / 2   for W <= t < W + D      (2)
    rate(t) = floor                                                  for t >= W + D          (3)

    t counts updates from 0. No update is wasted: the first one has rate peak / W (not 0), the last one of the warm-up has the
    peak exactly, and the W + D updates of a run all come before the floor is reached. With W = 0 the first update has the peak.

    Args:
        peak: the highest rate.
        warmup_steps: W, updates of the warm-up.
        decay_steps: D, updates after the warm-up.
        floor: the rate after the end.
        name: as for any Keras schedule.

    Raises:
        ValueError: a peak or floor below 0, a floor above the peak, or a negative number of steps.

    Reference:
        Loshchilov, Hutter, 2017, "SGDR: Stochastic Gradient Descent with Warm Restarts", equation 5 without restarts,
        arXiv:1608.03983; Goyal et al., 2017, "Accurate, Large Minibatch SGD", section 2.2 (gradual warm-up), arXiv:1706.02677.

    Example:
        >>> from keras_canon.training.schedules import WarmupCosine
        >>> [round(float(WarmupCosine(1.0, warmup_steps=4, decay_steps=6)(step)), 3) for step in (0, 3, 4, 7, 10)]
        [0.25, 1.0, 1.0, 0.5, 0.0]
    """

    def __init__(self, peak, warmup_steps, decay_steps, floor=0.0, name="WarmupCosine"):
        super().__init__()
        self.peak, self.floor = rates(peak, floor)
        self.warmup_steps = steps("warmup_steps", warmup_steps, least=0)
        self.decay_steps = steps("decay_steps", decay_steps, least=0)
        self.name = name

    def __call__(self, step):
        """Return the rate of update number `step`, a float32 scalar."""
        step = keras.ops.cast(step, "float32")
        warm = self.peak * (step + 1.0) / max(self.warmup_steps, 1)
        progress = (step - self.warmup_steps) / max(self.decay_steps, 1)
        decayed = keras.ops.where(progress >= 1.0, self.floor, half_cosine(self.peak, self.floor, progress))
        if not self.decay_steps:
            decayed = keras.ops.full_like(step, self.floor)
        return keras.ops.where(step < self.warmup_steps, warm, decayed)

    def get_config(self):
        """Return the arguments."""
        return {
            "peak": self.peak,
            "warmup_steps": self.warmup_steps,
            "decay_steps": self.decay_steps,
            "floor": self.floor,
            "name": self.name,
        }


@keras.saving.register_keras_serializable(package="keras_canon")
class CosineRestarts(keras.optimizers.schedules.LearningRateSchedule):
    """Go down along half a cosine, jump back to the peak, and again, each cycle as long as the last one or longer.

    rate(t) = floor + (peak - floor) (1 + cos(pi T_cur / T_i)) / 2          (5)

    T_cur counts updates since the last restart, and the cycles last T_0, T_0 m, T_0 m^2, ... updates. The first update of a
    cycle has the peak exactly. Cycles are told apart with integers, so that no restart comes an update early or late.

    Args:
        peak: eta_max.
        cycle_steps: T_0, updates of the first cycle.
        growth: m (T_mult), an integer of at least 1.
        floor: eta_min.
        name: as for any Keras schedule.

    Raises:
        ValueError: a peak or floor below 0, a floor above the peak, a cycle without updates, or a growth below 1.

    Reference:
        Loshchilov, Hutter, 2017, "SGDR: Stochastic Gradient Descent with Warm Restarts", equation 5, arXiv:1608.03983.

    Example:
        >>> from keras_canon.training.schedules import CosineRestarts
        >>> [round(float(CosineRestarts(1.0, cycle_steps=2, growth=2)(step)), 3) for step in (0, 1, 2, 4, 6)]
        [1.0, 0.5, 1.0, 0.5, 1.0]
    """

    def __init__(self, peak, cycle_steps, growth=1, floor=0.0, name="CosineRestarts"):
        super().__init__()
        self.peak, self.floor = rates(peak, floor)
        self.cycle_steps = steps("cycle_steps", cycle_steps)
        self.growth = steps("growth", growth)
        self.name = name

    def _position(self, step):
        """Return T_cur and T_i, int64 scalars."""
        step = keras.ops.cast(step, "int64")
        if self.growth == 1:
            return step % self.cycle_steps, keras.ops.full_like(step, self.cycle_steps)
        starts, start, length = [], 0, self.cycle_steps
        while start < 2**60:  # 60 cycles at most; no run has more updates
            starts.append(start)
            start, length = start + length, length * self.growth
        lengths = [self.cycle_steps * self.growth**cycle for cycle in range(len(starts))]
        starts = keras.ops.convert_to_tensor(starts, "int64")
        cycle = keras.ops.sum(keras.ops.cast(step >= starts, "int64")) - 1
        return step - keras.ops.take(starts, cycle), keras.ops.take(keras.ops.convert_to_tensor(lengths, "int64"), cycle)

    def __call__(self, step):
        """Return the rate of update number `step`, a float32 scalar."""
        done, length = self._position(step)
        return half_cosine(self.peak, self.floor, keras.ops.cast(done, "float32") / keras.ops.cast(length, "float32"))

    def get_config(self):
        """Return the arguments."""
        return {
            "peak": self.peak,
            "cycle_steps": self.cycle_steps,
            "growth": self.growth,
            "floor": self.floor,
            "name": self.name,
        }


def half_cosine(peak: float, floor: float, progress):
    """Return the rate at a progress from 0 (the peak) to 1 (the floor); beyond these it stays."""
    cosine = 0.5 * (1.0 + keras.ops.cos(math.pi * keras.ops.clip(progress, 0.0, 1.0)))
    return floor + (peak - floor) * cosine
