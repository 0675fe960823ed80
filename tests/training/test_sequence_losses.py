"""Losses and figures of sequences against sums written out in NumPy."""

import keras
import numpy as np
import pytest

from keras_canon.training.data.memory_tasks import MemoryOptions
from keras_canon.training.data.sequences import SequenceDataset, SequenceSplit
from keras_canon.training.losses import build_loss
from keras_canon.training.sections import TrainSection
from keras_canon.training.sequence_losses import SequenceCrossEntropy, nearness, sequence_accuracy, sequence_loss, token_accuracy
from keras_canon.zoo import CanonError

LABELS = np.array([[2, 1, 0, 0], [1, 1, 2, 0], [0, 0, 0, 0]])
LOGITS = np.random.default_rng(0).normal(size=(3, 4, 3)).astype("float32")


def expected(smoothing=0.0):
    logarithms = LOGITS - np.log(np.exp(LOGITS).sum(axis=-1, keepdims=True))
    rows = []
    for labels, row in zip(LABELS, logarithms, strict=True):
        real = [-((1 - smoothing) * row[t, label] + smoothing * row[t].mean()) for t, label in enumerate(labels) if label]
        rows.append(np.mean(real) if real else 0.0)
    return rows


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_cross_entropy_is_the_mean_over_real_steps(smoothing):
    loss = SequenceCrossEntropy(smoothing, reduction="none")
    np.testing.assert_allclose(loss(LABELS, LOGITS), expected(smoothing), rtol=1e-5)
    again = keras.losses.deserialize(keras.losses.serialize(loss))
    np.testing.assert_allclose(again(LABELS, LOGITS), expected(smoothing), rtol=1e-5)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_more_padding_changes_nothing(smoothing):
    labels = np.pad(LABELS, ((0, 0), (0, 5)))
    logits = np.concatenate([LOGITS, np.full((3, 5, 3), 1e4, "float32")], axis=1)
    loss = SequenceCrossEntropy(smoothing, reduction="none")
    np.testing.assert_allclose(loss(labels, logits), loss(LABELS, LOGITS), atol=1e-6)
    np.testing.assert_allclose(token_accuracy(labels, logits), token_accuracy(LABELS, LOGITS), atol=1e-6)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_class_0_counts_where_padding_is_below_it(smoothing):
    loss, shifted = SequenceCrossEntropy(smoothing, ignored_label=-1, reduction="none"), LABELS - 1
    logits = np.concatenate([LOGITS[..., 1:], LOGITS[..., :1]], axis=-1)  # the classes in the places of their new numbers
    np.testing.assert_allclose(loss(shifted, logits), expected(smoothing), rtol=1e-5)
    again = keras.losses.deserialize(keras.losses.serialize(loss))
    np.testing.assert_allclose(again(shifted, logits), expected(smoothing), rtol=1e-5)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_labels_below_0_never_count(smoothing):
    loss = SequenceCrossEntropy(smoothing, reduction="none")
    below = np.where(LABELS == 0, [[-1], [-7], [0]], LABELS)
    np.testing.assert_allclose(loss(below, LOGITS), expected(smoothing), rtol=1e-5)
    np.testing.assert_array_equal(token_accuracy(below, LOGITS), token_accuracy(LABELS, LOGITS))


def test_a_mask_of_keras_changes_nothing():
    ids = keras.Input((None,), dtype="int32")
    x = keras.layers.Embedding(4, 3, mask_zero=True)(ids)
    model = keras.Model(ids, keras.layers.Dense(3)(x))
    outputs = model(LABELS)
    assert outputs._keras_mask is not None
    loss = SequenceCrossEntropy(reduction="none")
    np.testing.assert_array_equal(loss(LABELS, outputs), loss(LABELS, np.asarray(outputs)))


def test_token_accuracy_counts_real_steps():
    logits = keras.ops.one_hot(np.array([[2, 2, 0, 1], [1, 1, 2, 1], [0, 1, 2, 1]]), 3)
    np.testing.assert_allclose(token_accuracy(LABELS, logits), [0.5, 1.0, 0.0])


def test_nearness():
    np.testing.assert_array_equal(nearness([[1.0], [1.0], [1.0]], [[1.039], [0.961], [1.05]]), [1.0, 1.0, 0.0])


def data(kind):
    split = SequenceSplit("train", {"sequences": np.zeros((1, 1, 1), "float32")}, np.zeros((1, 1)), np.ones(1, "int64"))
    return SequenceDataset("some", kind, (), (None, 1), split, split, split, {})


def test_the_loss_of_each_kind_of_labels():
    section = TrainSection(epochs=1, batch_size=1)
    assert type(sequence_loss(section, data("tokens"))).__name__ == "SequenceCrossEntropy"
    assert type(sequence_loss(section, data("classes"))).__name__ == "CrossEntropy"
    numbers = TrainSection(epochs=1, batch_size=1, loss="mean_squared_error")
    assert isinstance(sequence_loss(numbers, data("numbers")), keras.losses.MeanSquaredError)
    assert {sequence_accuracy(kind).__name__ for kind in ("classes", "numbers", "tokens")} == {"accuracy", "nearness", "token_accuracy"}
    with pytest.raises(CanonError, match=r"whose loss is 'mean_squared_error', got train\.loss = 'cross_entropy'"):
        sequence_loss(section, data("numbers"))
    with pytest.raises(CanonError, match="has no option 'delta': allowed: none"):
        build_loss("mean_squared_error", {"delta": 1.0})
    with pytest.raises(CanonError, match="leave them out for sequences"):
        sequence_loss(TrainSection(epochs=1, batch_size=1, class_weights="balanced"), data("tokens"))


def test_options_of_memory_tasks_are_checked():
    with pytest.raises(CanonError, match="length of a memory task must be 2 to 10000, got 1"):
        MemoryOptions(length=1)
