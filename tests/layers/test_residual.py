"""Residual blocks against NumPy: shortcuts, place of the stride, groups and width, dropping, one initialiser for all."""

import keras
import numpy as np
import pytest
from checks.convolution import randomize, relu, unit

from keras_canon.layers import BottleneckResidualBlock, PreActivationBottleneckBlock, PreActivationResidualBlock, ResidualBlock

IMAGES = np.random.RandomState(0).standard_normal((2, 8, 7, 8)).astype("float32")


def ready(layer, shape=IMAGES.shape):
    layer.build(shape)
    randomize(layer)
    return layer


def zero_padded(x, strides, channels):
    kept = x[:, :: strides[0], :: strides[1]]
    return np.concatenate([kept, np.zeros((*kept.shape[:-1], channels - x.shape[-1]))], axis=-1)


def expected_of(layer, x):
    units = [layer.unit_1, layer.unit_2] + ([layer.unit_3] if hasattr(layer, "unit_3") else [])
    branch = x
    for item in units[:-1]:
        branch = relu(unit(item, branch))
    branch = unit(units[-1], branch)
    kept = unit(layer.projection, x) if layer.shortcut == "projection" else zero_padded(x, layer.strides, branch.shape[-1])
    return relu(branch + kept)


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"dilation_rate": 2},
        {"filters": 12, "strides": 2, "shortcut": "projection"},
        {"filters": 12, "strides": 2, "shortcut": "projection", "padding": "symmetric", "epsilon": 0.1},
        {"filters": 12, "strides": 2, "shortcut": "zero_padding"},
        {"filters": 12, "strides": (1, 2), "shortcut": "zero_padding", "padding": "symmetric"},
        {"shortcut": "zero_padding"},
        {"shortcut": "projection"},
    ],
)
def test_basic_block(arguments):
    layer = ready(ResidualBlock(**{"filters": 8, **arguments}))
    expected = expected_of(layer, IMAGES)
    np.testing.assert_allclose(layer(IMAGES), expected, atol=2e-5)
    assert layer.compute_output_shape(IMAGES.shape) == expected.shape


@pytest.mark.parametrize(
    "arguments",
    [
        {"filters": 2},
        {"filters": 4, "strides": 2, "shortcut": "projection"},
        {"filters": 4, "strides": 2, "shortcut": "projection", "stride_on": "3x3", "padding": "symmetric"},
        {"filters": 4, "strides": 2, "shortcut": "zero_padding", "expansion": 3, "stride_on": "3x3"},
        {"filters": 4, "shortcut": "projection", "groups": 2, "base_width": 32, "dilation_rate": 2},
    ],
)
def test_bottleneck_block(arguments):
    layer = ready(BottleneckResidualBlock(**arguments))
    expected = expected_of(layer, IMAGES)
    np.testing.assert_allclose(layer(IMAGES), expected, atol=5e-5)
    assert layer.compute_output_shape(IMAGES.shape) == expected.shape


def test_option_a_has_no_parameters_of_its_own():
    plain = ready(ResidualBlock(16, strides=2, shortcut="zero_padding"), (None, 8, 8, 8))
    assert plain.count_params() == (9 * 8 * 16 + 4 * 16) + (9 * 16 * 16 + 4 * 16)


def test_widths_of_the_published_networks():
    for groups, base_width, width in [(1, 64, 128), (32, 4, 256), (32, 8, 512), (1, 128, 256)]:
        layer = BottleneckResidualBlock(128, groups=groups, base_width=base_width)
        assert (layer.unit_1.filters, layer.unit_2.filters, layer.unit_2.groups, layer.unit_3.filters) == (width, width, groups, 512)


def test_b16_place_of_the_stride():
    for stride_on, strides in [("1x1", [(2, 2), (1, 1)]), ("3x3", [(1, 1), (2, 2)])]:
        layer = BottleneckResidualBlock(8, strides=2, shortcut="projection", stride_on=stride_on)
        assert [layer.unit_1.convolution.strides, layer.unit_2.convolution.strides] == strides
        assert layer.projection.convolution.strides == (2, 2)


@pytest.mark.parametrize("cls", [ResidualBlock, BottleneckResidualBlock])
def test_zero_last_gamma_starts_as_the_shortcut(cls):
    layer = cls(8 if cls is ResidualBlock else 2, last_gamma_initializer="zeros")
    np.testing.assert_allclose(layer(IMAGES), relu(IMAGES), atol=1e-6)


