"""One update and one evaluation of a batch, as compiled functions that keep their sums on the device."""

from collections.abc import Callable, Mapping, Sequence

import keras
import tensorflow as tf

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
    return loss


def _column(values) -> tf.Tensor:
    """Return one float32 value for each example, (B,), averaged over further axes such as time."""
    values = tf.cast(values, "float32")
    return values if values.shape.rank == 1 else tf.reduce_mean(tf.reshape(values, (tf.shape(values)[0], -1)), axis=1)


def _losses(model: keras.Model, loss: PerExample, labels, outputs) -> tf.Tensor:
    """Return the loss of each example, (B,), weight penalties included."""
    losses = _column(loss(labels, outputs))
    return losses + tf.cast(tf.add_n(model.losses), "float32") if model.losses else losses


def _sums(losses, metrics: Mapping[str, PerExample], labels, outputs) -> tf.Tensor:
    columns = [losses, *(_column(metric(labels, outputs)) for metric in metrics.values())]
    sums = [tf.reduce_sum(tf.cast(column, "float64")) for column in columns]
    return tf.stack([*sums, tf.cast(tf.shape(losses)[0], "float64")])


def compiled(function: Callable, signature):
    """Return a function traced once, at this moment, for arguments of a signature.

    A concrete function costs less at each call than a `tf.function`, and one model after another in a process draws no warning
    about retracing.
    """
    return tf.function(function, input_signature=signature, autograph=False).get_concrete_function()


def train_step(model: keras.Model, metrics: Mapping[str, PerExample], totals: Totals, signature):
    """Return a compiled update: `step(inputs, labels)` moves the weights once and returns the learning rate it used.

    The loss is summed over the examples at hand and divided by the number in the whole batch, so that the part of a batch that
    one of several devices holds adds up with the others.

    Args:
        model: a compiled model.
        metrics: by name, functions of labels and outputs with one value for each example.
        totals: where loss, metrics and number of examples are added.
        signature: the element spec of the batches, so that a short last batch needs no second trace.
    """
    optimizer, loss = model.optimizer, per_example(model.loss)

    def update(inputs, labels, batch_examples):
        with tf.GradientTape() as tape:
            outputs = model(inputs, training=True)
            losses = _losses(model, loss, labels, outputs)
            objective = optimizer.scale_loss(tf.reduce_sum(losses) / batch_examples)
        weights = model.trainable_weights
        gradients = tape.gradient(objective, weights)
        rate = tf.identity(optimizer.learning_rate)
        optimizer.apply(gradients, weights)
        return _sums(losses, metrics, labels, outputs), rate

    def step(inputs, labels):
        sums, rate = update(inputs, labels, tf.cast(tf.shape(labels)[0], "float32"))
        totals.add(sums)
        return rate

    optimizer.build(model.trainable_weights)
    return compiled(step, signature)


def evaluation_step(model: keras.Model, metrics: Mapping[str, PerExample], totals: Totals, signature):
    """Return a compiled evaluation: `step(inputs, labels)` adds a batch to the totals and moves nothing."""
    loss = per_example(model.loss)

    def step(inputs, labels):
        outputs = model(inputs, training=False)
        totals.add(_sums(_losses(model, loss, labels, outputs), metrics, labels, outputs))

    return compiled(step, signature)
