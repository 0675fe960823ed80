"""One update and one evaluation of a batch, as compiled functions that keep their sums on the device."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import keras
import tensorflow as tf

from ..layers import ScheduledDropout
from ..zoo.errors import CanonError
from .auxiliary import main_output
from .forward import Forward
from .gradient_accumulation import accumulate
from .replicas import counted, first_of, my_part, share_statistics, statistics_of, sum_figures, sum_gradients
from .updates import UpdateRule

_NOT_FINITE = "keras_canon: the loss or its gradient is not a finite number"

PerExample = Callable[[tf.Tensor, tf.Tensor], tf.Tensor]


class Totals:
    """Sums over examples, so that every figure is a mean over examples whatever the sizes of the batches.

    Args:
        names: of the figures; one row of sums each, and one for the number of examples.
    """

    def __init__(self, names: Sequence[str]):
        self.names = tuple(names)
        # float64 sums: float32 loses whole examples beyond 2^24 of them
        self.sums = tf.Variable(tf.zeros(len(self.names) + 1, "float64"), trainable=False, name="totals")

    def reset(self) -> None:
        """Start a new mean."""
        self.sums.assign(tf.zeros_like(self.sums))

    def add(self, sums: tf.Tensor) -> None:
        """Add a batch's sums, shape (names + 1,), the last of them its number of examples."""
        self.sums.assign_add(sums)

    def means(self) -> dict[str, float]:
        """Return the means over all examples so far."""
        *sums, examples = self.sums.numpy().tolist()
        return {name: value / examples if examples else float("nan") for name, value in zip(self.names, sums, strict=True)}


def per_example(loss) -> PerExample:
    """Return a loss (instance, function or Keras name) as a function that leaves one value for each example."""
    loss = keras.losses.get(loss)
    if isinstance(loss, keras.losses.Loss):
        return type(loss).from_config({**loss.get_config(), "reduction": "none"})
    # as an instance does: a loss in half precision overflows, and so does its gradient with a loss scale
    return lambda labels, outputs: loss(labels, tf.nest.map_structure(lambda output: tf.cast(output, "float32"), outputs))


def _column(values) -> tf.Tensor:
    """Return one float32 value for each example, (B,), averaged over further axes such as time."""
    values = tf.cast(values, "float32")
    return values if values.shape.rank == 1 else tf.reduce_mean(tf.reshape(values, (tf.shape(values)[0], -1)), axis=1)


def _losses(model: keras.Model, loss: PerExample, labels, outputs) -> tf.Tensor:
    """Return the loss of each example, (B,), weight penalties included."""
    losses = _column(loss(labels, outputs))
    return losses + tf.cast(tf.add_n(model.losses), "float32") if model.losses else losses


def _sums(losses, metrics: Mapping[str, PerExample], labels, outputs, count) -> tf.Tensor:
    """Return the sums of a batch or of a replica's part of it, the last of them its number of examples."""
    columns = [losses, *(_column(metric(labels, main_output(outputs))) for metric in metrics.values())]
    sums = [tf.reduce_sum(tf.cast(column, "float64")) for column in columns]
    return tf.stack([*(counted(total, count) for total in sums), tf.cast(count, "float64")])


def compiled(function: Callable, signature):
    """Return a function traced once, at this moment, for arguments of a signature.

    A concrete function costs less at each call than a `tf.function`, and one model after another in a process draws no warning
    about retracing.
    """
    return tf.function(function, input_signature=signature, autograph=False).get_concrete_function()


class NotFinite(ArithmeticError):
    """The loss or its gradient is no number; the model holds the weights from before that update."""


