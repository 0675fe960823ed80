"""Cross-entropy for every kind of label: case B38; class weights and accuracy."""

import keras
import numpy as np
import pytest

from keras_canon.training.losses import ClassWeighted, CrossEntropy, RBFMaximumAPosteriori, accuracy, build_loss, class_weight_list
from keras_canon.training.steps import per_example
from keras_canon.zoo.errors import CanonError

LOGITS = np.array([[2.0, 0.0, 0.0, 0.0]], "float32")
ONE_HOT = np.array([[1.0, 0.0, 0.0, 0.0]], "float32")
SEQUENCE = np.repeat(LOGITS[:, None], 3, axis=1)  # (1, 3, 4)


@pytest.mark.parametrize(("smoothing", "expected"), [(0.1, 0.4907531), (0.0, 0.3407530)])
def test_b38_smoothing_is_the_same_for_integers_one_hot_and_sequences(smoothing, expected):
    loss = CrossEntropy(label_smoothing=smoothing)
    for labels, logits in (
        (np.array([0]), LOGITS),
        (np.array([[0]]), LOGITS),
        (ONE_HOT, LOGITS),
        (np.array([[0, 0, 0]]), SEQUENCE),
        (np.repeat(ONE_HOT[:, None], 3, axis=1), SEQUENCE),
    ):
        np.testing.assert_allclose(float(loss(labels, logits)), expected, atol=1e-6)
        each = np.asarray(per_example(loss)(labels, logits))
        assert each.shape == logits.shape[:-1]
        np.testing.assert_allclose(each, expected, atol=1e-6)


def test_b38_ignored_labels_contribute_nothing():
    loss = CrossEntropy(label_smoothing=0.1, ignored_label=-1, reduction="none")
    each = np.asarray(loss(np.array([[0, -1, 0]]), SEQUENCE))
    np.testing.assert_allclose(each, [[0.4907531, 0.0, 0.4907531]], atol=1e-6)
    wild = SEQUENCE.copy()
    wild[0, 1] = 1e30
    np.testing.assert_allclose(np.asarray(loss(np.array([[0, -1, 0]]), wild)), each, atol=1e-6)


def test_b38_class_weight_keys_are_checked():
    with pytest.raises(ValueError, match="keys that are no class: 'x'; the 2 classes are cat, dog"):
        class_weight_list({"x": 0.5}, ["cat", "dog"])
    with pytest.raises(ValueError, match="keys that are no class: 5"):
        class_weight_list({5: 2.0}, ["cat", "dog"])
    with pytest.raises(ValueError, match="'x', 'y'"):
        class_weight_list({"x": 0.5, "y": 1.0, "cat": 1.0}, ["cat", "dog"])
    assert class_weight_list({"dog": 2.0}, ["cat", "dog"]) == [1.0, 2.0]
    assert class_weight_list({"0": 3.0, 1: 2.0}, ["cat", "dog"]) == [3.0, 2.0]
    assert class_weight_list({"1": 3.0}, ["1", "0"]) == [3.0, 1.0]
    for weights, match in (({"cat": 1.0, "0": 2.0}, "two weights"), ({"cat": -1.0}, "at least 0"), ({"cat": float("nan")}, "finite")):
        with pytest.raises(CanonError, match=match):
            class_weight_list(weights, ["cat", "dog"])


def test_class_weights_multiply_any_loss():
    logits = np.random.default_rng(0).normal(size=(6, 3)).astype("float32")
    labels = np.array([0, 1, 2, 2, 1, 0])
    weights = np.array([1.0, 0.5, 4.0])
    for loss in (CrossEntropy(0.1), RBFMaximumAPosteriori(2.0)):
        plain = np.asarray(per_example(loss)(labels, logits))
        weighted = ClassWeighted(loss, weights)
        np.testing.assert_allclose(float(weighted(labels, logits)), (plain * weights[labels]).mean(), rtol=1e-5)
        np.testing.assert_allclose(np.asarray(per_example(weighted)(labels, logits)), plain * weights[labels], rtol=1e-5)
        again = keras.losses.deserialize(keras.losses.serialize(weighted))
        np.testing.assert_allclose(float(again(labels, logits)), float(weighted(labels, logits)), rtol=1e-6)
    shares = np.eye(3, dtype="float32")[labels]
    weighted = ClassWeighted(CrossEntropy(), weights)
    np.testing.assert_allclose(float(weighted(shares, logits)), float(weighted(labels, logits)), rtol=1e-6)
    sample_weight = weights[labels]
    stock = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    np.testing.assert_allclose(float(weighted(labels, logits)), float(stock(labels, logits, sample_weight)), rtol=1e-5)
    with pytest.raises(ValueError, match="at least 0"):
        ClassWeighted(CrossEntropy(), [-1.0])


def test_it_is_keras_without_smoothing_and_serialises():
    logits, labels = np.random.default_rng(1).normal(size=(5, 4)).astype("float32"), np.array([0, 1, 2, 3, 0])
    stock = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    np.testing.assert_allclose(float(build_loss("cross_entropy")(labels, logits)), float(stock(labels, logits)), rtol=1e-6)
    loss = build_loss("cross_entropy", {"label_smoothing": 0.2, "ignored_label": -1})
    assert keras.losses.deserialize(keras.losses.serialize(loss)).get_config() == loss.get_config()


def test_class_numbers_survive_half_precision_logits():
    logits = np.zeros((1, 3000), "float16")
    logits[0, 2999] = 20.0
    np.testing.assert_allclose(float(CrossEntropy()(np.array([2999]), logits)), 0.0, atol=1e-4)


def test_mixed_labels_are_a_mean_of_losses():
    logits = np.random.default_rng(2).normal(size=(1, 4)).astype("float32")
    loss = CrossEntropy(0.1)
    mixed = float(loss(np.array([[0.3, 0.0, 0.7, 0.0]], "float32"), logits))
    np.testing.assert_allclose(mixed, 0.3 * float(loss(np.array([0]), logits)) + 0.7 * float(loss(np.array([2]), logits)), rtol=1e-5)


def test_accuracy_of_integers_shares_and_sequences():
    logits = np.array([[0.1, 0.9], [0.8, 0.2], [0.3, 0.7]])
    np.testing.assert_array_equal(accuracy(np.array([1, 1, 1]), logits), [1.0, 0.0, 1.0])
    np.testing.assert_array_equal(accuracy(np.array([[1], [1], [1]]), logits), [1.0, 0.0, 1.0])
    np.testing.assert_array_equal(accuracy(np.array([[0.4, 0.6], [0.6, 0.4], [0.9, 0.1]]), logits), [1.0, 1.0, 0.0])
    np.testing.assert_array_equal(accuracy(np.array([[1, 1, 1]]), logits[None]), [[1.0, 0.0, 1.0]])


@pytest.mark.parametrize("smoothing", [-0.1, 1.0])
def test_bad_smoothing(smoothing):
    with pytest.raises(ValueError, match="from 0 to below 1"):
        CrossEntropy(label_smoothing=smoothing)
