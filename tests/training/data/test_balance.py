import numpy as np
import pytest

from keras_canon.training.data import class_weights
from keras_canon.training.data.balance import balance_of
from keras_canon.zoo import CanonError


def test_b49_99_against_1():
    labels = np.array([0] * 99 + [1])
    with pytest.warns(UserWarning, match="strongly imbalanced: 99 examples of 'cat' against 1 of 'dog'"):
        weights = class_weights(labels, ["cat", "dog"])
    assert weights == {0: pytest.approx(0.50505, abs=1e-5), 1: 50.0}


def test_balanced_classes_weigh_one_without_a_warning():
    assert class_weights(np.arange(12) % 3, ["a", "b", "c"]) == {0: 1.0, 1: 1.0, 2: 1.0}


def test_mean_weight_over_the_examples_is_one():
    labels = np.repeat([0, 1, 2], [5, 9, 30])
    weights = class_weights(labels, ["a", "b", "c"])
    assert np.mean([weights[label] for label in labels.tolist()]) == pytest.approx(1)


def test_class_without_examples_is_named():
    with pytest.raises(CanonError, match="without examples: b, c"):
        class_weights(np.zeros(4, np.int64), ["a", "b", "c"])


def test_label_outside_the_classes_is_refused():
    with pytest.raises(CanonError, match="run from 0 to 2, but the 2 classes are 0 to 1"):
        class_weights(np.array([0, 1, 2]), ["a", "b"])


def test_balance_of_names_rare_and_few_classes():
    with pytest.warns(UserWarning, match="fewer than 5|strongly imbalanced") as caught:
        weights = balance_of(np.array([0] * 40 + [1] * 4), ["cat", "dog"])
    assert weights == {"cat": pytest.approx(0.55), "dog": pytest.approx(5.5)}
    assert [str(item.message) for item in caught] == [
        "Classes with fewer than 5 training examples are hardly learnt: dog (4).",
        "The classes are strongly imbalanced: 40 training examples of 'cat' against 4 of 'dog'; class weights of 0.55 and 5.5 make them "
        'count alike (train.class_weights = "balanced").',
    ]


def test_a_balanced_set_gives_no_weights_and_no_warning():
    assert balance_of(np.arange(30) % 3, ["a", "b", "c"]) == {}
