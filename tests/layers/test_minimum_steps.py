"""MinimumSteps against the definition."""

import keras
import numpy as np
import pytest

from keras_canon import layers

STEPS = np.random.RandomState(0).standard_normal((2, 3, 4)).astype("float32")


@pytest.mark.parametrize("length", [0, 1, 3])
def test_adds_zeros_up_to_the_number_of_steps(length):
    known = layers.MinimumSteps(3)(STEPS[:, :length])
    sequences = keras.Input((None, 4))
    unknown = keras.Model(sequences, layers.MinimumSteps(3)(sequences))
    for found in (known, unknown(STEPS[:, :length]), unknown.predict(STEPS[:, :length], verbose=0)):
        np.testing.assert_array_equal(found[:, :length], STEPS[:, :length])
        np.testing.assert_array_equal(found[:, length:], np.zeros((2, 3 - length, 4)))


def test_leaves_long_sequences_alone():
    assert layers.MinimumSteps(2)(keras.Input((None, 4))).shape == (None, None, 4)
    assert layers.MinimumSteps(5)(keras.Input((3, 4))).shape == (None, 5, 4)
    np.testing.assert_array_equal(layers.MinimumSteps(2)(STEPS), STEPS)


def test_steps_that_are_added_are_masked():
    embedded = keras.layers.Embedding(5, 3, mask_zero=True)(np.array([[1, 0]]))
    mask = layers.MinimumSteps(4)(embedded)._keras_mask
    np.testing.assert_array_equal(mask, [[True, False, False, False]])


def test_refuses_bad_arguments_and_maps():
    with pytest.raises(ValueError, match="steps must be an integer of at least 1, got 0"):
        layers.MinimumSteps(0)
    with pytest.raises(ValueError, match=r"MinimumSteps expects input of shape \(batch, steps, width\)"):
        layers.MinimumSteps(2)(np.zeros((1, 2, 2, 3), "float32"))
