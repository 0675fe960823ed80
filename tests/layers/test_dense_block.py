"""Densely connected layers against NumPy."""

import numpy as np
import pytest
from checks.convolution import convolve, normalize, randomize, relu

from keras_canon.layers import DenseBlock, DenseBlockLayer, TransitionBlock

IMAGES = np.random.RandomState(0).standard_normal((2, 7, 6, 4)).astype("float32")


def composite(layer, x):
    return convolve(relu(normalize(x, layer.normalization)), np.asarray(layer.unit.convolution.kernel, "float64"))


def grown(layer, x):
    new = x if layer.bottleneck is None else composite(layer.bottleneck, x)
    return np.concatenate([x, composite(layer.convolution, new)], axis=-1)


@pytest.mark.parametrize("bottleneck_ratio", [None, 4, 2])
def test_equation_2(bottleneck_ratio):
    block = DenseBlock(3, 5, bottleneck_ratio)
    block.build(IMAGES.shape)
    randomize(block)
    expected = IMAGES
    for layer in block.layers:
        expected = grown(layer, expected)
    found = np.asarray(block(IMAGES))
    np.testing.assert_allclose(found, expected, atol=1e-3 * np.abs(expected).max() / 10)
    np.testing.assert_array_equal(found[..., :4], IMAGES)
    assert block.compute_output_shape(IMAGES.shape) == found.shape == (2, 7, 6, 19)


def test_one_layer_with_the_bottleneck_of_the_paper():
    layer = DenseBlockLayer(12)
    assert layer.bottleneck.filters == 48
    assert layer(IMAGES).shape == (2, 7, 6, 16)


def test_transition():
    layer = TransitionBlock(2)
    layer.build(IMAGES.shape)
    randomize(layer)
    inner = composite(layer.convolution, IMAGES)[:, :6]
    expected = inner.reshape(2, 3, 2, 3, 2, 2).mean((2, 4))
    np.testing.assert_allclose(layer(IMAGES), expected, atol=1e-5)
    assert layer.compute_output_shape((None, None, 6, 4)) == (None, None, 3, 2)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: DenseBlockLayer(0), "growth_rate must be an integer of at least 1, got 0"),
        (lambda: DenseBlockLayer(4, 0), "bottleneck_ratio must be an integer of at least 1, got 0"),
        (lambda: DenseBlockLayer(4, dropout=1.5), "dropout must be between 0.0 and 1.0, got 1.5"),
        (lambda: DenseBlock(0, 4), "num_layers must be an integer of at least 1, got 0"),
        (lambda: DenseBlock(2, 4).build((2, 4)), "DenseBlock expects input of shape"),
        (lambda: DenseBlockLayer(4).build((2, 4)), "DenseBlockLayer expects input of shape"),
        (lambda: TransitionBlock(0), "filters must be an integer of at least 1, got 0"),
        (lambda: TransitionBlock(4, pool_size=0), "pool_size must be an integer of at least 1, got 0"),
        (lambda: TransitionBlock(4).build((2, 1, 6, 4)), r"at least pool_size=2, got height and width \(1, 6\)"),
    ],
)
def test_bad_arguments(make, message):
    with pytest.raises(ValueError, match=message):
        make()
