"""`DepthwiseSeparableConv2D` against NumPy and Keras, and stride with dilation in every convolution block (case B08)."""

import keras
import numpy as np
import pytest
from checks.convolution import convolve, depthwise, normalize, randomize, relu

from keras_canon import layers
from keras_canon.layers import DepthwiseSeparableConv2D

IMAGES = np.random.RandomState(0).standard_normal((2, 9, 8, 4)).astype("float32")


@pytest.mark.parametrize("arguments", [{}, {"strides": 2}, {"dilation_rate": 2}, {"strides": 2, "depth_multiplier": 2}])
@pytest.mark.parametrize("padding", ["same", "valid"])
def test_equals_keras_with_the_same_weights(arguments, padding):
    theirs = keras.layers.SeparableConv2D(6, 3, padding=padding, **arguments, bias_initializer="random_normal", data_format="channels_last")
    expected = theirs(IMAGES)
    ours = DepthwiseSeparableConv2D(6, 3, order="xception", normalization=None, activation=None, padding=padding, **arguments)
    ours.build(IMAGES.shape)
    ours.set_weights(theirs.get_weights())
    np.testing.assert_allclose(ours(IMAGES), expected, atol=1e-5)


def test_order_of_mobilenet():
    layer = DepthwiseSeparableConv2D(6, strides=2, padding="symmetric")
    layer.build(IMAGES.shape)
    randomize(layer)
    first = depthwise(IMAGES, np.asarray(layer.depthwise.convolution.kernel), (2, 2), "symmetric")
    middle = relu(normalize(first, layer.depthwise.batch_normalization))
    expected = relu(normalize(convolve(middle, np.asarray(layer.pointwise.convolution.kernel)), layer.pointwise.batch_normalization))
    np.testing.assert_allclose(layer(IMAGES), expected, atol=1e-5)


def test_order_of_xception():
    layer = DepthwiseSeparableConv2D(6, order="xception")
    layer.build(IMAGES.shape)
    randomize(layer)
    middle = depthwise(relu(IMAGES), np.asarray(layer.depthwise.convolution.kernel))
    expected = normalize(convolve(middle, np.asarray(layer.pointwise.convolution.kernel)), layer.pointwise.batch_normalization)
    assert expected.min() < 0
    np.testing.assert_allclose(layer(IMAGES), expected, atol=1e-5)


BLOCKS = {
    "GroupedConv2D": lambda **more: layers.GroupedConv2D(4, 3, **{"padding": "same", **more}),
    "ConvNormActivation": lambda **more: layers.ConvNormActivation(4, 3, normalization=None, activation=None, **more),
    "DepthwiseConvNormActivation": lambda **more: layers.DepthwiseConvNormActivation(3, normalization=None, activation=None, **more),
    "DepthwiseSeparableConv2D": lambda **more: DepthwiseSeparableConv2D(4, normalization=None, activation=None, **more),
    "GatedConv2D": lambda **more: layers.GatedConv2D(4, 3, **more),
    "MaxoutConv2D": lambda **more: layers.MaxoutConv2D(4, 3, **more),
    "MlpConv2D": lambda **more: layers.MlpConv2D([4, 4], 3, **more),
    "ResidualBlock": lambda **more: layers.ResidualBlock(4, shortcut="projection", **more),
    "BottleneckResidualBlock": lambda **more: layers.BottleneckResidualBlock(4, shortcut="projection", **more),
    "PreActivationResidualBlock": lambda **more: layers.PreActivationResidualBlock(4, shortcut="projection", **more),
    "PreActivationBottleneckBlock": lambda **more: layers.PreActivationBottleneckBlock(4, shortcut="projection", **more),
}


@pytest.mark.parametrize("name", BLOCKS)
def test_b08_stride_with_dilation_is_refused_by_every_block(name):
    for strides, dilation in [(2, 2), ((1, 2), 2), (2, (1, 2))]:
        with pytest.raises(ValueError, match=r"strides.*dilation_rate.*strides=.*2.*dilation_rate=.*2"):
            BLOCKS[name](strides=strides, dilation_rate=dilation)


@pytest.mark.parametrize("name", BLOCKS)
def test_b08_unequal_strides_give_the_announced_shape(name):
    for strides in [(1, 2), (2, 1)]:
        for size in [(14, 14), (9, 8)]:
            layer = BLOCKS[name](strides=strides)
            found = layer(np.ones((1, *size, 4), "float32")).shape
            expected = tuple(-(-a // b) for a, b in zip(size, strides, strict=True))
            assert tuple(found[1:3]) == tuple(layer.compute_output_shape((1, *size, 4))[1:3]) == expected


@pytest.mark.parametrize("arguments", [{"strides": (1, 2)}, {"strides": 2}, {"dilation_rate": 2}, {"dilation_rate": (1, 2)}])
def test_b08_values_are_those_of_the_loop(arguments):
    images = np.random.RandomState(2).standard_normal((1, 14, 14, 3)).astype("float32")
    layer = DepthwiseSeparableConv2D(5, normalization=None, activation=None, **arguments)
    found = layer(images)
    window = layer.window
    middle = depthwise(images, np.asarray(layer.depthwise.convolution.kernel), window.strides, "same", window.dilation_rate)
    np.testing.assert_allclose(found, convolve(middle, np.asarray(layer.pointwise.convolution.kernel)), atol=1e-5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"filters": 0}, "filters must be an integer of at least 1, got 0"),
        ({"filters": 4, "order": "keras"}, "order must be one of 'mobilenet', 'xception', got 'keras'"),
        ({"filters": 4, "depth_multiplier": 0.5}, "depth_multiplier must be an integer of at least 1, got 0.5"),
        ({"filters": 4, "normalization": "group"}, "normalization must be one of 'batch', None, got 'group'"),
        ({"filters": 4, "use_bias": 2}, "use_bias must be one of None, True, False, got 2"),
        ({"filters": 4, "padding": "full"}, "padding must be one of 'same', 'valid', 'symmetric', got 'full'"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        DepthwiseSeparableConv2D(**arguments)


def test_bad_input():
    with pytest.raises(ValueError, match=r"DepthwiseSeparableConv2D expects input of shape .* got \(2, 8, 4\)"):
        DepthwiseSeparableConv2D(4).build((2, 8, 4))
