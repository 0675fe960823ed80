"""Learning rates by step, as Keras schedules that serialise, for `fit` and for our loop alike."""

import math

import keras

from .sections import OptimizerSection, ScheduleSection, TrainSection


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
        if not 0.0 <= floor <= peak:
            raise ValueError(f"floor must be from 0 to the peak, got floor={floor} and peak={peak}.")
        for key, value in (("warmup_steps", warmup_steps), ("decay_steps", decay_steps)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise ValueError(f"{key} must be an integer of at least 0, got {value!r}.")
        self.peak, self.floor = float(peak), float(floor)
        self.warmup_steps, self.decay_steps = warmup_steps, decay_steps
        self.name = name

    def __call__(self, step):
        """Return the rate of update number `step`, a float32 scalar."""
        step = keras.ops.cast(step, "float32")
        warm = self.peak * (step + 1.0) / max(self.warmup_steps, 1)
        progress = (step - self.warmup_steps) / max(self.decay_steps, 1)
        cosine = 0.5 * (1.0 + keras.ops.cos(math.pi * keras.ops.clip(progress, 0.0, 1.0)))
        decayed = keras.ops.where(progress >= 1.0, self.floor, self.floor + (self.peak - self.floor) * cosine)
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


def learning_rate(optimizer: OptimizerSection, schedule: ScheduleSection, train: TrainSection, steps_per_epoch: int):
    """Return what a recipe asks for: a number, or a schedule over all updates of the run.

    Raises:
        ValueError: when the warm-up is longer than the run or the floor is above the peak.
    """
    if schedule.name == "constant":
        return optimizer.learning_rate
    steps = train.epochs * steps_per_epoch
    warmup = round((schedule.warmup_epochs or 0.0) * steps_per_epoch)
    if warmup > steps:
        raise ValueError(f"warmup_epochs must be at most the {train.epochs} epochs of the run, got {schedule.warmup_epochs}.")
    return WarmupCosine(optimizer.learning_rate, warmup, steps - warmup, schedule.floor or 0.0)
