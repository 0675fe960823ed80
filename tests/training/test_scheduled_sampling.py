"""Scheduled sampling: which words are replaced, by what, and that a stopped run goes on alike."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_canon import training, zoo
from keras_canon.training.recipe import load_recipe
from keras_canon.training.scheduled_sampling import ScheduledSampling
from keras_canon.zoo import CanonError

SIZES = {
    "source_vocabulary_size": 9,
    "target_vocabulary_size": 11,
    "embedding_dim": 6,
    "units": 6,
    "attention_units": 4,
    "readout_units": 4,
}


@pytest.fixture(scope="module")
def model():
    keras.utils.set_random_seed(4)
    model = zoo.create("seq2seq_attention", overrides=SIZES)
    model.compile(optimizer="adam", loss="mse")
    # sure of its words, so that draws follow what was read
    model.set_weights([6 * weight for weight in model.get_weights()])
    return model


def batch(rows=3):
    random = np.random.default_rng(5)
    target = random.integers(4, 11, (rows, 7))
    target[:, 0], target[0, 5:] = 2, 0
    return {"source_ids": tf.constant(random.integers(4, 9, (rows, 5)), "int32"), "target_ids": tf.constant(target, "int32")}


def after(model, updates):
    model.optimizer.iterations.assign(updates)


def test_nothing_is_replaced_at_the_first_update_and_all_at_the_last(model):
    inputs, sampling = batch(), ScheduledSampling(model, 1.0, updates=10)
    after(model, 0)
    np.testing.assert_array_equal(sampling.mixed(inputs), inputs["target_ids"])
    after(model, 10)
    found, right = np.asarray(sampling.mixed(inputs)), np.asarray(inputs["target_ids"])
    np.testing.assert_array_equal(found[:, 0], 2)
    np.testing.assert_array_equal(found == 0, right == 0)
    assert np.mean(found[:, 1:] == right[:, 1:]) < 0.6


def test_the_share_rises_and_repeats_for_an_update(model):
    inputs, sampling = batch(400), ScheduledSampling(model, 0.5, updates=8, seed=3)
    shares = []
    for update in (2, 4, 8, 80):
        after(model, update)
        found = sampling.mixed(inputs)
        np.testing.assert_array_equal(found, sampling.mixed(inputs))
        shares.append(float(np.mean(np.asarray(found)[1:, 1:] != np.asarray(inputs["target_ids"])[1:, 1:])))
    assert 0.0 < shares[0] < shares[1] < shares[2] <= 0.5
    assert shares[3] == pytest.approx(shares[2], abs=0.05)


def test_as_many_passes_as_words_draw_one_after_the_other(model):
    after(model, 10)
    inputs = batch()
    sampling = ScheduledSampling(model, 1.0, updates=10, passes=6)
    found = np.asarray(sampling.mixed(inputs))
    # nothing changes any more, so each word was drawn after those that are read
    more = ScheduledSampling(model, 1.0, updates=10, passes=7)
    np.testing.assert_array_equal(more.mixed(inputs), found)
    once = np.asarray(ScheduledSampling(model, 1.0, updates=10).mixed(inputs))
    np.testing.assert_array_equal(once[:, :2], found[:, :2])
    assert np.any(once != found)


def test_no_gradient_goes_through_a_draw_and_evaluation_reads_the_right_words(model):
    inputs, sampling = batch(), ScheduledSampling(model, 1.0, updates=1)
    after(model, 1)
    with tf.GradientTape() as tape:
        logits = sampling.train(inputs)
        total = tf.reduce_sum(logits[..., 1])
    read = {**inputs, "target_ids": sampling.mixed(inputs)}
    np.testing.assert_allclose(logits, model(read), rtol=1e-5, atol=1e-4)
    gradients = tape.gradient(total, model.trainable_variables)
    with tf.GradientTape() as tape:
        alone = tf.reduce_sum(model(read, training=True)[..., 1])
    for mine, other in zip(gradients, tape.gradient(alone, model.trainable_variables), strict=True):
        np.testing.assert_allclose(tf.convert_to_tensor(mine), tf.convert_to_tensor(other), rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(sampling.evaluate(inputs), model(inputs), rtol=1e-6)


class Stop(keras.callbacks.Callback):
    """Ends a run as Ctrl-C does."""

    def on_train_batch_end(self, batch, logs=None):
        if self.model.optimizer.iterations >= 4:
            raise KeyboardInterrupt


@pytest.mark.slow
def test_a_stopped_run_goes_on_to_the_same_weights(tmp_path):
    changes = {"train.scheduled_sampling": 0.5, "train.checkpoint_steps": 1, "train.epochs": 2}
    recipe = load_recipe("seq2seq_attention_dates", changes, smoke=True)
    whole = training.run(recipe, tmp_path / "whole", verbose=False)
    with pytest.raises(training.RunInterrupted):
        training.run(recipe, tmp_path / "stopped", verbose=False, callbacks=[Stop()])
    again = training.run(recipe, tmp_path / "stopped", verbose=False)
    plain = training.run(training.recipe.change_recipe(recipe, {"train.scheduled_sampling": 0.0}), tmp_path / "plain", verbose=False)
    assert again.history["loss"] == whole.history["loss"] != plain.history["loss"]
    for mine, other in zip(again.model.get_weights(), whole.model.get_weights(), strict=True):
        np.testing.assert_array_equal(mine, other)


def test_what_has_no_words_is_refused(model, tmp_path):
    with pytest.raises(CanonError, match="share must be above 0 and at most 1"):
        ScheduledSampling(model, 1.5, 1)
    with pytest.raises(CanonError, match="reads no target"):
        ScheduledSampling(zoo.create("char_rnn_lstm", overrides={"units": (4,), "vocabulary_size": 9}), 0.5, 1)
    with pytest.raises(CanonError, match="pictures have none"):
        training.run("lenet5_digits", tmp_path / "run", smoke=True, overrides={"train.scheduled_sampling": 0.5}, verbose=False)
    with pytest.raises(CanonError, match="scheduled_sampling must be from 0 to 1, got 2"):
        load_recipe("seq2seq_attention_dates", {"train.scheduled_sampling": 2.0})
