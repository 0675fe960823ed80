"""Highway layers against NumPy and at their two limits."""

import numpy as np
import pytest
from checks.convolution import convolve, randomize, relu

from keras_canon.layers import HighwayConv2D, HighwayDense

VECTORS = np.random.RandomState(0).standard_normal((3, 5, 6)).astype("float32")
IMAGES = np.random.RandomState(1).standard_normal((2, 6, 5, 4)).astype("float32")


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def test_equation_3_dense():
    layer = HighwayDense(6, activation="tanh")
    layer.build(VECTORS.shape)
    randomize(layer)
    plain, plain_bias, gate, gate_bias = layer.get_weights()
    transform = sigmoid(VECTORS @ gate + gate_bias)
    expected = np.tanh(VECTORS @ plain + plain_bias) * transform + VECTORS * (1 - transform)
    np.testing.assert_allclose(layer(VECTORS), expected, atol=1e-5)


def test_equation_3_convolution():
    layer = HighwayConv2D(4, (3, 2))
    layer.build(IMAGES.shape)
    randomize(layer)
    plain, plain_bias, gate, gate_bias = layer.get_weights()
    transform = sigmoid(convolve(IMAGES, gate) + gate_bias)
    expected = relu(convolve(IMAGES, plain) + plain_bias) * transform + IMAGES * (1 - transform)
    np.testing.assert_allclose(layer(IMAGES), expected, atol=1e-5)


def test_a_negative_bias_carries_the_input():
    np.testing.assert_allclose(HighwayDense(6, transform_bias=-30)(VECTORS), VECTORS, atol=1e-6)
    layer = HighwayConv2D(4, 3, transform_bias=30.0)
    np.testing.assert_allclose(layer(IMAGES), layer.plain(IMAGES), atol=1e-6)
    assert float(HighwayDense(2, transform_bias=-3).transform_gate.bias_initializer((1,))[0]) == -3.0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: HighwayDense(0), "units must be an integer of at least 1, got 0"),
        (lambda: HighwayDense(4, transform_bias="low"), "transform_bias must be a number, got 'low'"),
        (lambda: HighwayDense(4)(VECTORS), r"with units=4, got \(3, 5, 6\)"),
        (lambda: HighwayConv2D(0, 3), "filters must be an integer of at least 1, got 0"),
        (lambda: HighwayConv2D(4, 0), "kernel_size must be an integer of at least 1, got 0"),
        (lambda: HighwayConv2D(5, 3)(IMAGES), "as many input channels as filters=5, got 4"),
        (lambda: HighwayConv2D(4, 3).build((2, 6, 4)), "HighwayConv2D expects input of shape"),
    ],
)
def test_bad_arguments(make, message):
    with pytest.raises(ValueError, match=message):
        make()
