"""Which callbacks want to be called at every batch."""

from collections.abc import Iterable

import keras

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
