"""The training loop: one for every recipe and every strategy, driving Keras callbacks."""

import inspect
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import keras
import tensorflow as tf

from ..zoo.errors import CanonError
from .checkpoints import Checkpoint, Checkpoints, Position
from .compiled_steps import kept
from .cross_entropy import accuracy
from .distribution import strategy_of, tell_workers
from .forward import Forward
from .hooks import BatchHooks, refuse_two_schedules
from .run_state import RunState, continue_logs
from .steps import NotFinite, PerExample, Totals, TrainStep, evaluation_step
from .updates import UpdateRule


def train(
    model: keras.Model,
    batches: Callable[..., tf.data.Dataset],
    *,
    epochs: int,
    steps_per_epoch: int | None = None,
    validation: tf.data.Dataset | None = None,
    metrics: Mapping[str, PerExample] | None = None,
    callbacks: Sequence[keras.callbacks.Callback] = (),
    checkpoints: Checkpoints | None = None,
    rule: UpdateRule | None = None,
) -> dict[str, list[float]]:
    """Train a compiled model, with the results of `model.fit` on the same batches in the same order.

    Every figure is a mean over examples. Those of the training split are taken while the weights move, as in Keras; only those
    of the validation split (`val_...`) belong to the weights at the end of the epoch.

    A model that was made and compiled in the scope of a `tf.distribute` strategy is trained on all its devices: each takes its part
    of every batch. The batches are the same whole ones in every process. Call it outside of the scope.

    Args:
        model: compiled with an optimizer and a loss; metrics given to `compile` are not used.
        batches: the (inputs, labels) batches of an epoch, by its number from 0. A function with a parameter `step` gives those from
            a step on; without it, a resumed epoch reads and skips the batches that are done.
        epochs: how many, at most; a callback may stop earlier by `model.stop_training`.
        steps_per_epoch: batches of each epoch, the first so many of what `batches` gives; None for all.
        validation: batches to evaluate after each epoch, all of them.
        metrics: by name, functions of labels and outputs with one value for each example; None for accuracy.
        callbacks: Keras callbacks. Their batch methods are called only where one of them has any.
        checkpoints: where the state of the run is kept; training goes on from the newest one there.
        rule: clipping, accumulation and averages; an average must be among the callbacks too. None for none.

    Returns:
        the figures by name, one for each finished epoch: `loss`, the metrics, `learning_rate` (of the last update), `seconds`
        (of the updates), and the same with `val_` for the validation split.

    Raises:
        CanonError: when a callback that sets the learning rate meets a schedule that does, the data cannot fill the steps of an
            epoch, or the loss is no longer finite.
        KeyboardInterrupt: passed on after the callbacks' `on_train_end`, so that best weights are back in place.
    """
    refuse_two_schedules(model.optimizer, callbacks)
    metrics = {"accuracy": accuracy} if metrics is None else metrics
    hooks, strategy, rule = BatchHooks(callbacks), strategy_of(model), rule or UpdateRule()
    first = batches(0)
    _refuse_short_data(first, steps_per_epoch)
    # what makes variables does so in the scope; callbacks are called outside of it, where the chief can do what the others do not
    with strategy.scope():
        listed = keras.callbacks.CallbackList(
            list(callbacks), add_history=True, model=model, epochs=epochs, steps=steps_per_epoch, verbose=0
        )
        step = _train_step(model, metrics, first.element_spec, rule)
        evaluate = None if validation is None else _evaluator(model, metrics, validation, listed, hooks, rule.forward)
    model.stop_training = False
    found = _newest(strategy, checkpoints)
    if found is not None:
        continue_logs(callbacks, found[0].epoch)
    listed.on_train_begin()
    try:
        position = _begin(RunState(model, step.variables, listed.callbacks), checkpoints, found, listed)
        run = _Run(model, step, listed, hooks, position, steps_per_epoch, checkpoints)
        while position.epoch < epochs and not position.stopped:
            if not position.step:
                listed.on_epoch_begin(position.epoch)
                step.begin_epoch()
            logs = run.epoch(_enter(batches, position))
            if evaluate is not None:
                logs.update({f"val_{name}": value for name, value in evaluate().items()})
            listed.on_epoch_end(position.epoch, logs)
            run.next_epoch()
    finally:
        # also after Ctrl-C or an error: callbacks restore weights and close files here
        listed.on_train_end()
    history = next(item for item in listed.callbacks if isinstance(item, keras.callbacks.History))
    return history.history


def _newest(strategy: tf.distribute.Strategy, checkpoints: Checkpoints | None) -> Checkpoint | None:
    """Return the checkpoint to go on from; all workers take the chief's, once it has one to give."""
    if checkpoints is None:
        return None
    found = checkpoints.newest() if checkpoints.writes else None
    told = tell_workers(strategy, [0, 0] if found is None else [found[0].epoch, found[0].step])
    if not checkpoints.writes:
        found = checkpoints.newest()
        here = [0, 0] if found is None else [found[0].epoch, found[0].step]
        if here != told:
            raise CanonError(
                f"This worker does not see the chief's checkpoint of epoch {told[0]}, step {told[1]} in {str(checkpoints.folder)!r}: the "
                "folder of a run must lie on storage that all workers share."
            )
    return found


