"""The loss of LeCun et al. 1998, equation 9, against the sum written out."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_canon.training.losses import RBFMaximumAPosteriori, build_loss
from keras_canon.zoo.errors import CanonError


def by_hand(labels, penalties, j):
    penalties = np.asarray(penalties, "float64")
    right = penalties[np.arange(len(labels)), labels]
    return right + np.log(np.exp(-j) + np.exp(-penalties).sum(axis=1))


def test_it_is_equation_9():
    random = np.random.default_rng(0)
    penalties, labels = random.uniform(0.0, 30.0, (16, 10)), random.integers(0, 10, 16)
    for j in (0.5, 10.0, 100.0):
        loss = RBFMaximumAPosteriori(rubbish_penalty=j)
        np.testing.assert_allclose(float(loss(labels, -penalties)), by_hand(labels, penalties, j).mean(), rtol=1e-5)
        each = RBFMaximumAPosteriori(rubbish_penalty=j, reduction="none")(labels[:, None], -penalties)
        np.testing.assert_allclose(np.asarray(each), by_hand(labels, penalties, j), rtol=1e-4, atol=1e-5)


def test_it_is_two_numbers_on_paper():
    # penalties 2 and 3, j = 1: 2 + log(e^-1 + e^-2 + e^-3) = 2 + log(0.5530018) = 1.4076060
    np.testing.assert_allclose(float(RBFMaximumAPosteriori(1.0)([0], [[-2.0, -3.0]])), 1.4076060, atol=1e-6)


def test_without_rubbish_it_is_cross_entropy():
    logits = np.random.default_rng(1).normal(size=(5, 4)).astype("float32")
    labels = np.array([0, 1, 2, 3, 0])
    found = float(RBFMaximumAPosteriori(1e6)(labels, logits))
    np.testing.assert_allclose(found, float(build_loss("cross_entropy")(labels, logits)), rtol=1e-5)


def test_huge_penalties_neither_overflow_nor_stop_the_gradient():
    penalties = tf.constant([[1e5, 2e5], [0.0, 1e8]])
    with tf.GradientTape() as tape:
        tape.watch(penalties)
        value = RBFMaximumAPosteriori(10.0)([0, 1], -penalties)
    np.testing.assert_allclose(float(value), (1e5 - 10.0 + 1e8) / 2, rtol=1e-5)
    assert np.all(np.isfinite(tape.gradient(value, penalties)))


def test_it_serialises():
    loss = keras.losses.deserialize(keras.losses.serialize(RBFMaximumAPosteriori(3.0)))
    assert loss.rubbish_penalty == 3.0
    assert keras.saving.get_registered_name(RBFMaximumAPosteriori) == "keras_canon>RBFMaximumAPosteriori"


@pytest.mark.parametrize(
    ("name", "options", "match"),
    [
        ("cross_entropy", {"j": 1.0}, "no option 'j': allowed: label_smoothing, ignored_label"),
        ("cross_entropy", {"label_smoothing": 2.0}, "cannot be built"),
        ("rbf_maximum_a_posteriori", {"j": 1.0}, "rubbish_penalty"),
        ("rbf_maximum_a_posteriori", {"rubbish_penalty": -1.0}, "above 0"),
        ("rbf_maximum_a_posteriori", {"rubbish_penalty": "x"}, "cannot be built"),
    ],
)
def test_bad_options(name, options, match):
    with pytest.raises(CanonError, match=match):
        build_loss(name, options)
