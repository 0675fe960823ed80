"""Means of the weights over updates: what is validated, kept and saved is the mean, and training goes on from the weights."""

from collections.abc import Callable

import keras
import tensorflow as tf


class AveragedWeights(keras.callbacks.Callback):
    """A mean of a model's weights that takes their place from the validation of each epoch to the start of the next.

    All weights of a model are averaged, moving statistics of normalisation included; only whole numbers, which count, stay as they
    are. Place it before callbacks that keep or restore weights. While the mean is in the model, the weights lie in `values`, and the
    other way round; a checkpoint of model and callback as they are keeps both.

    Attributes:
        averaged: the weights of the model that take part.
        values: a variable for each of them.
        count: how many updates or epochs are in the mean.
        in_place: True while the mean is in the model.
    """

    def __init__(self):
        super().__init__()
        self.averaged: list[keras.Variable] = []
        self.values: list[tf.Variable] = []
        self.in_place = False

    def set_model(self, model):
        """Make room for the mean; the training step is compiled after this."""
        super().set_model(model)
        kind = tf.VariableAggregation.ONLY_FIRST_REPLICA
        self.averaged = [weight for weight in model.weights if keras.backend.is_float_dtype(weight.dtype)]
        self.values = [tf.Variable(weight.value, trainable=False, aggregation=kind, name="average") for weight in self.averaged]
        self.count = tf.Variable(tf.constant(0, "int64"), trainable=False, aggregation=kind, name="averaged")

    def on_train_begin(self, logs=None):
        """Start a new mean."""
        self.count.assign(0)
        self.in_place = False

    def on_epoch_begin(self, epoch, logs=None):
        """Put the weights back, from which training goes on."""
        if self.in_place:
            self._exchange()

    def on_test_begin(self, logs=None):
        """Put the mean in the place of the weights before they are validated."""
        self._enter()

    def on_epoch_end(self, epoch, logs=None):
        """Put the mean in the place of the weights where nothing was validated."""
        self._enter()

    def on_train_end(self, logs=None):
        """Leave the mean in the model."""
        self._enter()

    def _enter(self) -> None:
        if not self.in_place and int(self.count.numpy()) > 0:
            self._exchange()

    def _exchange(self) -> None:
        for weight, value in zip(self.averaged, self.values, strict=True):
            other = tf.identity(value)
            value.assign(weight.value)
            weight.assign(other)
        self.in_place = not self.in_place


class ExponentialAverage(AveragedWeights):
    """A mean of the weights after each update, in which old ones count less and less.

    a(1) = w(1)                                    (1)
    a(t) = momentum a(t - 1) + (1 - momentum) w(t)      (2)

    It goes along inside of the compiled training step of `loop.train`; under `fit` nothing calls it. An update that a loss scale
    skipped is no update here.

    Args:
        momentum: above 0 and below 1.

    Raises:
        ValueError: for another momentum.

    Reference:
        Polyak, Juditsky, 1992, "Acceleration of Stochastic Approximation by Averaging"; in this form: Tarvainen, Valpola, 2017,
        "Mean teachers are better role models", section 2, arXiv:1703.01780.
    """

    def __init__(self, momentum: float):
        super().__init__()
        if not 0.0 < momentum < 1.0:
            raise ValueError(f"momentum must be above 0 and below 1, got {momentum}.")
        self.momentum = momentum

    def follow(self, moved: tf.Tensor) -> None:
        """Take in the weights after an update; called while the training step is compiled.

        Args:
            moved: bool scalar, whether the update moved the weights.
        """
        share = tf.where(self.count > 0, 1.0 - self.momentum, 1.0) * tf.cast(moved, "float32")
        for weight, value in zip(self.averaged, self.values, strict=True):
            # in this form a weight that never changes has a mean that never changes
            value.assign_add(tf.cast(share, value.dtype) * (tf.convert_to_tensor(weight) - value))
        self.count.assign_add(tf.cast(moved, "int64"))


class StochasticAverage(AveragedWeights):
    """The plain mean of the weights at the end of each epoch from one epoch on (SWA).

    w_swa = (w_swa n + w) / (n + 1)      at the end of each epoch (c = 1)

    Moving statistics of normalisation belong to weights and cannot be averaged with them: they are taken anew for the mean.

    Args:
        start_epoch: the first epoch that is in the mean, from 1. Before it the weights themselves are validated and kept.
        refresh: called with the model once the mean is in place, to take its statistics anew, such as a call of
            `batch_statistics.refresh_batch_norm` with training data; None for models without any.

    Raises:
        ValueError: a start epoch below 1.

    Reference:
        Izmailov et al., 2018, "Averaging Weights Leads to Wider Optima and Better Generalization", algorithm 1, arXiv:1803.05407.
    """

    def __init__(self, start_epoch: int, refresh: Callable[[keras.Model], None] | None = None):
        super().__init__()
        if start_epoch < 1:
            raise ValueError(f"start_epoch must be at least 1, got {start_epoch}.")
        self.start_epoch, self.refresh = start_epoch, refresh
        self.epoch = 0

    def on_epoch_begin(self, epoch, logs=None):
        """Put the weights back, from which training goes on."""
        super().on_epoch_begin(epoch, logs)
        self.epoch = epoch + 1

    def on_train_end(self, logs=None):
        """Leave the mean in the model; an epoch that was not finished is not in it."""
        if not self.in_place and int(self.count.numpy()) > 0:
            self._exchange()

    def _enter(self) -> None:
        if self.in_place or self.epoch < self.start_epoch:
            return
        self.count.assign_add(1)
        for weight, value in zip(self.averaged, self.values, strict=True):
            value.assign_add((weight.value - value) / tf.cast(self.count, value.dtype))
        self._exchange()
        if self.refresh is not None:
            self.refresh(self.model)