def _begin(state: RunState, checkpoints: Checkpoints | None, found: Checkpoint | None, listed) -> Position:
    """Return where to start, with everything as it was there."""
    if checkpoints is None:
        return Position()
    checkpoints.attach(state)
    if found is None:
        # a disk that takes nothing is found now and not after hours
        checkpoints.write(Position())
        return Position()
    position, arrays, values = found
    if position.step:
        # before the state is put back, which undoes what callbacks do to it here a second time
        listed.on_epoch_begin(position.epoch)
    state.restore(arrays, values)
    # how long a run took is asked of it, also where all epochs are done
    checkpoints.position = position
    return position


def _enter(batches: Callable[..., tf.data.Dataset], position: Position) -> tf.data.Dataset:
    if not position.step:
        return batches(position.epoch)
    if "step" in inspect.signature(batches).parameters:
        return batches(position.epoch, position.step)
    return batches(position.epoch).skip(position.step)


@dataclass
class _Run:
    """What the epochs of one call of `train` share."""

    model: keras.Model
    step: TrainStep
    listed: keras.callbacks.CallbackList
    hooks: BatchHooks
    position: Position
    steps_per_epoch: int | None
    checkpoints: Checkpoints | None

    def __post_init__(self):
        self._begin = time.perf_counter() - self.position.total_seconds

    def epoch(self, dataset: tf.data.Dataset) -> dict[str, float]:
        """Train on the batches of an epoch that are left, and return its figures."""
        position, earlier, started = self.position, self.position.seconds, time.perf_counter()
        rate = position.rate
        self.step.remember()
        if self.steps_per_epoch is not None:
            dataset = dataset.take(self.steps_per_epoch - position.step)
        for inputs, labels in dataset:
            if self.hooks.train:
                self.listed.on_train_batch_begin(position.step)
            try:
                rate = self.step(inputs, labels)
            except NotFinite as error:
                raise self._not_finite(inputs, labels) from error
            if self.hooks.train:
                self.listed.on_train_batch_end(position.step, self.step.totals.means() if self.hooks.read_logs else {})
            position.step += 1
            if self.checkpoints is not None and self.checkpoints.due():
                position.rate, position.seconds = float(rate), earlier + time.perf_counter() - started
                self._write()
            if self.hooks.train and self.model.stop_training:
                break
        if rate is None:
            raise CanonError("The training data gave no batch: it must hold at least one example.")
        if self.steps_per_epoch is not None and position.step < self.steps_per_epoch and not self.model.stop_training:
            raise CanonError(
                f"Epoch {position.epoch + 1} had {position.step} batches, but steps_per_epoch is {self.steps_per_epoch}: lower it."
            )
        logs = {**self.step.totals.means(), "learning_rate": float(rate), "seconds": earlier + time.perf_counter() - started}
        if not math.isfinite(logs["loss"]):
            raise CanonError(_advice(f"The loss became {logs['loss']} in epoch {position.epoch + 1}"))
        return logs

    def next_epoch(self) -> None:
        """Move on to the next epoch."""
        position = self.position
        position.epoch, position.step, position.seconds = position.epoch + 1, 0, 0.0
        position.stopped = bool(self.model.stop_training)
        self._write()

    def _write(self) -> None:
        self.position.total_seconds = time.perf_counter() - self._begin
        if self.checkpoints is not None:
            self.checkpoints.write(self.position)

    def _not_finite(self, inputs, labels) -> CanonError:
        """Show the batch to the callbacks that want to see it, while the model holds the weights from before it."""
        epoch, step = self.position.epoch, self.position.step
        kept = []
        for callback in self.listed.callbacks:
            if hasattr(callback, "on_not_finite"):
                kept.append(callback.on_not_finite(epoch, step, inputs, labels))
        message = f"The loss or its gradient was not finite at step {step + 1} of epoch {epoch + 1}"
        return CanonError(_advice(" and ".join([message, *kept])))


def _advice(what: str) -> str:
    return f"{what}: lower optimizer.learning_rate, or add a warm-up or clipping."


def _train_step(model: keras.Model, metrics: Mapping[str, PerExample], signature, rule: UpdateRule) -> TrainStep:
    def make() -> TrainStep:
        return TrainStep(model, metrics, Totals(["loss", *metrics]), signature, rule)

    # an average makes new variables whenever training begins
    return make() if rule.average is not None else kept(model, ("train", dict(metrics), signature, rule), make)


def _evaluator(
    model, metrics, dataset: tf.data.Dataset, listed, hooks: BatchHooks, forward: Forward | None
) -> Callable[[], dict[str, float]]:
    def make():
        totals = Totals(["loss", *metrics])
        return totals, evaluation_step(model, metrics, totals, dataset.element_spec, forward)

    totals, step = kept(model, ("evaluate", dict(metrics), dataset.element_spec, forward), make)

    def evaluate() -> dict[str, float]:
        listed.on_test_begin()
        totals.reset()
        if forward is not None:
            forward.begin_evaluation()
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


def _refuse_short_data(dataset: tf.data.Dataset, steps_per_epoch: int | None) -> None:
    batches = int(dataset.cardinality())  # negative where it is not known
    if steps_per_epoch is not None and 0 <= batches < steps_per_epoch:
        raise CanonError(f"steps_per_epoch is {steps_per_epoch}, but the training data fill only {batches} batches: lower it.")