class TrainStep:
    """A compiled update: `step(inputs, labels)` moves the weights once and returns the learning rate it used.

    A step takes a whole batch and each replica of the current `tf.distribute` strategy works on its part. The loss is summed over
    the examples of a part and divided by the number in the whole batch, so that the parts add up whatever their sizes.

    Args:
        model: a compiled model, made in the scope of the strategy.
        metrics: by name, functions of labels and outputs with one value for each example.
        totals: where loss, metrics and number of examples are added.
        signature: the element spec of the batches, so that a short last batch needs no second trace.
        rule: clipping, accumulation and averages; None for none.
    """

    def __init__(self, model: keras.Model, metrics: Mapping[str, PerExample], totals: Totals, signature, rule: UpdateRule | None = None):
        self._model, self._metrics, self.totals = model, metrics, totals
        self._rule = rule or UpdateRule()
        self.forward = self._rule.forward or Forward(model)
        self._loss = per_example(model.loss)
        model.optimizer.build(model.trainable_variables)
        self._compiled = compiled(self._step, signature)
        self._optimizer, self._trained = model.optimizer, _identities(model.trainable_variables)
        self._good: Sequence[Any] = ()
        self.remember()

    @property
    def variables(self) -> list[Any]:
        """What a checkpoint must hold beside the variables of model and optimizer."""
        return [self.totals.sums, *self.forward.variables]

    def begin_epoch(self) -> None:
        """Start new means, and a new pass over the data."""
        self.totals.reset()
        self.forward.begin_epoch()

    def remember(self) -> None:
        """Take note of what an update changes on its way to a loss that may be no number; to be called when others changed it.

        Raises:
            CanonError: when what is trainable is not what it was when the update was compiled, which would not notice.
        """
        if _identities(self._model.trainable_variables) != self._trained:
            raise self._changed()
        self._good = [tf.convert_to_tensor(variable) for variable in self._moving()]

    def __call__(self, inputs, labels):
        """Update once.

        Raises:
            NotFinite: when the loss or a gradient is no finite number; the weights stay as they were before the call.
            CanonError: when the model has another optimizer, as after `freeze` and `unfreeze`.
        """
        if self._model.optimizer is not self._optimizer:
            raise self._changed()
        try:
            rate, self._good = self._compiled(inputs, labels)
        except tf.errors.InvalidArgumentError as error:
            if _NOT_FINITE not in str(error):
                raise
            for variable, value in zip(self._moving(), self._good, strict=True):
                variable.assign(value)
            raise NotFinite(_NOT_FINITE) from error
        return rate

    def _changed(self) -> CanonError:
        return CanonError(
            f"The optimizer of {self._model.name!r}, or what is trainable in it, changed while it was trained, and the compiled update "
            "would not notice: freeze, thaw and compile between two calls, or use the phases of [transfer]."
        )

    def _moving(self) -> list[Any]:
        """Return what an update changes before it is known that the loss is a number."""
        return [*self._model.non_trainable_variables, *self.forward.variables]

    def _step(self, inputs, labels):
        sums, rate, good = tf.distribute.get_strategy().run(self._update, (inputs, labels))
        self.totals.add(sum_figures(sums))
        return first_of(rate), [first_of(value) for value in good]

    def _update(self, inputs, labels):
        model, optimizer = self._model, self._model.optimizer
        examples = tf.shape(tf.nest.flatten(labels)[0])[0]
        inputs, labels, count = my_part(inputs, labels)
        weights = model.trainable_variables
        counters, statistics = _update_counters(model), statistics_of(model)
        counts, iterations = [tf.identity(counter.value) for counter in counters], tf.identity(optimizer.iterations)

        def part(inputs, labels):
            with tf.GradientTape() as tape:
                outputs = self.forward.train(inputs)
                losses = _losses(model, self._loss, labels, outputs)
                objective = optimizer.scale_loss(counted(tf.reduce_sum(losses), count) / tf.cast(examples, "float32"))
            # every part belongs to the same update
            _set_all(counters, counts)
            # a replica without examples works on one that does not count
            sums = _sums(losses, self._metrics, labels, outputs, tf.minimum(tf.shape(losses)[0], count))
            return tape.gradient(objective, weights), sums

        gradients, sums = accumulate(part, inputs, labels, self._rule.micro_batches)
        gradients, loss = sum_gradients(gradients), sums[0]
        # nothing whatever moves before it is known that all is finite; what merely counts has no gradient to wait for
        with tf.control_dependencies([_check_finite(optimizer, loss, gradients)]):
            if tf.distribute.get_strategy().num_replicas_in_sync > 1:
                # what replicas do together is not built in this scope, and waits for its inputs alone
                gradients = [None if gradient is None else tf.nest.map_structure(tf.identity, gradient) for gradient in gradients]
            rate = tf.identity(optimizer.learning_rate)
            share_statistics(statistics, count, examples)
            self._rule.apply(optimizer, gradients, weights)
            moved = tf.convert_to_tensor(optimizer.iterations) > iterations
            _set_all(counters, [count + tf.cast(moved, count.dtype) for count in counts])
        good = [tf.convert_to_tensor(variable) for variable in self._moving()]
        return sums, rate, good


def _identities(variables: Sequence[Any]) -> list[int]:
    return [id(variable) for variable in variables]


def _update_counters(model: keras.Model) -> list[Any]:
    """Return the variables by which layers know how far training is: they go on by one with each update, whatever its parts."""
    return [layer.step for layer in model._flatten_layers() if isinstance(layer, ScheduledDropout) and layer.built]


def _set_all(variables: Sequence[Any], values: Sequence[tf.Tensor]) -> None:
    for variable, value in zip(variables, values, strict=True):
        variable.assign(value)


def _check_finite(optimizer, loss, gradients) -> tf.Operation:
    """Stop the step where the loss or a gradient is no number.

    Where a loss scale is at work, infinite gradients are its daily business: it skips the update and lowers the scale.
    """
    total = tf.cast(loss, "float32")
    if not isinstance(optimizer, keras.optimizers.LossScaleOptimizer):
        # a sum is finite only if all of its parts are; sums that overflow are past saving too
        values = [gradient.values if isinstance(gradient, tf.IndexedSlices) else gradient for gradient in gradients if gradient is not None]
        total = tf.add_n([total, *(tf.cast(tf.reduce_sum(value), "float32") for value in values)])
    return tf.debugging.Assert(tf.math.is_finite(total), [_NOT_FINITE])


def evaluation_step(model: keras.Model, metrics: Mapping[str, PerExample], totals: Totals, signature, forward: Forward | None = None):
    """Return a compiled evaluation: `step(inputs, labels)` adds a batch to the totals and moves nothing.

    Auxiliary outputs, which help training only, are left out of all figures.
    """
    loss, forward = per_example(model.loss), forward or Forward(model)

    def part(inputs, labels):
        inputs, labels, count = my_part(inputs, labels)
        outputs = main_output(forward.evaluate(inputs))
        return _sums(_losses(model, loss, labels, outputs), metrics, labels, outputs, count)

    def step(inputs, labels):
        totals.add(sum_figures(tf.distribute.get_strategy().run(part, (inputs, labels))))

    return compiled(step, signature)
