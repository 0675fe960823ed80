"""Truncated back-propagation through time: states go on from batch to batch, through a stop and in evaluation."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_canon import training, zoo
from keras_canon.training.carried_state import CarriedState, streams
from keras_canon.training.data import load_sequences
from keras_canon.training.evaluation import evaluate
from keras_canon.training.recipe import load_recipe
from keras_canon.zoo import CanonError

SIZES = {"vocabulary_size": 9, "units": (6, 5), "embedding_dim": 4}


def small(cell="lstm"):
    keras.utils.set_random_seed(2)
    return zoo.create(f"char_rnn_{cell}", overrides=SIZES)


def text(*shape):
    return tf.constant(np.random.default_rng(1).integers(1, 9, shape), "int32")


@pytest.mark.parametrize(("count", "rows"), [(8, 3), (9, 3), (10, 4), (3, 8), (1, 1)])
def test_each_row_of_a_batch_goes_on_where_it_ended(count, rows):
    order = streams(count, rows)
    assert sorted(order) == list(range(count))
    rows = min(rows, count)
    starts = order[:rows]
    for place, window in enumerate(order):
        assert window == starts[place % rows] + place // rows


@pytest.mark.parametrize("cell", ["lstm", pytest.param("gru", marks=pytest.mark.slow)])
def test_windows_read_one_after_the_other_are_the_whole_text(cell):
    model = small(cell)
    ids = text(3, 12)
    carried = CarriedState(model, 3)
    for call in (carried.evaluate, lambda part: carried.train(part)):
        parts = [call(ids[:, start : start + 4]) for start in (0, 4, 8)]
        np.testing.assert_allclose(np.concatenate(parts, axis=1), model(ids), atol=1e-6)
    # the two passes have states of their own; a new pass begins with zeros
    carried.begin_epoch()
    np.testing.assert_allclose(carried.train(ids[:, :4]), model(ids[:, :4]), atol=1e-6)
    carried.begin_evaluation()
    np.testing.assert_allclose(carried.evaluate(ids[:, :4]), model(ids[:, :4]), atol=1e-6)


def test_a_short_batch_leaves_the_states_of_other_rows():
    model = small()
    carried = CarriedState(model, 3)
    ids = text(3, 8)
    carried.evaluate(ids[:, :4])
    carried.evaluate(ids[:2, 4:])
    np.testing.assert_allclose(carried.evaluate(ids[:, 4:])[2], model(ids)[2, 4:], atol=1e-6)


def test_no_gradient_crosses_from_one_window_to_the_one_before():
    model = small()
    carried = CarriedState(model, 2)
    ids = text(2, 4)
    table = model.get_layer("embedding").trainable_variables[0]
    with tf.GradientTape() as tape:
        carried.train(ids)
        loss = tf.reduce_sum(carried.train(tf.fill((2, 4), 8)))
    gradient = tf.convert_to_tensor(tape.gradient(loss, table)).numpy()
    seen = sorted(set(ids.numpy().ravel()) - {8})
    assert np.abs(gradient[8]).max() > 0.0
    np.testing.assert_array_equal(gradient[seen], 0.0)


def test_models_without_a_state_are_refused():
    sizes = {"source_vocabulary_size": 5, "target_vocabulary_size": 5, "embedding_dim": 4, "units": (4,)}
    with pytest.raises(CanonError, match="has no state to carry"):
        CarriedState(zoo.create("seq2seq", overrides=sizes), 2)


@pytest.fixture(scope="module")
def recipe(tmp_path_factory):
    text = tmp_path_factory.mktemp("text") / "text.txt"
    random = np.random.default_rng(0)
    text.write_text("\n".join("".join(random.choice(list("abcd "), 40)) for _ in range(130)), encoding="utf-8")
    changes = {"data.name": f"text:{text}[window=32,state=carried]", "train.batch_size": 10, "train.epochs": 2}
    changes |= {"model.overrides": {"units": [6], "embedding_dim": 4}, "train.checkpoint_steps": 3, "data.validation": 0.2}
    return load_recipe("char_rnn_documentation", changes)


class Stop(keras.callbacks.Callback):
    """Ends a run as Ctrl-C does, in the midst of its second epoch."""

    def __init__(self, updates):
        super().__init__()
        self.updates = updates

    def on_train_batch_end(self, batch, logs=None):
        if self.model.optimizer.iterations >= self.updates:
            raise KeyboardInterrupt


def test_the_size_of_a_batch_does_not_change_the_figures(recipe):
    data = load_sequences(recipe.data.name, validation=0.2)
    model = zoo.create("char_rnn_lstm", overrides={"units": [6], "embedding_dim": 4, "vocabulary_size": data.num_classes})
    one, other = (evaluate(model, data, "train", batch_size=size).metrics() for size in (8, 256))
    assert one == other


@pytest.mark.slow
def test_a_stopped_run_goes_on_with_its_states(recipe, tmp_path):
    whole = training.run(recipe, tmp_path / "whole", verbose=False)
    updates = int(len(load_sequences(recipe.data.name, validation=0.2).train) / 10 * 1.6)
    with pytest.raises(training.RunInterrupted):
        training.run(recipe, tmp_path / "stopped", verbose=False, callbacks=[Stop(updates)])
    again = training.run(recipe, tmp_path / "stopped", verbose=False)
    assert again.history["loss"] == whole.history["loss"]
    assert again.history["val_loss"] == whole.history["val_loss"]
    for mine, other in zip(again.model.get_weights(), whole.model.get_weights(), strict=True):
        np.testing.assert_array_equal(mine, other)
    # the folder says how the text is to be read; the run cut it into 64 streams
    assert evaluate(tmp_path / "stopped", batch_size=64).metrics() == pytest.approx(again.test_metrics, abs=1e-6)


def test_what_cannot_carry_a_state_is_refused(recipe, tmp_path):
    with pytest.raises(CanonError, match="in whole batches"):
        training.run(training.recipe.change_recipe(recipe, {"train.micro_batches": 2}), tmp_path / "run", verbose=False)
    with pytest.raises(CanonError, match="state must be zero or carried, got 'kept'"):
        load_sequences("text[state=kept]")
