import keras
import numpy as np
import pytest

from keras_canon.layers import ClassToken


def test_token_stands_first():
    inputs = np.random.RandomState(0).standard_normal((3, 4, 5)).astype("float32")
    layer = ClassToken("random_normal")
    found = layer(inputs).numpy()
    np.testing.assert_array_equal(found[:, 1:], inputs)
    np.testing.assert_array_equal(found[:, 0], np.repeat(layer.get_weights()[0][0], 3, 0))
    assert np.ptp(found[0, 0]) > 0
    assert layer(inputs[:0]).shape == (0, 5, 5)


def test_b05_mask_gets_true_for_the_token():
    embedded = keras.layers.Embedding(5, 4, mask_zero=True)(np.asarray([[1, 0], [0, 0]]))
    assert ClassToken()(embedded)._keras_mask.numpy().tolist() == [[True, True, False], [True, False, False]]


def test_bad_input():
    with pytest.raises(ValueError, match=r"ClassToken expects input of shape \(batch, steps, width\) \(3 axes\), got \(2, 3\)"):
        ClassToken()(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="ClassToken needs a known last axis"):
        ClassToken().build((None, 3, None))
