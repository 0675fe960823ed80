"""Scheduled dropout counts updates of our loop: not parts of a batch, not skipped updates, and on from where a run was killed."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_canon.layers import ScheduledDropout
from keras_canon.training.averaging import ExponentialAverage, StochasticAverage
from keras_canon.training.checkpoints import Checkpoints
from keras_canon.training.distribution import make_strategy
from keras_canon.training.gradient_norms import probe
from keras_canon.training.loop import train
from keras_canon.training.updates import UpdateRule


def network(optimizer=None):
    keras.utils.set_random_seed(1)
    layers = [keras.layers.Dense(8, activation="relu"), ScheduledDropout(0.5, steps=20, name="dropout"), keras.layers.Dense(3)]
    model = keras.Sequential([keras.Input((4,)), *layers])
    model.compile(optimizer or keras.optimizers.SGD(0.1), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model


def data(epoch=0):
    random = np.random.default_rng(0)
    inputs, labels = random.normal(size=(22, 4)).astype("float32"), random.integers(0, 3, 22)
    return tf.data.Dataset.from_tensor_slices((inputs, labels)).batch(6)  # 6, 6, 6 and 4


def step_of(model):
    return int(model.get_layer("dropout").step)


@pytest.mark.parametrize("micro_batches", [1, 3])
def test_it_grows_by_one_with_each_update(micro_batches):
    model, rates = network(), []
    layer = model.get_layer("dropout")
    watch = keras.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: rates.append(float(layer.current_rate())))
    train(model, data, epochs=2, validation=data(), callbacks=[watch], rule=UpdateRule(micro_batches=micro_batches))
    np.testing.assert_allclose(rates, 0.5 * (1.0 - np.exp(-0.5 * np.arange(1, 9))), rtol=1e-6)
    probe(model, *next(iter(data())))
    assert step_of(model) == 8


@pytest.mark.parametrize("micro_batches", [1, 3])
def test_two_replicas_count_as_one(micro_batches):
    with make_strategy("mirrored").scope():
        model = network()
    train(model, data, epochs=2, rule=UpdateRule(micro_batches=micro_batches))
    assert [int(copy) for copy in model.get_layer("dropout").step.value.values] == [8, 8]


def test_an_update_that_a_loss_scale_skips_does_not_count():
    model = network(keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(0.1), initial_scale=2.0**126))
    model.compile(model.optimizer, lambda labels, outputs: 20.0 * keras.losses.sparse_categorical_crossentropy(labels, outputs, True))
    train(model, data, epochs=1)
    assert 1 <= int(model.optimizer.iterations) < 4
    assert step_of(model) == int(model.optimizer.iterations)


def test_averages_of_the_weights_leave_it_alone():
    for average in (ExponentialAverage(0.9), StochasticAverage(1)):
        model = network()
        rule = UpdateRule(average=average if isinstance(average, ExponentialAverage) else None)
        train(model, data, epochs=2, validation=data(), callbacks=[average], rule=rule)
        assert step_of(model) == 8


class Killed(BaseException):
    """Stands for the end of the process."""


def test_a_resumed_run_goes_on_where_it_stopped(tmp_path):
    def kill(batch, logs):
        if step_of(broken) == 6:
            raise Killed

    unbroken, broken, resumed = network(), network(), network()
    train(unbroken, data, epochs=3)
    watch = keras.callbacks.LambdaCallback(on_train_batch_end=kill)
    with pytest.raises(Killed):
        train(broken, data, epochs=3, callbacks=[watch], checkpoints=Checkpoints(tmp_path, steps=1))
    seen = []
    watch = keras.callbacks.LambdaCallback(on_train_batch_begin=lambda batch, logs: seen.append(step_of(resumed)))
    train(resumed, data, epochs=3, callbacks=[watch], checkpoints=Checkpoints(tmp_path, steps=1))
    assert seen == [5, 6, 7, 8, 9, 10, 11]
    for one, other in zip(unbroken.get_weights(), resumed.get_weights(), strict=True):
        np.testing.assert_array_equal(one, other)
