import keras
import numpy as np
import pytest
from checks.convolution import depthwise, normalize, randomize, unit

from keras_canon.layers import InvertedResidual

MAP = np.random.RandomState(0).standard_normal((2, 8, 6, 8)).astype("float32")


def relu6(x):
    return np.clip(x, 0, 6)


def hard_swish(x):
    return x * relu6(x + 3) / 6


def branch(block, x, activation):
    """F of equation 1 at inference."""
    if block.expand is not None:
        x = activation(unit(block.expand, x))
    kernel = np.asarray(block.depthwise.convolution.kernel, "float64")
    x = activation(normalize(depthwise(x, kernel, block.strides, block.padding), block.depthwise.batch_normalization))
    if block.squeeze_excite is not None:
        w1, b1, w2, b2 = (np.asarray(weight, "float64") for weight in block.squeeze_excite.get_weights())
        hidden = np.maximum(x.mean((1, 2)) @ w1[0, 0] + b1, 0)
        x = x * (relu6(hidden @ w2[0, 0] + b2 + 3) / 6)[:, None, None]
    return unit(block.project, x)


@pytest.mark.parametrize("padding", ["same", "symmetric"])
@pytest.mark.parametrize(
    ("arguments", "activation", "shortcut"),
    [
        ({"filters": 8, "expanded_filters": 16}, relu6, True),
        ({"filters": 6, "strides": 2}, relu6, False),
        ({"filters": 8, "expanded_filters": 12, "kernel_size": 5, "strides": 2}, relu6, False),
        ({"filters": 8, "expanded_filters": 12, "kernel_size": 5, "squeeze_filters": 4, "activation": "hard_swish"}, hard_swish, True),
    ],
)
def test_equation_1(arguments, activation, shortcut, padding):
    block = InvertedResidual(**arguments, padding=padding)
    block.build(MAP.shape)
    randomize(block)
    expected = branch(block, MAP.astype("float64"), activation) + (MAP if shortcut else 0)
    assert block.has_shortcut is shortcut
    np.testing.assert_allclose(block(MAP), expected, atol=1e-5 * max(1, np.abs(expected).max()))


def identity_block(**arguments):
    """One channel whose three convolutions and normalisations are the identity, but for the division by sqrt(1 + epsilon)."""
    return InvertedResidual(2, expanded_filters=1, kernel_size=1, kernel_initializer="ones", epsilon=1e-12, **arguments)


def test_b13_activation_of_ten_becomes_six():
    ten = np.full((1, 2, 2, 1), 10.0, "float32")
    np.testing.assert_allclose(identity_block()(ten), 6.0, rtol=1e-6)
    np.testing.assert_allclose(identity_block(activation="relu")(ten), 10.0, rtol=1e-6)


def test_stochastic_depth_drops_the_branch_by_sample():
    block = InvertedResidual(8, expanded_filters=16, stochastic_depth=0.5)
    x = np.repeat(MAP[:1], 64, axis=0)
    found = np.abs(np.asarray(block(x, training=True)) - x).max((1, 2, 3))
    assert 15 < int((found == 0).sum()) < 49
    inference = np.abs(np.asarray(block(x)) - x).max((1, 2, 3))
    assert np.all(inference > 0)


def test_b15_epsilon_and_momentum_reach_every_normalization():
    block = InvertedResidual(8, expanded_filters=16, epsilon=1e-3, momentum=0.99)
    found = [layer for layer in block._flatten_layers() if isinstance(layer, keras.layers.BatchNormalization)]
    assert [(layer.epsilon, layer.momentum) for layer in found] == [(1e-3, 0.99)] * 3


def test_b15_values_of_the_report():
    block = InvertedResidual(1, kernel_size=1, kernel_initializer="ones", activation=None, epsilon=1e-5, momentum=0.9)
    block.has_shortcut = False
    x = np.full((1, 2, 2, 1), 1.0, "float32")
    block.build(x.shape)
    block.has_shortcut = False
    block.depthwise.batch_normalization.moving_variance.assign([1e-4])
    block.project.batch_normalization.moving_variance.assign([1.0 - 1e-5])
    np.testing.assert_allclose(block(x), 95.3463, rtol=1e-5)
    block(10 * x, training=True)
    np.testing.assert_allclose(block.depthwise.batch_normalization.moving_mean, [1.0], rtol=1e-6)


def test_unknown_sizes():
    inputs = keras.Input((None, None, 8))
    model = keras.Model(inputs, InvertedResidual(6, 16, strides=2, squeeze_filters=4)(inputs))
    assert model(MAP).shape == (2, 4, 3, 6)


def test_bad_arguments():
    with pytest.raises(ValueError, match="filters must be an integer of at least 1, got 0"):
        InvertedResidual(0)
    with pytest.raises(ValueError, match="expanded_filters must be an integer of at least 1, got 0"):
        InvertedResidual(8, expanded_filters=0)
    with pytest.raises(ValueError, match="kernel_size must be an integer of at least 1, got 0"):
        InvertedResidual(8, kernel_size=0)
    with pytest.raises(ValueError, match="strides must be an integer of at least 1, got 0"):
        InvertedResidual(8, strides=0)
    with pytest.raises(ValueError, match="squeeze_filters must be an integer of at least 1, got 0"):
        InvertedResidual(8, squeeze_filters=0)
    with pytest.raises(ValueError, match=r"rate must be at least 0 and below 1, got 1.0"):
        InvertedResidual(8, stochastic_depth=1.0)
    with pytest.raises(ValueError, match="padding must be one of 'same', 'symmetric', got 'valid'"):
        InvertedResidual(8, padding="valid")
    with pytest.raises(ValueError, match="strides and dilation_rate must not both be above 1"):
        InvertedResidual(8, strides=2, dilation_rate=2)
    with pytest.raises(ValueError, match=r"InvertedResidual expects input of shape .* got \(2, 8\)"):
        InvertedResidual(8)(np.ones((2, 8), "float32"))
