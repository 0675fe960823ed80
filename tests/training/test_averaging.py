"""Averages of weights: case B32, skipped updates, statistics of batch normalisation, and going on after an interruption."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_canon.training.averaging import ExponentialAverage, StochasticAverage
from keras_canon.training.batch_statistics import refresh_batch_norm
from keras_canon.training.callbacks import BestWeights
from keras_canon.training.loop import train
from keras_canon.training.updates import UpdateRule


def one_weight(learning_rate=0.1):
    """M1: one Dense(1) without bias on an input one wide."""
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1, use_bias=False, kernel_initializer="zeros")])
    model.compile(keras.optimizers.SGD(learning_rate), loss="mse")
    return model


def targets(values, batch=1):
    labels = np.asarray(values, "float32")[:, None]
    return tf.data.Dataset.from_tensor_slices((np.ones_like(labels), labels)).batch(batch)


def weight(model):
    return float(model.get_weights()[0].squeeze())


class Watch(keras.callbacks.Callback):
    """Notes the weight at each moment that matters."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def on_epoch_begin(self, epoch, logs=None):
        self.seen.append(("begin", weight(self.model)))

    def on_epoch_end(self, epoch, logs=None):
        self.seen.append(("end", weight(self.model)))


def test_b32_the_average_is_validated_and_kept_and_training_goes_on_from_the_weights(tmp_path):
    model, average, watch = one_weight(), ExponentialAverage(0.9), Watch()
    best = BestWeights(tmp_path / "best.weights.h5")
    history = train(
        model,
        lambda epoch: targets([2.0] * 4),
        epochs=2,
        validation=targets([2.0]),
        metrics={},
        callbacks=[average, watch, best],
        rule=UpdateRule(average=average),
    )
    np.testing.assert_allclose(history["val_loss"][0], 2.0856, atol=5e-5)
    (_, first), (_, end), (_, second), (_, last) = watch.seen
    assert first == 0.0
    np.testing.assert_allclose([end, second], [0.55584, 1.1808], atol=1e-6)
    # by hand: w is 2 (1 - 0.8^t) after t updates, and a(t) = 0.9 a(t - 1) + 0.1 w(t)
    expected = 0.4
    for update in range(2, 9):
        expected = 0.9 * expected + 0.1 * 2.0 * (1.0 - 0.8**update)
    np.testing.assert_allclose(last, expected, atol=1e-6)
    assert weight(model) == last
    model.load_weights(tmp_path / "best.weights.h5")
    assert weight(model) == last
    np.testing.assert_allclose(history["val_loss"][1], (2.0 - expected) ** 2, rtol=1e-5)


def test_b32_the_same_raw_weights_as_without_an_average():
    raw, averaged = one_weight(), one_weight()
    train(raw, lambda epoch: targets([2.0] * 4), epochs=3, validation=targets([2.0]), metrics={})
    average = ExponentialAverage(0.9)
    train(
        averaged,
        lambda epoch: targets([2.0] * 4),
        epochs=3,
        validation=targets([2.0]),
        metrics={},
        callbacks=[average],
        rule=UpdateRule(average=average),
    )
    assert float(average.values[0].numpy().squeeze()) == weight(raw)
    assert weight(averaged) != weight(raw)


def test_without_validation_the_average_is_what_is_left():
    model, average = one_weight(), ExponentialAverage(0.9)
    train(model, lambda epoch: targets([2.0] * 4), epochs=1, metrics={}, callbacks=[average], rule=UpdateRule(average=average))
    np.testing.assert_allclose(weight(model), 0.55584, atol=1e-6)


def test_a_skipped_update_does_not_advance_the_average():
    model = one_weight()
    model.optimizer.build(model.trainable_variables)
    average = ExponentialAverage(0.5)
    average.set_model(model)
    average.on_train_begin()
    model.set_weights([np.array([[3.0]])])
    average.follow(tf.constant(False))
    assert (int(average.count), float(average.values[0].numpy().squeeze())) == (0, 0.0)
    average.follow(tf.constant(True))
    assert (int(average.count), float(average.values[0].numpy().squeeze())) == (1, 3.0)


