"""The training loop: one for every recipe, driving Keras callbacks."""

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence

import keras
import tensorflow as tf

from ..zoo.errors import CanonError
from .hooks import BatchHooks
from .steps import PerExample, Totals, evaluation_step, train_step


def train(
    model: keras.Model,
    batches: Callable[[int], tf.data.Dataset],
    *,
    epochs: int,
    steps_per_epoch: int | None = None,
    validation: tf.data.Dataset | None = None,
    metrics: Mapping[str, PerExample] | None = None,
    callbacks: Sequence[keras.callbacks.Callback] = (),
) -> dict[str, list[float]]:
    """Train a compiled model, with the results of `model.fit` on the same batches in the same order.

    Every figure is a mean over examples. Those of the training split are taken while the weights move, as in Keras; only those
    of the validation split (`val_...`) belong to the weights at the end of the epoch.

    Args:
        model: compiled with an optimizer and a loss; metrics given to `compile` are not used.
        batches: the (inputs, labels) batches of an epoch, by its number from 0; each epoch is read to its end.
        epochs: how many, at most; a callback may stop earlier by `model.stop_training`.
        steps_per_epoch: batches of an epoch, for progress bars only.
        validation: batches to evaluate after each epoch.
        metrics: by name, functions of labels and outputs with one value for each example; None for accuracy.
        callbacks: Keras callbacks. Their batch methods are called only where one of them has any.

    Returns:
        the figures by name, one for each finished epoch: `loss`, the metrics, `learning_rate` (of the last update), `seconds`
        (of the updates), and the same with `val_` for the validation split.

    Raises:
        CanonError: when a callback that sets the learning rate meets a schedule that does, or the loss is no longer finite.
        KeyboardInterrupt: passed on after the callbacks' `on_train_end`, so that best weights are back in place.
    """
    refuse_two_schedules(model.optimizer, callbacks)
    metrics = {"accuracy": keras.metrics.sparse_categorical_accuracy} if metrics is None else metrics
    hooks = BatchHooks(callbacks)
    listed = keras.callbacks.CallbackList(list(callbacks), add_history=True, model=model, epochs=epochs, steps=steps_per_epoch, verbose=0)
    totals = Totals(["loss", *metrics])
    first = batches(0)
    step = train_step(model, metrics, totals, first.element_spec)
    evaluate = None if validation is None else _evaluator(model, metrics, validation, listed, hooks)
    model.stop_training = False
    listed.on_train_begin()
    try:
        for epoch in range(epochs):
            listed.on_epoch_begin(epoch)
            logs = _run_epoch(model, step, first if epoch == 0 else batches(epoch), totals, listed, hooks)
            if not math.isfinite(logs["loss"]):
                raise CanonError(
                    f"The loss became {logs['loss']} in epoch {epoch + 1}: lower optimizer.learning_rate, or add a warm-up or clipping."
                )
            if evaluate is not None:
                logs.update({f"val_{name}": value for name, value in evaluate().items()})
            listed.on_epoch_end(epoch, logs)
            if model.stop_training:
                break
    finally:
        # also after Ctrl-C or an error: callbacks restore weights and close files here
        listed.on_train_end()
    history = next(item for item in listed.callbacks if isinstance(item, keras.callbacks.History))
    return history.history


def _run_epoch(model, step, dataset: Iterable, totals: Totals, listed, hooks: BatchHooks) -> dict[str, float]:
    started = time.perf_counter()
    totals.reset()
    rate = None
    if hooks.train:
        for index, (inputs, labels) in enumerate(dataset):
            listed.on_train_batch_begin(index)
            rate = step(inputs, labels)
            listed.on_train_batch_end(index, totals.means() if hooks.read_logs else {})
            if model.stop_training:
                break
    else:
        for inputs, labels in dataset:
            rate = step(inputs, labels)
    if rate is None:
        raise CanonError("The training data gave no batch: it must hold at least one example.")
    return {**totals.means(), "learning_rate": float(rate), "seconds": time.perf_counter() - started}


def _evaluator(model, metrics, dataset: tf.data.Dataset, listed, hooks: BatchHooks) -> Callable[[], dict[str, float]]:
    totals = Totals(["loss", *metrics])
    step = evaluation_step(model, metrics, totals, dataset.element_spec)

    def evaluate() -> dict[str, float]:
        listed.on_test_begin()
        totals.reset()
        for index, (inputs, labels) in enumerate(dataset):
            if hooks.test:
                listed.on_test_batch_begin(index)
            step(inputs, labels)
            if hooks.test:
                listed.on_test_batch_end(index, totals.means())
        means = totals.means()
        listed.on_test_end(means)
        return means

    return evaluate


def refuse_two_schedules(optimizer: keras.optimizers.Optimizer, callbacks: Iterable[keras.callbacks.Callback]) -> None:
    """Refuse, before the first epoch, a callback that sets the learning rate of an optimizer whose schedule sets it too.

    Raises:
        CanonError: it names both.
    """
    schedule = optimizer.get_config().get("learning_rate")
    if not isinstance(schedule, Mapping):  # a schedule is a table of class and config there, a constant a number
        return
    for callback in callbacks:
        if isinstance(callback, keras.callbacks.ReduceLROnPlateau | keras.callbacks.LearningRateScheduler):
            raise CanonError(
                f"The learning rate is set by the schedule {schedule['class_name']} and by the callback "
                f"{type(callback).__name__}: keep one of them."
            )
