"""Case B43: memory does not grow with epochs, with runs of one model, or with predictions."""

import copy
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
from keras_canon.training.penalties import add_penalties

PAGE = 4096
memory = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux")


def megabytes():
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE / 2**20


def lenet():
    keras.utils.set_random_seed(0)
    return zoo.create("lenet5_modern", num_classes=10, input_shape=(32, 32, 1))


def compiled_lenet():
    model = lenet()
    model.compile(keras.optimizers.Adam(1e-3), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model


def short_data():
    pictures = np.random.default_rng(0).uniform(size=(20, 32, 32, 1)).astype("float32")
    return tf.data.Dataset.from_tensor_slices((pictures, np.arange(20) % 10)).batch(8)


def small_network():
    keras.utils.set_random_seed(1)
    layers = [keras.layers.Dense(5, activation="relu"), keras.layers.Dropout(0.1, seed=3), keras.layers.Dense(3)]
    model = keras.Sequential([keras.Input((4,)), *layers])
    model.compile(keras.optimizers.SGD(0.1, momentum=0.9), keras.losses.MeanSquaredError())
    return model


def short_vectors(batch):
    random = np.random.default_rng(0)
    inputs, labels = random.normal(size=(batch, 4)).astype("float32"), random.normal(size=(batch, 3)).astype("float32")
    return tf.data.Dataset.from_tensor_slices((inputs, labels)).batch(batch, drop_remainder=True)


def growth(call, warm_up, calls):
    for number in range(warm_up):
        call(number)
    before = megabytes()
    for number in range(calls):
        call(number)
    return megabytes() - before


@memory
@pytest.mark.slow
def test_b43_predictions_of_varying_sizes():
    model, pictures = lenet(), np.random.default_rng(0).uniform(size=(8, 32, 32, 1)).astype("float32")

    def predict(number):
        prepared = zoo.preprocess(255.0 * pictures[: 1 + number % 8], model)
        assert model.predict_on_batch(prepared).shape == (1 + number % 8, 10)

    assert growth(predict, 200, 1800) < 20.0


@memory
@pytest.mark.slow
def test_b43_epochs_of_one_run():
    model, data = compiled_lenet(), short_data()
    seen = []
    watch = keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: seen.append(megabytes() if epoch in (50, 299) else 0.0))
    train(model, lambda epoch: data, epochs=300, validation=data, callbacks=[watch])
    assert seen[299] - seen[50] < 20.0


@memory
@pytest.mark.slow
def test_b43_short_fits_of_one_model():
    model, data = compiled_lenet(), short_data()
    assert growth(lambda number: model.fit(data, shuffle=False, verbose=0), 10, 50) < 20.0


@memory
@pytest.mark.slow
def test_b43_short_trainings_of_one_model():
    model, data = compiled_lenet(), short_data()
    assert growth(lambda number: train(model, lambda epoch: data, epochs=1, validation=data), 10, 50) < 20.0


def counted(monkeypatch):
    """Let every step that is compiled be counted, and watched."""
    steps_made, compile_step = [], steps.compiled

    def watched(function, signature):
        step = compile_step(function, signature)
        steps_made.append(weakref.ref(step))
        return step

    monkeypatch.setattr(steps, "compiled", watched)
    return steps_made


def test_b43_training_again_compiles_nothing(monkeypatch):
    made, model, data = counted(monkeypatch), small_network(), short_vectors(4)
    histories = [train(model, lambda epoch: data, epochs=1, validation=data) for _ in range(3)]
    assert len(made) == 2  # the update and the evaluation
    assert histories[0]["loss"] > histories[1]["loss"] > histories[2]["loss"]
    # one more for data of another shape, and none when the first come back
    for batch in (5, 4, 5):
        train(model, lambda epoch, batch=batch: short_vectors(batch), epochs=1)
    assert len(made) == 3
    gc.collect()
    assert all(step() is not None for step in made)
    # TensorFlow itself keeps some memory for each function that was ever compiled; ours must all be free to go
    del model
    gc.collect()
    assert [step() for step in made] == [None] * 3


def new_optimizer(model):
    model.compile(keras.optimizers.SGD(0.1), model.loss)


def new_loss(model):
    model.compile(model.optimizer, "mse")


CHANGES = {
    "optimizer": new_optimizer,
    "loss": new_loss,
    "momentum": lambda model: setattr(model.optimizer, "momentum", 0.5),
    "frozen": lambda model: setattr(model.layers[0], "trainable", False),
    "rate of dropout": lambda model: setattr(model.layers[1], "rate", 0.9),
    "penalty": lambda model: add_penalties(model, l2=0.1),
}


@pytest.mark.parametrize(
    "change", [pytest.param(name, marks=[] if name in ("optimizer", "frozen") else [pytest.mark.slow]) for name in CHANGES]
)
def test_what_is_compiled_in_is_compiled_anew_when_it_changes(change, monkeypatch):
    made, data = counted(monkeypatch), short_vectors(4)
    kept, fresh = small_network(), small_network()
    train(kept, lambda epoch: data, epochs=1, metrics={})
    CHANGES[change](kept)
    train(kept, lambda epoch: data, epochs=2, metrics={})
    assert len(made) == 2
    # a model that was never trained before the change, with the same weights
    train(fresh, lambda epoch: data, epochs=1, metrics={})
    vars(fresh).pop("_keras_canon_compiled")
    CHANGES[change](fresh)
    train(fresh, lambda epoch: data, epochs=2, metrics={})
    for one, other in zip(kept.get_weights(), fresh.get_weights(), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_plain_rate_is_no_reason_to_compile_anew(monkeypatch):
    made, model, data = counted(monkeypatch), small_network(), short_vectors(4)
    train(model, lambda epoch: data, epochs=1, metrics={})
    model.optimizer.learning_rate = 0.5
    assert train(model, lambda epoch: data, epochs=1, metrics={})["learning_rate"] == [0.5]
    assert len(made) == 1


def test_what_is_compiled_is_not_part_of_a_copy_or_file(tmp_path):
    model, data = small_network(), short_vectors(4)
    train(model, lambda epoch: data, epochs=1)
    model.save(tmp_path / "model.keras")
    assert "_keras_canon_compiled" not in vars(keras.saving.load_model(tmp_path / "model.keras"))
    steps = vars(model)["_keras_canon_compiled"]
    assert steps._steps
    assert copy.deepcopy(steps)._steps == copy.copy(steps)._steps == []
