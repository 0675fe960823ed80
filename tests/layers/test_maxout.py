"""Maxout layers against NumPy."""

import numpy as np
import pytest
from checks.convolution import convolve, randomize

from keras_canon.layers import MaxoutConv2D, MaxoutDense

VECTORS = np.random.RandomState(0).standard_normal((3, 5, 6)).astype("float32")
IMAGES = np.random.RandomState(1).standard_normal((2, 6, 5, 4)).astype("float32")


def test_equation_1_dense():
    layer = MaxoutDense(4, num_pieces=3)
    layer.build(VECTORS.shape)
    randomize(layer)
    kernel, bias = layer.get_weights()
    pieces = np.einsum("btd,dmk->btmk", VECTORS, kernel.reshape(6, 4, 3)) + bias.reshape(4, 3)
    np.testing.assert_allclose(layer(VECTORS), pieces.max(-1), atol=1e-5)


@pytest.mark.parametrize("padding", ["same", "valid", "symmetric"])
def test_equation_1_convolution(padding):
    layer = MaxoutConv2D(3, 3, num_pieces=2, strides=2, padding=padding)
    layer.build(IMAGES.shape)
    randomize(layer)
    kernel, bias = layer.get_weights()
    pieces = convolve(IMAGES, kernel, (2, 2), padding) + bias
    np.testing.assert_allclose(layer(IMAGES), np.maximum(pieces[..., ::2], pieces[..., 1::2]), atol=1e-5)


def test_two_pieces_can_be_the_absolute_value():
    layer = MaxoutDense(1, num_pieces=2)
    layer.build((None, 1))
    layer.set_weights([np.array([[1.0, -1.0]]), np.zeros(2)])
    np.testing.assert_allclose(layer(np.array([[-3.0], [2.0]])), [[3.0], [2.0]])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MaxoutDense(0), "units must be an integer of at least 1, got 0"),
        (lambda: MaxoutDense(4, num_pieces=0), "num_pieces must be an integer of at least 1, got 0"),
        (lambda: MaxoutDense(4).build((2, None)), r"with d known, got \(2, None\)"),
        (lambda: MaxoutConv2D(0, 3), "filters must be an integer of at least 1, got 0"),
        (lambda: MaxoutConv2D(4, 3, num_pieces=-2), "num_pieces must be an integer of at least 1, got -2"),
        (lambda: MaxoutConv2D(4, 3).build((2, 6, 4)), "MaxoutConv2D expects input of shape"),
    ],
)
def test_bad_arguments(make, message):
    with pytest.raises(ValueError, match=message):
        make()
