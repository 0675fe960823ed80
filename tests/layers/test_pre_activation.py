"""Pre-activation residual blocks against NumPy."""

import numpy as np
import pytest
from checks.convolution import convolve, normalize, randomize, relu, unit

from keras_canon.layers import PreActivationBottleneckBlock, PreActivationResidualBlock

IMAGES = np.random.RandomState(0).standard_normal((2, 8, 7, 8)).astype("float32")


def bare(item, x):
    window = item.window
    bias = np.asarray(item.convolution.bias) if item.convolution.use_bias else 0
    kernel = np.asarray(item.convolution.kernel, "float64")
    return bias + convolve(x, kernel, window.strides, window.padding, window.dilation_rate, item.groups)


def expected_of(layer, x):
    *first, last = [layer.unit_1, layer.unit_2] + ([layer.unit_3] if hasattr(layer, "unit_3") else [])
    active = x if layer.normalization is None else relu(normalize(x, layer.normalization))
    branch = active
    for item in first:
        branch = relu(unit(item, branch))
    branch = bare(last, branch)
    if layer.shortcut == "projection":
        return branch + bare(layer.projection, active)
    kept = x[:, :: layer.strides[0], :: layer.strides[1]]
    return branch + np.concatenate([kept, np.zeros((*kept.shape[:-1], branch.shape[-1] - x.shape[-1]))], axis=-1)


@pytest.mark.parametrize(
    ("cls", "arguments"),
    [
        (PreActivationResidualBlock, {"filters": 8}),
        (PreActivationResidualBlock, {"filters": 8, "dilation_rate": 2, "shortcut": "projection"}),
        (PreActivationResidualBlock, {"filters": 12, "strides": 2, "shortcut": "projection", "padding": "symmetric"}),
        (PreActivationResidualBlock, {"filters": 12, "strides": (2, 1), "shortcut": "zero_padding"}),
        (PreActivationBottleneckBlock, {"filters": 2}),
        (PreActivationBottleneckBlock, {"filters": 4, "strides": 2, "shortcut": "projection", "groups": 2}),
        (PreActivationBottleneckBlock, {"filters": 3, "strides": 2, "shortcut": "zero_padding", "stride_on": "3x3"}),
        (PreActivationBottleneckBlock, {"filters": 2, "strides": 2, "shortcut": "zero_padding", "stride_on": "3x3", "use_bias": True}),
        (PreActivationBottleneckBlock, {"filters": 3, "shortcut": "projection", "activate_input": False, "use_bias": True}),
    ],
)
def test_equation_1(cls, arguments):
    layer = cls(**arguments)
    layer.build(IMAGES.shape)
    randomize(layer)
    expected = expected_of(layer, IMAGES)
    np.testing.assert_allclose(layer(IMAGES), expected, atol=1e-4)
    assert layer.compute_output_shape(IMAGES.shape) == expected.shape


def test_equation_4_the_stack_is_a_sum():
    blocks = [PreActivationResidualBlock(8), PreActivationBottleneckBlock(2), PreActivationResidualBlock(8)]
    outputs, total = IMAGES, IMAGES
    for block in blocks:
        block.build(IMAGES.shape)
        total = total + (expected_of(block, outputs) - outputs)
        outputs = np.asarray(block(outputs))
    np.testing.assert_allclose(outputs, total, atol=1e-4)
    for block in blocks:
        for weight in block.weights:
            if "kernel" in weight.path:
                weight.assign(0 * weight)
        np.testing.assert_array_equal(block(IMAGES), IMAGES)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PreActivationResidualBlock(8, 2), r'strides must be 1 with shortcut="identity", got \(2, 2\)'),
        (lambda: PreActivationResidualBlock(8, dropout=-1), "dropout must be between 0.0 and 1.0, got -1"),
        (lambda: PreActivationBottleneckBlock(8, groups=3), "filters must be a multiple of groups, got filters=8 and groups=3"),
        (lambda: PreActivationBottleneckBlock(8, expansion=0), "expansion must be an integer of at least 1, got 0"),
        (lambda: PreActivationBottleneckBlock(8, stride_on=3), "stride_on must be one of '1x1', '3x3', got 3"),
        (lambda: PreActivationBottleneckBlock(8)(IMAGES), 'shortcut="identity" needs 32 input channels, got 8'),
    ],
)
def test_bad_arguments(make, message):
    with pytest.raises(ValueError, match=message):
        make()
