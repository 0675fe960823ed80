"""The loop against `fit`, and cases B29, B36 and B37."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_canon.training.callbacks import BestWeights, LastGood
from keras_canon.training.checkpoints import Checkpoints
from keras_canon.training.hooks import BatchHooks
from keras_canon.training.loop import train
from keras_canon.training.schedules import WarmupCosine
from keras_canon.zoo.errors import CanonError


def one_weight(learning_rate=1.0, loss="mse", start="zeros"):
    """M1: one Dense(1) without bias on an input one wide."""
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1, use_bias=False, kernel_initializer=start)])
    model.compile(keras.optimizers.SGD(learning_rate), loss=loss)
    return model


def weight(model):
    return float(model.get_weights()[0].squeeze())


def targets(values, inputs=None, batch=1):
    labels = np.asarray(values, "float32")[:, None]
    inputs = np.ones_like(labels) if inputs is None else np.asarray(inputs, "float32")[:, None]
    return tf.data.Dataset.from_tensor_slices((inputs, labels)).batch(batch)


def batch_norm_network():
    keras.utils.set_random_seed(3)
    layers = [
        keras.Input((6, 6, 2)),
        keras.layers.Conv2D(4, 3, use_bias=False, kernel_regularizer=keras.regularizers.L2(1e-3)),
        keras.layers.BatchNormalization(),
        keras.layers.ReLU(),
        keras.layers.Flatten(),
        keras.layers.Dense(3),
    ]
    return keras.Sequential(layers)


@pytest.mark.parametrize("rate", [pytest.param(0.05, marks=pytest.mark.slow), WarmupCosine(0.1, 3, 9)], ids=["constant", "schedule"])
def test_the_same_weights_as_fit(rate):
    random = np.random.default_rng(0)
    images, labels = random.normal(size=(23, 6, 6, 2)).astype("float32"), random.integers(0, 3, 23)
    data = tf.data.Dataset.from_tensor_slices((images, labels)).batch(6)  # the last batch has 5
    models, histories = [], []
    for ours in (True, False):
        model = batch_norm_network()
        model.compile(
            keras.optimizers.SGD(rate, momentum=0.9),
            loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            metrics=["accuracy"],
            jit_compile=False,
        )
        if ours:
            histories.append(train(model, lambda epoch: data, epochs=3, validation=data))
        else:
            histories.append(model.fit(data, epochs=3, validation_data=data, verbose=0, shuffle=False).history)
        models.append(model)
    for one, other in zip(models[0].get_weights(), models[1].get_weights(), strict=True):
        np.testing.assert_allclose(one, other, rtol=0.0, atol=1e-6)
    for name in ("loss", "accuracy", "val_loss", "val_accuracy"):
        np.testing.assert_allclose(histories[0][name], histories[1][name], rtol=1e-5, err_msg=name)
    for one, other in zip(models[0].optimizer.variables, models[1].optimizer.variables, strict=True):
        np.testing.assert_allclose(one, other, rtol=0.0, atol=1e-6)


def test_b29_the_best_weights_are_restored_when_the_run_ends_by_itself(tmp_path):
    for callback in (
        keras.callbacks.EarlyStopping(patience=10, restore_best_weights=True),
        BestWeights(tmp_path / "best.weights.h5"),
    ):
        model = one_weight(1.0)
        history = train(model, lambda epoch: targets([1.0]), epochs=2, validation=targets([2.0]), metrics={}, callbacks=[callback])
        assert history["val_loss"] == [0.0, 4.0]
        assert weight(model) == 2.0
    model.load_weights(tmp_path / "best.weights.h5")
    assert weight(model) == 2.0
    assert [path.name for path in tmp_path.iterdir()] == ["best.weights.h5"]


def test_b29_training_figures_cannot_choose_weights(tmp_path):
    # with SGD 1.5 the loss of epoch 1 is that of w = 0, but the weights at its end are w = 3
    assert train(one_weight(1.5), lambda epoch: targets([1.0]), epochs=3, metrics={})["loss"] == [1.0, 4.0, 16.0]
    with pytest.raises(ValueError, match="validation split"):
        BestWeights(tmp_path / "best.weights.h5", monitor="loss")


def test_b29_a_baseline_that_is_never_reached():
    stopping = keras.callbacks.EarlyStopping(patience=3, baseline=0.01, restore_best_weights=True)
    model = one_weight(1.0)
    history = train(model, lambda epoch: targets([1.0]), epochs=9, validation=targets([1.0]), metrics={}, callbacks=[stopping])
    assert len(history["loss"]) == 3
    assert weight(model) == 2.0


def test_figures_that_are_no_numbers_are_never_the_best(tmp_path):
    best = BestWeights(tmp_path / "best.weights.h5")
    best.set_model(one_weight())
    best.on_train_begin()
    for epoch, value in enumerate([float("nan"), 3.0, float("nan"), 2.0, 2.0, float("inf")]):
        best.on_epoch_end(epoch, {"val_loss": value})
    assert (best.best, best.best_epoch) == (2.0, 3)
    with pytest.raises(ValueError, match="There is no 'val_loss'"):
        best.on_epoch_end(0, {"loss": 1.0})
    accuracy = BestWeights(tmp_path / "best.weights.h5", "val_accuracy")
    accuracy.set_model(one_weight())
    for epoch, value in enumerate([0.5, 0.9, 0.7]):
        accuracy.on_epoch_end(epoch, {"val_accuracy": value})
    assert accuracy.best_epoch == 1


def test_b36_a_short_last_batch_counts_by_its_examples():
    data = targets([0.0, 0.0, 0.0], inputs=[10.0, 10.0, 9.0], batch=2)
    model = one_weight(0.0, loss="mae", start="ones")
    metrics = {"error": keras.losses.mean_absolute_error}
    history = train(model, lambda epoch: data, epochs=1, validation=data, metrics=metrics)
    for name in ("loss", "error", "val_loss", "val_error"):
        np.testing.assert_allclose(history[name], [29.0 / 3.0], rtol=1e-6)


@pytest.mark.parametrize("callback", [keras.callbacks.ReduceLROnPlateau(), keras.callbacks.LearningRateScheduler(lambda epoch: 0.1)])
def test_b37_two_masters_of_the_learning_rate_are_refused_before_the_first_epoch(callback):
    started = []
    watch = keras.callbacks.LambdaCallback(on_epoch_begin=lambda epoch, logs: started.append(epoch))
    with pytest.raises(CanonError, match=rf"WarmupCosine.*{type(callback).__name__}"):
        train(
            one_weight(WarmupCosine(1.0, 1, 2)),
            lambda epoch: targets([1.0]),
            epochs=3,
            validation=targets([1.0]),
            callbacks=[watch, callback],
        )
    assert started == []


def test_b37_a_callback_alone_sets_the_rate_that_is_recorded():
    scheduler = keras.callbacks.LearningRateScheduler(lambda epoch: 0.1 * (epoch + 1))
    history = train(one_weight(1.0), lambda epoch: targets([1.0]), epochs=2, metrics={}, callbacks=[scheduler])
    np.testing.assert_allclose(history["learning_rate"], [0.1, 0.2], rtol=1e-6)


def test_the_rate_recorded_is_that_of_the_last_update():
    history = train(one_weight(WarmupCosine(1.0, 2, 2)), lambda epoch: targets([1.0, 1.0]), epochs=2, metrics={})
    np.testing.assert_allclose(history["learning_rate"], [1.0, 0.5], atol=1e-6)


def test_callbacks_see_every_batch_with_running_means():
    seen = []
    watch = keras.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: seen.append((batch, logs["loss"])))
    train(one_weight(0.0), lambda epoch: targets([1.0, 3.0]), epochs=2, metrics={}, callbacks=[watch])
    assert seen == [(0, 1.0), (1, 5.0), (0, 1.0), (1, 5.0)]


def test_batch_methods_are_called_only_where_there_are_any():
    epochs_only = keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: None)
    assert not BatchHooks([epochs_only, keras.callbacks.EarlyStopping(), keras.callbacks.CSVLogger("never_written.csv")]).train
    batch = BatchHooks([keras.callbacks.LambdaCallback(on_train_batch_begin=lambda batch, logs: None)])
    assert batch.train
    assert batch.read_logs
    assert not batch.test
    test = BatchHooks([keras.callbacks.LambdaCallback(on_test_batch_end=lambda batch, logs: None)])
    assert test.test
    assert not test.train


class Stop(keras.callbacks.Callback):
    def __init__(self, epoch):
        super().__init__()
        self.epoch = epoch

    def on_epoch_end(self, epoch, logs=None):
        if epoch == self.epoch:
            raise KeyboardInterrupt


def test_ctrl_c_puts_the_best_weights_back_and_is_passed_on(tmp_path):
    model = one_weight(1.0)
    callbacks = [BestWeights(tmp_path / "best.weights.h5"), Stop(1)]
    with pytest.raises(KeyboardInterrupt):
        train(model, lambda epoch: targets([1.0]), epochs=5, validation=targets([2.0]), metrics={}, callbacks=callbacks)
    assert weight(model) == 2.0


def test_a_loss_that_is_no_longer_finite_is_told():
    with pytest.raises(CanonError, match=r"lower optimizer\.learning_rate"):
        train(one_weight(1e30), lambda epoch: targets([1.0] * 4), epochs=3, metrics={})


def test_data_without_a_batch_is_told():
    with pytest.raises(CanonError, match="no batch"):
        train(one_weight(), lambda epoch: targets([1.0]).take(0), epochs=1, metrics={})


def test_figures_of_sequences_are_means_over_examples():
    model = keras.Sequential([keras.Input((4, 1)), keras.layers.Dense(3)])
    model.compile(keras.optimizers.SGD(0.0), loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    data = tf.data.Dataset.from_tensor_slices((np.ones((5, 4, 1), "float32"), np.zeros((5, 4), "int64"))).batch(2)
    history = train(model, lambda epoch: data, epochs=1)
    expected = model.evaluate(data, verbose=0)
    np.testing.assert_allclose(history["loss"], [expected], rtol=1e-5)


def test_b35_steps_per_epoch_are_the_same_in_every_epoch(tmp_path):
    batches, validated = [], []
    watch = keras.callbacks.LambdaCallback(
        on_train_batch_end=lambda batch, logs: batches.append(batch), on_test_batch_end=lambda batch, logs: validated.append(batch)
    )
    every_four = keras.callbacks.ModelCheckpoint(str(tmp_path / "{batch}.weights.h5"), save_weights_only=True, save_freq=4)
    ten, three = targets(np.arange(10.0)), targets([1.0, 2.0, 3.0])
    history = train(
        one_weight(0.0), lambda epoch: ten, epochs=4, steps_per_epoch=6, validation=three, metrics={}, callbacks=[watch, every_four]
    )
    assert batches == [0, 1, 2, 3, 4, 5] * 4
    assert validated == [0, 1, 2] * 4
    assert len(set(history["val_loss"])) == 1
    saved = {int(path.name.split(".")[0]) for path in tmp_path.iterdir()}
    assert saved
    assert max(saved) <= 6  # Keras numbers them from 1 in names


def test_b35_steps_that_the_data_cannot_fill_are_refused_before_the_first_epoch():
    started = []
    watch = keras.callbacks.LambdaCallback(on_epoch_begin=lambda epoch, logs: started.append(epoch))
    with pytest.raises(CanonError, match="steps_per_epoch is 11, but the training data fill only 10 batches"):
        train(one_weight(), lambda epoch: targets(np.arange(10.0)), epochs=1, steps_per_epoch=11, metrics={}, callbacks=[watch])
    assert started == []
    # where nobody can count them before, it is told as soon as they run out
    unknown = tf.data.Dataset.from_generator(lambda: iter(targets([1.0, 2.0])), output_signature=targets([1.0]).element_spec)
    with pytest.raises(CanonError, match="Epoch 1 had 2 batches, but steps_per_epoch is 3"):
        train(one_weight(0.1), lambda epoch: unknown, epochs=2, steps_per_epoch=3, metrics={})


@pytest.mark.parametrize("kind", ["inputs", "weights"])
def test_the_last_good_weights_and_the_offending_batch_are_kept(kind, tmp_path):
    inputs = np.ones((6, 2), "float32")
    if kind == "inputs":
        inputs[4] = np.nan
    data = tf.data.Dataset.from_tensor_slices((inputs, np.zeros(6, "int64"))).batch(2)
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.Input((2,)), keras.layers.BatchNormalization(), keras.layers.Dense(2)])
    model.compile(keras.optimizers.Adam(0.01), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    seen = []

    class Spoil(keras.callbacks.Callback):
        def on_train_batch_begin(self, batch, logs=None):
            if batch == 2:
                seen.extend(self.model.get_weights())
                if kind == "weights":
                    self.model.layers[-1].bias.assign([np.inf, 0.0])

    with pytest.raises(CanonError, match=r"not finite at step 3 of epoch 1 and the batch is in .*offending_batch\.npz.*lower") as caught:
        train(model, lambda epoch: data, epochs=2, callbacks=[Spoil(), LastGood(tmp_path)])
    assert "\n" not in str(caught.value)
    with np.load(tmp_path / "offending_batch.npz") as stored:
        np.testing.assert_array_equal(stored["inputs"], inputs[4:])
        assert int(stored["step"]) == 2
    model.load_weights(tmp_path / "last_good.weights.h5")
    for one, other in list(zip(model.get_weights(), seen, strict=True))[: 4 if kind == "weights" else None]:
        np.testing.assert_array_equal(one, other)
        assert np.all(np.isfinite(one))
    assert int(model.optimizer.iterations) == 2


def test_a_run_that_only_finishes_knows_how_long_it_took(tmp_path):
    def run():
        checkpoints = Checkpoints(tmp_path)
        model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(2)])
        model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True), jit_compile=False)
        data = tf.data.Dataset.from_tensors((np.ones((2, 1), "float32"), np.array([0, 1])))
        train(model, lambda epoch: data, epochs=1, checkpoints=checkpoints)
        return checkpoints.position.total_seconds

    assert run() == run() > 0.0
