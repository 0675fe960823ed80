"""FirstStep against the definition."""

import keras
import numpy as np
import pytest

from keras_canon import layers


def test_takes_the_class_token_back_out():
    steps = np.random.RandomState(0).standard_normal((2, 5, 3)).astype("float32")
    token = layers.ClassToken(initializer="ones")
    np.testing.assert_array_equal(layers.FirstStep()(token(steps)), np.ones((2, 3)))
    np.testing.assert_array_equal(layers.FirstStep()(steps), steps[:, 0])


def test_drops_a_mask_and_keeps_unknown_lengths():
    embedded = keras.layers.Embedding(5, 3, mask_zero=True)(np.array([[1, 2, 0]]))
    assert getattr(layers.FirstStep()(embedded), "_keras_mask", None) is None
    assert layers.FirstStep()(keras.Input((None, 3))).shape == (None, 3)


def test_refuses_maps():
    with pytest.raises(ValueError, match=r"FirstStep expects input of shape \(batch, steps, width\)"):
        layers.FirstStep()(np.zeros((1, 2, 2, 3), "float32"))