def test_the_stochastic_average_is_the_mean_of_epoch_ends():
    model, average, watch = one_weight(), StochasticAverage(2), Watch()
    history = train(model, lambda epoch: targets([2.0] * 4), epochs=4, validation=targets([2.0]), metrics={}, callbacks=[average, watch])
    ends = [2.0 * (1.0 - 0.8 ** (4 * epoch)) for epoch in range(1, 5)]
    # the weights themselves after epoch 1, then the mean of those from epoch 2 on
    kept = [ends[0], ends[1], np.mean(ends[1:3]), np.mean(ends[1:4])]
    np.testing.assert_allclose([value for moment, value in watch.seen if moment == "end"], kept, rtol=1e-5)
    np.testing.assert_allclose([value for moment, value in watch.seen if moment == "begin"], [0.0, *ends[:3]], rtol=1e-5)
    np.testing.assert_allclose(history["val_loss"], [(2.0 - value) ** 2 for value in kept], rtol=1e-4)
    np.testing.assert_allclose(weight(model), kept[-1], rtol=1e-5)


def batch_norm_network():
    keras.utils.set_random_seed(0)
    layers = [keras.Input((3,)), keras.layers.Dense(4), keras.layers.BatchNormalization(momentum=0.9), keras.layers.Dropout(0.3)]
    model = keras.Sequential([*layers, keras.layers.Dense(2)])
    model.compile(keras.optimizers.SGD(0.1), loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model


def labelled(count=22, batch=8):
    random = np.random.default_rng(0)
    inputs, labels = random.normal(2.0, 3.0, (count, 3)).astype("float32"), random.integers(0, 2, count)
    return tf.data.Dataset.from_tensor_slices((inputs, labels)).batch(batch)


def test_batch_statistics_are_those_of_the_data_and_nothing_else_changes():
    model, data = batch_norm_network(), labelled()
    before = [weight.numpy() for weight in model.variables]
    norm = model.layers[1]
    refresh_batch_norm(model, data)
    batches = [model.layers[0](inputs).numpy() for inputs, _ in data]
    counts = np.array([len(batch) for batch in batches])[:, None]
    mean = (np.stack([batch.mean(axis=0) for batch in batches]) * counts).sum(axis=0) / counts.sum()
    variance = (np.stack([batch.var(axis=0) for batch in batches]) * counts).sum(axis=0) / counts.sum()
    np.testing.assert_allclose(norm.moving_mean.numpy(), mean, rtol=1e-5)
    np.testing.assert_allclose(norm.moving_variance.numpy(), variance, rtol=1e-4)
    assert norm.momentum == 0.9
    for variable, value in zip(model.variables, before, strict=True):
        if "moving" not in variable.path:
            np.testing.assert_array_equal(variable.numpy(), value, err_msg=variable.path)


def test_a_stochastic_average_is_validated_with_statistics_of_its_own():
    model, data = batch_norm_network(), labelled()
    average = StochasticAverage(1, lambda model: refresh_batch_norm(model, data))
    history = train(model, lambda epoch: data, epochs=3, validation=data, metrics={}, callbacks=[average])
    statistics = model.layers[1].moving_mean.numpy()
    refresh_batch_norm(model, data)
    np.testing.assert_allclose(model.layers[1].moving_mean.numpy(), statistics, rtol=1e-6)
    np.testing.assert_allclose(model.evaluate(data, verbose=0), history["val_loss"][-1], rtol=1e-5)


def test_an_average_goes_on_where_it_was(tmp_path):
    from keras_canon.training.checkpoints import Checkpoints

    def go(epochs, folder):
        model, average = batch_norm_network(), ExponentialAverage(0.8)
        folder.mkdir(exist_ok=True)
        train(
            model,
            lambda epoch: labelled(),
            epochs=epochs,
            validation=labelled(),
            metrics={},
            callbacks=[average],
            checkpoints=Checkpoints(folder, steps=None, seconds=1e9, writes=True),
            rule=UpdateRule(average=average),
        )
        return model, average

    whole, _ = go(3, tmp_path / "whole")
    go(1, tmp_path / "parts")
    again, average = go(3, tmp_path / "parts")
    for one, other in zip(whole.get_weights(), again.get_weights(), strict=True):
        np.testing.assert_array_equal(one, other)
    assert int(average.count) == 9


@pytest.mark.parametrize("momentum", [0.0, 1.0, -0.5])
def test_bad_arguments(momentum):
    with pytest.raises(ValueError, match="above 0 and below 1"):
        ExponentialAverage(momentum)
    with pytest.raises(ValueError, match="at least 1"):
        StochasticAverage(0)
