"""`NormActivationConv` against NumPy."""

import numpy as np
import pytest
from checks.convolution import convolve, normalize, randomize, relu

from keras_canon.layers import NormActivationConv

IMAGES = np.random.RandomState(0).standard_normal((2, 6, 5, 4)).astype("float32")


def test_equation_1():
    layer = NormActivationConv(6, (3, 1))
    layer.build(IMAGES.shape)
    randomize(layer)
    expected = convolve(relu(normalize(IMAGES, layer.normalization)), np.asarray(layer.unit.convolution.kernel))
    np.testing.assert_allclose(layer(IMAGES), expected, atol=1e-5)


def test_dropout_in_training_only():
    layer = NormActivationConv(6, 3, dropout=0.5)
    outputs = np.asarray(layer(IMAGES, training=True))
    assert 0.3 < np.mean(outputs == 0) < 0.7
    np.testing.assert_array_equal(layer(IMAGES), layer(IMAGES))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: NormActivationConv(0, 3), "filters must be an integer of at least 1, got 0"),
        (lambda: NormActivationConv(4, 3, dropout=2), "dropout must be between 0.0 and 1.0, got 2"),
        (lambda: NormActivationConv(4, 3, padding="valid"), "padding must be one of 'same', 'symmetric', got 'valid'"),
        (lambda: NormActivationConv(4, 3).build((2, 6, 4)), "NormActivationConv expects input of shape"),
    ],
)
def test_bad_arguments(make, message):
    with pytest.raises(ValueError, match=message):
        make()
