"""`Window`: sizes, margins and refused arguments, against NumPy and against the convolution itself."""

import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf
from checks.convolution import convolve, depthwise, margins, randomize

from keras_canon.layers import ConvNormActivation, DepthwiseConvNormActivation
from keras_canon.layers.window import Window

GRID = [
    (size, kernel, strides, padding, dilation)
    for size, kernel, strides, padding, dilation in itertools.product(
        [(7, 8), (10, 5)],
        [(1, 1), (3, 3), (4, 5)],
        [(1, 1), (2, 2), (1, 2), (3, 1)],
        ["same", "valid", "symmetric"],
        [(1, 1), (2, 1)],
    )
    if (max(strides) == 1 or max(dilation) == 1) and (padding == "same" or size[0] > (kernel[0] - 1) * dilation[0])
]


def plain(cls, *arguments, **more):
    return cls(*arguments, normalization=None, activation=None, use_bias=False, **more)


def numbers(*shape):
    return np.random.RandomState(1).standard_normal(shape).astype("float32")


def test_every_window_gives_the_explicit_loop():
    for size, kernel, strides, padding, dilation in GRID:
        images = numbers(2, *size, 2)
        case = f"{size} {kernel} {strides} {padding} {dilation}"
        dense = plain(ConvNormActivation, 3, kernel, strides=strides, padding=padding, dilation_rate=dilation)
        found = np.asarray(dense(images))
        expected = convolve(images, np.asarray(dense.convolution.kernel), strides, padding, dilation)
        np.testing.assert_allclose(found, expected, atol=1e-5, err_msg=case)
        assert dense.compute_output_shape(images.shape) == found.shape, case
        each = plain(DepthwiseConvNormActivation, kernel, strides=strides, padding=padding, dilation_rate=dilation, depth_multiplier=2)
        found = np.asarray(each(images))
        expected = depthwise(images, np.asarray(each.convolution.kernel), strides, padding, dilation)
        np.testing.assert_allclose(found, expected, atol=1e-5, err_msg=case)
        assert each.compute_output_shape(images.shape) == found.shape, case


def test_margins_are_those_of_numpy():
    for size, kernel, strides, padding, dilation in GRID:
        window = Window.of(kernel, strides, padding, dilation)
        found = [tuple(int(side) for side in axis) for axis in window.margins(size)]
        assert found == margins(padding, size, kernel, strides, dilation)


@pytest.mark.parametrize("padding", ["same", "valid", "symmetric"])
@pytest.mark.parametrize("strides", [1, 2, (1, 2)])
def test_unknown_sizes_are_found_at_run_time(padding, strides):
    inputs = keras.Input((None, None, 2))
    layer = DepthwiseConvNormActivation(3, strides=strides, padding=padding)
    outputs = ConvNormActivation(4, 3, strides=strides, padding=padding)(layer(inputs))
    assert outputs.shape == (None, None, None, 4)
    model = keras.Model(inputs, outputs)
    randomize(model)
    for size in [(11, 14), (16, 13)]:
        images = numbers(2, *size, 2)
        fixed_inputs = keras.Input((*size, 2))
        fixed = keras.Model(fixed_inputs, model.layers[2](model.layers[1](fixed_inputs)))
        np.testing.assert_allclose(tf.function(model)(images), fixed(images), atol=1e-5)


def test_symmetric_padding_differs_from_same_only_at_a_stride():
    images = numbers(1, 8, 8, 2)
    for strides, equal in [(1, True), (2, False)]:
        first = plain(ConvNormActivation, 3, 3, strides=strides, padding="symmetric")
        second = plain(ConvNormActivation, 3, 3, strides=strides, padding="same")
        first.build(images.shape)
        second.build(images.shape)
        second.set_weights(first.get_weights())
        assert np.allclose(first(images), second(images), atol=1e-5) == equal


def test_a_user_setting_of_channels_first_changes_nothing():
    images = numbers(1, 8, 6, 2)
    layer = ConvNormActivation(3, 3)
    expected = np.asarray(layer(images))
    keras.config.set_image_data_format("channels_first")
    try:
        again = ConvNormActivation(3, 3)
        again.build(images.shape)
        again.set_weights(layer.get_weights())
        np.testing.assert_array_equal(np.asarray(again(images)), expected)
    finally:
        keras.config.set_image_data_format("channels_last")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kernel_size": 0}, "kernel_size must be an integer of at least 1, got 0"),
        ({"kernel_size": (3, 3, 3)}, r"kernel_size must be an integer or 2 of them, got \(3, 3, 3\)"),
        ({"kernel_size": 2.5}, "kernel_size must be an integer of at least 1, got 2.5"),
        ({"kernel_size": 3, "strides": -1}, "strides must be an integer of at least 1, got -1"),
        ({"kernel_size": 3, "padding": "SAME"}, "padding must be one of 'same', 'valid', 'symmetric', got 'SAME'"),
        ({"kernel_size": 3, "dilation_rate": (1, 0)}, "dilation_rate must be an integer of at least 1, got 0"),
        (
            {"kernel_size": 3, "strides": (1, 2), "dilation_rate": (2, 1)},
            r"strides and dilation_rate must not both be above 1, got strides=\(1, 2\) and dilation_rate=\(2, 1\)",
        ),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        Window.of(**arguments)


def test_bad_inputs():
    window = Window.of(5, 1, "valid")
    with pytest.raises(ValueError, match=r"Block expects input of shape \(batch, height, width, channels\) \(4 axes\), got \(2, 8, 3\)"):
        window.check_input("Block", (2, 8, 3))
    with pytest.raises(ValueError, match="needs a known last axis"):
        window.check_input("Block", (2, 8, 8, None))
    with pytest.raises(ValueError, match=r"Block with padding='valid' needs maps of at least \(5, 5\) after padding, got .* \(4, 9\)"):
        window.check_input("Block", (2, 4, 9, 3))