@pytest.mark.parametrize("cls", [ResidualBlock, BottleneckResidualBlock, PreActivationResidualBlock, PreActivationBottleneckBlock])
def test_stochastic_depth_drops_the_branch_of_a_sample(cls):
    images = np.repeat(IMAGES[:1], 64, axis=0)
    filters = 8 if cls in (ResidualBlock, PreActivationResidualBlock) else 2
    layer = ready(cls(filters, stochastic_depth=0.5, momentum=0.0))
    outputs = np.asarray(layer(images, training=True))
    shortcut = images if "Pre" in cls.__name__ else relu(images)
    dropped = np.all(np.isclose(outputs, shortcut, atol=1e-6), axis=(1, 2, 3))
    assert 12 < dropped.sum() < 52
    assert np.allclose(outputs[~dropped], outputs[~dropped][0], atol=1e-4)
    np.testing.assert_array_equal(np.asarray(layer(images)), np.asarray(layer(images, training=False)))


@pytest.mark.parametrize("cls", [ResidualBlock, PreActivationResidualBlock])
def test_dropout_stands_between_the_convolutions_in_training_only(cls):
    layer = ready(cls(8, dropout=0.5))
    first, second = (np.asarray(layer(IMAGES, training=True)) for _ in range(2))
    assert np.abs(first - second).max() > 0.01
    np.testing.assert_array_equal(layer(IMAGES), layer(IMAGES))


def test_b11_one_initializer_for_a_residual_stack():
    stacks = []
    for _ in range(2):
        keras.utils.set_random_seed(3)
        initializer = keras.initializers.GlorotUniform()
        stack = [
            cls(8, expansion=1, shortcut="projection", kernel_initializer=initializer)
            if "Bottleneck" in cls.__name__
            else cls(8, shortcut="projection", kernel_initializer=initializer)
            for cls in (ResidualBlock, ResidualBlock, BottleneckResidualBlock, PreActivationResidualBlock, PreActivationBottleneckBlock)
        ]
        for block in stack:
            block.build(IMAGES.shape)
        stacks.append([np.asarray(weight) for block in stack for weight in block.weights if "kernel" in weight.path])
    assert len(stacks[0]) == 3 + 3 + 4 + 3 + 4
    for index, kernel in enumerate(stacks[0]):
        assert all(kernel.shape != other.shape or not np.array_equal(kernel, other) for other in stacks[0][index + 1 :])
    for one, two in zip(*stacks, strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ResidualBlock(0), "filters must be an integer of at least 1, got 0"),
        (lambda: ResidualBlock(8, strides=(1, 2, 3)), r"strides must be an integer or 2 of them, got \(1, 2, 3\)"),
        (lambda: ResidualBlock(8, shortcut="B"), "shortcut must be one of 'identity', 'projection', 'zero_padding', got 'B'"),
        (lambda: ResidualBlock(8, 2), r'strides must be 1 with shortcut="identity", got \(2, 2\)'),
        (lambda: ResidualBlock(8, padding="valid"), "padding must be one of 'same', 'symmetric', got 'valid'"),
        (lambda: ResidualBlock(8, dropout=1.0), "dropout must be at least 0 and below 1, got 1.0"),
        (lambda: ResidualBlock(8, stochastic_depth=-0.1), "stochastic_depth must be between 0.0 and 1.0, got -0.1"),
        (lambda: BottleneckResidualBlock(8, expansion=0), "expansion must be an integer of at least 1, got 0"),
        (lambda: BottleneckResidualBlock(8, groups=0), "groups must be an integer of at least 1, got 0"),
        (lambda: BottleneckResidualBlock(8, base_width=0), "base_width must be an integer of at least 1, got 0"),
        (lambda: BottleneckResidualBlock(8, base_width=4), "filters \\* base_width / 64 must be an integer of at least 1, got 0"),
        (lambda: BottleneckResidualBlock(8, stride_on="last"), "stride_on must be one of '1x1', '3x3', got 'last'"),
        (lambda: ResidualBlock(6)(IMAGES), 'ResidualBlock with shortcut="identity" needs 6 input channels, got 8'),
        (lambda: ResidualBlock(6, shortcut="zero_padding")(IMAGES), 'shortcut="zero_padding" needs at most 6 input channels, got 8'),
        (lambda: ResidualBlock(6).build((2, 8, 6)), r"ResidualBlock expects input of shape .* got \(2, 8, 6\)"),
    ],
)
def test_bad_arguments(make, message):
    with pytest.raises(ValueError, match=message):
        make()
