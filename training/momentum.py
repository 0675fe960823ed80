"""Optimizers whose momentum follows a schedule; Keras's own hold it fixed."""

import keras


def _first(schedule: keras.optimizers.schedules.LearningRateSchedule) -> float:
    """Return the value at update 0, which the optimizer is made with.

    Raises:
        ValueError: when it is not above 0: without momentum no room is made for it.
    """
    value = float(schedule(0))
    if not 0.0 < value < 1.0:
        raise ValueError(f"The momentum of the first update must be above 0 and below 1, got {value}.")
    return value


@keras.saving.register_keras_serializable(package="keras_canon")
class ScheduledSGD(keras.optimizers.SGD):
    """SGD with v(t) = m(t) v(t - 1) - rate(t) g and w(t) = w(t - 1) + v(t), m being a schedule; or Nesterov's form of it.

    Args:
        momentum_schedule: m, a Keras schedule with values from 0 to below 1, above 0 at update 0.
        **kwargs: as for `keras.optimizers.SGD`, but for `momentum`.

    Raises:
        ValueError: a schedule that does not start above 0 and below 1.

    Example:
        >>> from keras_canon.training.momentum import ScheduledSGD
        >>> from keras_canon.training.schedules import PiecewiseLinear
        >>> round(ScheduledSGD(PiecewiseLinear([0, 10], [0.95, 0.85]), learning_rate=0.1).momentum, 2)
        0.95
    """

    def __init__(self, momentum_schedule, **kwargs):
        schedule = keras.optimizers.schedules.deserialize(momentum_schedule) if isinstance(momentum_schedule, dict) else momentum_schedule
        super().__init__(momentum=_first(schedule), **kwargs)
        self.momentum_schedule = schedule

    def update_step(self, gradient, variable, learning_rate):
        """Move one weight."""
        ops = keras.ops
        momentum = ops.cast(self.momentum_schedule(self.iterations), variable.dtype)
        step = ops.cast(learning_rate, variable.dtype) * ops.cast(gradient, variable.dtype)
        velocity = self.momentums[self._get_variable_index(variable)]
        self.assign(velocity, momentum * velocity - step)
        self.assign_add(variable, momentum * velocity - step if self.nesterov else velocity)

    def get_config(self):
        """Return the arguments."""
        config = {**super().get_config(), "momentum_schedule": keras.optimizers.schedules.serialize(self.momentum_schedule)}
        del config["momentum"]
        return config


@keras.saving.register_keras_serializable(package="keras_canon")
class ScheduledAdam(keras.optimizers.Adam):
    """Adam whose first decay rate, beta 1, follows a schedule; with `weight_decay` it is AdamW.

    The correction of the bias uses the current beta 1, as if it had been the same from the start.

    Args:
        momentum_schedule: beta 1, a Keras schedule with values from 0 to below 1, above 0 at update 0.
        **kwargs: as for `keras.optimizers.Adam`, but for `beta_1`.

    Raises:
        ValueError: a schedule that does not start above 0 and below 1.
    """

    def __init__(self, momentum_schedule, **kwargs):
        schedule = keras.optimizers.schedules.deserialize(momentum_schedule) if isinstance(momentum_schedule, dict) else momentum_schedule
        super().__init__(beta_1=_first(schedule), **kwargs)
        self.momentum_schedule = schedule

    def update_step(self, gradient, variable, learning_rate):
        """Move one weight."""
        fixed, self.beta_1 = self.beta_1, self.momentum_schedule(self.iterations)
        try:
            super().update_step(gradient, variable, learning_rate)
        finally:
            self.beta_1 = fixed

    def get_config(self):
        """Return the arguments."""
        config = {**super().get_config(), "momentum_schedule": keras.optimizers.schedules.serialize(self.momentum_schedule)}
        del config["beta_1"]
        return config
