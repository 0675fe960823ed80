"""Case B43: memory does not grow with epochs, with runs of one model, or with predictions."""

import gc
import weakref
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_canon import zoo
from keras_canon.training import steps
from keras_canon.training.loop import train

PAGE = 4096
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux")]


def megabytes():
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE / 2**20


def lenet():
    keras.utils.set_random_seed(0)
    return zoo.create("lenet5_modern", num_classes=10, input_shape=(32, 32, 1))


def growth(call, warm_up, calls):
    for number in range(warm_up):
        call(number)
    before = megabytes()
    for number in range(calls):
        call(number)
    return megabytes() - before


def test_b43_predictions_of_varying_sizes():
    model, pictures = lenet(), np.random.default_rng(0).uniform(size=(8, 32, 32, 1)).astype("float32")

    def predict(number):
        prepared = zoo.preprocess(255.0 * pictures[: 1 + number % 8], model)
        assert model.predict_on_batch(prepared).shape == (1 + number % 8, 10)

    assert growth(predict, 200, 1800) < 20.0


def test_b43_epochs_of_one_run():
    model = lenet()
    model.compile(keras.optimizers.Adam(1e-3), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    pictures = np.random.default_rng(0).uniform(size=(20, 32, 32, 1)).astype("float32")
    data = tf.data.Dataset.from_tensor_slices((pictures, np.arange(20) % 10)).batch(8)
    seen = []
    watch = keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: seen.append(megabytes() if epoch in (50, 299) else 0.0))
    train(model, lambda epoch: data, epochs=300, validation=data, callbacks=[watch])
    assert seen[299] - seen[50] < 20.0


def test_b43_short_fits_of_one_model():
    model = lenet()
    model.compile(keras.optimizers.Adam(1e-3), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    pictures = np.random.default_rng(0).uniform(size=(20, 32, 32, 1)).astype("float32")
    data = tf.data.Dataset.from_tensor_slices((pictures, np.arange(20) % 10)).batch(8)
    assert growth(lambda number: model.fit(data, shuffle=False, verbose=0), 10, 50) < 20.0


def test_b43_a_run_lets_go_of_what_it_compiled(monkeypatch):
    # TensorFlow itself keeps some memory for each function that was ever compiled; ours must all be free to go
    kept, build = [], steps.TrainStep.__init__

    def watched(step, *arguments):
        build(step, *arguments)
        kept.extend((weakref.ref(step), weakref.ref(step._compiled)))

    monkeypatch.setattr(steps.TrainStep, "__init__", watched)
    model = lenet()
    model.compile(keras.optimizers.Adam(1e-3), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    pictures = np.zeros((4, 32, 32, 1), "float32")
    data = tf.data.Dataset.from_tensor_slices((pictures, np.arange(4))).batch(4)
    for _ in range(3):
        train(model, lambda epoch: data, epochs=1)
    gc.collect()
    assert [reference() for reference in kept] == [None] * 6
