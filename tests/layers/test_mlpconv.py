"""`MlpConv2D` against NumPy."""

import numpy as np
import pytest
from checks.convolution import convolve, randomize, relu

from keras_canon.layers import MlpConv2D

IMAGES = np.random.RandomState(1).standard_normal((2, 9, 8, 4)).astype("float32")


@pytest.mark.parametrize("arguments", [{}, {"strides": (2, 1), "padding": "symmetric"}, {"padding": "valid", "dilation_rate": 2}])
def test_equation_2(arguments):
    layer = MlpConv2D([6, 5, 3], 3, **arguments)
    layer.build(IMAGES.shape)
    randomize(layer)
    kernels = layer.get_weights()
    window = layer.window
    expected = relu(convolve(IMAGES, kernels[0], window.strides, window.padding, window.dilation_rate) + kernels[1])
    for kernel, bias in [(kernels[2], kernels[3]), (kernels[4], kernels[5])]:
        expected = relu(expected @ kernel[0, 0] + bias)
    np.testing.assert_allclose(layer(IMAGES), expected, atol=1e-4)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MlpConv2D([], 3), r"filters must list the output channels of at least one step, got \[\]"),
        (lambda: MlpConv2D(8, 3), "filters must list the output channels of at least one step, got 8"),
        (lambda: MlpConv2D([8, 0], 3), "filters must be an integer of at least 1, got 0"),
        (lambda: MlpConv2D([8], 3).build((2, 8, 4)), "MlpConv2D expects input of shape"),
    ],
)
def test_bad_arguments(make, message):
    with pytest.raises(ValueError, match=message):
        make()
