"""What the loop must know of callbacks before it calls them."""

from collections.abc import Iterable, Mapping

import keras

from ..zoo.errors import CanonError

_TRAIN = ("on_batch_begin", "on_batch_end", "on_train_batch_begin", "on_train_batch_end")
_TEST = ("on_test_batch_begin", "on_test_batch_end")


class BatchHooks:
    """Finds out whether batch methods are worth calling: each call costs Python time, and figures at every batch cost a wait.

    A callback that does its work at batch ends but reads no figures there says so with a class attribute
    `reads_batch_logs = False`.

    Args:
        callbacks: the callbacks of a run.
    """

    def __init__(self, callbacks: Iterable[keras.callbacks.Callback]):
        callbacks = list(callbacks)
        wanting = [callback for callback in callbacks if _overrides(callback, _TRAIN)]
        self.train = bool(wanting)
        self.test = any(_overrides(callback, _TEST) for callback in callbacks)
        self.read_logs = any(getattr(callback, "reads_batch_logs", True) for callback in wanting)


def _overrides(callback: keras.callbacks.Callback, names: Iterable[str]) -> bool:
    # by attribute of the instance: LambdaCallback sets its methods there
    return any(getattr(getattr(callback, name), "__func__", None) is not getattr(keras.callbacks.Callback, name) for name in names)


def refuse_two_schedules(optimizer: keras.optimizers.Optimizer, callbacks: Iterable[keras.callbacks.Callback]) -> None:
    """Refuse, before the first epoch, a callback that sets the learning rate of an optimizer whose schedule sets it too.

    Raises:
        CanonError: it names both.
    """
    inner = optimizer.inner_optimizer if isinstance(optimizer, keras.optimizers.LossScaleOptimizer) else optimizer
    schedule = inner.get_config().get("learning_rate")
    if not isinstance(schedule, Mapping):  # a schedule is a table of class and config there, a constant a number
        return
    for callback in callbacks:
        if isinstance(callback, keras.callbacks.ReduceLROnPlateau | keras.callbacks.LearningRateScheduler):
            raise CanonError(
                f"The learning rate is set by the schedule {schedule['class_name']} and by the callback "
                f"{type(callback).__name__}: keep one of them."
            )
