"""The convolution units against NumPy, and batch normalisation's momentum and epsilon through every block (case B15)."""

import keras
import numpy as np
import pytest
from checks.convolution import convolve, depthwise, normalize, randomize, relu, unit

from keras_canon import layers
from keras_canon.layers import ConvNormActivation, DepthwiseConvNormActivation

IMAGES = np.random.RandomState(0).standard_normal((2, 9, 8, 4)).astype("float32")


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"strides": 2, "padding": "symmetric"},
        {"strides": (1, 2), "groups": 2, "epsilon": 0.1},
        {"dilation_rate": 2, "padding": "valid", "activation": None},
    ],
)
def test_equations_1_to_3(arguments):
    layer = ConvNormActivation(6, 3, **arguments)
    layer.build(IMAGES.shape)
    randomize(layer)
    expected = unit(layer, IMAGES)
    np.testing.assert_allclose(layer(IMAGES), expected if arguments.get("activation", "relu") is None else relu(expected), atol=1e-5)


def test_depthwise_equations():
    layer = DepthwiseConvNormActivation(3, strides=(2, 1), depth_multiplier=2)
    layer.build(IMAGES.shape)
    randomize(layer)
    raw = depthwise(IMAGES, np.asarray(layer.convolution.kernel), (2, 1))
    np.testing.assert_allclose(layer(IMAGES), relu(normalize(raw, layer.batch_normalization)), atol=1e-5)


def test_training_uses_the_statistics_of_the_batch():
    layer = ConvNormActivation(6, 3, activation=None)
    outputs = np.asarray(layer(IMAGES, training=True))
    np.testing.assert_allclose(outputs.mean((0, 1, 2)), 0.0, atol=1e-5)
    np.testing.assert_allclose(outputs.var((0, 1, 2)), 1.0, atol=1e-3)
    raw = convolve(IMAGES, np.asarray(layer.convolution.kernel))
    np.testing.assert_allclose(layer.batch_normalization.moving_mean, 0.1 * raw.mean((0, 1, 2)), atol=1e-5)


@pytest.mark.parametrize(("arguments", "bias"), [({}, False), ({"normalization": None}, True), ({"use_bias": True}, True)])
def test_bias_only_where_no_normalisation_takes_it_out(arguments, bias):
    for layer in (ConvNormActivation(4, 3, **arguments), DepthwiseConvNormActivation(3, **arguments)):
        layer.build(IMAGES.shape)
        assert (layer.convolution.bias is not None) == bias


def test_names_of_weights_for_conversions():
    layer = ConvNormActivation(4, 3, name="conv1")
    layer(IMAGES)
    assert [weight.path for weight in layer.weights] == [
        "conv1/convolution/kernel",
        "conv1/normalization/gamma",
        "conv1/normalization/beta",
        "conv1/normalization/moving_mean",
        "conv1/normalization/moving_variance",
    ]


def test_regularizer_reaches_the_kernel_only():
    for layer in (
        ConvNormActivation(4, 3, kernel_regularizer=keras.regularizers.L2(0.5)),
        DepthwiseConvNormActivation(3, kernel_regularizer=keras.regularizers.L2(0.5)),
    ):
        layer(IMAGES)
        assert len(layer.losses) == 1
        np.testing.assert_allclose(layer.losses[0], 0.5 * np.sum(np.square(layer.convolution.kernel)), rtol=1e-5)


def test_b15_epsilon_and_momentum_of_converted_weights():
    layer = ConvNormActivation(1, 1, momentum=0.9, epsilon=1e-5, activation=None)
    layer.build((None, 1, 1, 1))
    layer.set_weights([np.ones((1, 1, 1, 1)), np.ones(1), np.zeros(1), np.zeros(1), np.full(1, 1e-4)])
    one = np.ones((1, 1, 1, 1), "float32")
    np.testing.assert_allclose(np.ravel(layer(one)), 95.3463, rtol=1e-5)
    layer(np.full((4, 1, 1, 1), 10.0, "float32"), training=True)
    np.testing.assert_allclose(layer.batch_normalization.moving_mean, [1.0], rtol=1e-6)


BLOCKS = [
    (layers.ConvNormActivation, (4, 3), {}),
    (layers.DepthwiseConvNormActivation, (3,), {}),
    (layers.DepthwiseSeparableConv2D, (4,), {}),
    (layers.DepthwiseSeparableConv2D, (4,), {"order": "xception"}),
    (layers.ResidualBlock, (8,), {"shortcut": "projection"}),
    (layers.BottleneckResidualBlock, (8,), {"shortcut": "projection", "groups": 2}),
    (layers.PreActivationResidualBlock, (8,), {"shortcut": "projection"}),
    (layers.PreActivationBottleneckBlock, (8,), {"shortcut": "projection"}),
    (layers.NormActivationConv, (4, 3), {}),
    (layers.DenseBlockLayer, (4,), {}),
    (layers.DenseBlock, (2, 4), {}),
    (layers.TransitionBlock, (2,), {}),
]


@pytest.mark.parametrize(("cls", "arguments", "more"), BLOCKS, ids=lambda item: getattr(item, "__name__", ""))
def test_b15_every_block_carries_epsilon_and_momentum(cls, arguments, more):
    layer = cls(*arguments, **more, momentum=0.75, epsilon=0.25)
    layer(IMAGES)
    found = [item for item in layer._flatten_layers() if isinstance(item, keras.layers.BatchNormalization)]
    assert found
    assert {(item.momentum, item.epsilon) for item in found} == {(0.75, 0.25)}
    for name, value, message in [
        ("momentum", 1.0, "momentum must be at least 0 and below 1, got 1.0"),
        ("epsilon", 0, "epsilon must be between 1e-12 and 1.0, got 0"),
    ]:
        with pytest.raises(ValueError, match=message):
            cls(*arguments, **more, **{name: value})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ConvNormActivation(0, 3), "filters must be an integer of at least 1, got 0"),
        (lambda: ConvNormActivation(4, 3, groups=0), "groups must be an integer of at least 1, got 0"),
        (lambda: ConvNormActivation(4, 3, groups=3), "filters must be a multiple of groups, got filters=4 and groups=3"),
        (lambda: ConvNormActivation(4, 3, normalization="layer"), "normalization must be one of 'batch', None, got 'layer'"),
        (lambda: ConvNormActivation(4, 3, use_bias="no"), "use_bias must be one of None, True, False, got 'no'"),
        (lambda: DepthwiseConvNormActivation(3, depth_multiplier=0), "depth_multiplier must be an integer of at least 1, got 0"),
        (lambda: ConvNormActivation(6, 3, groups=3)(IMAGES), "channels must be a multiple of groups, got channels=4 and groups=3"),
        (lambda: ConvNormActivation(6, 3).build((2, 8, 4)), "ConvNormActivation expects input of shape"),
        (lambda: DepthwiseConvNormActivation(9, padding="valid").build((2, 9, 8, 4)), "needs maps of at least"),
    ],
)
def test_bad_arguments(make, message):
    with pytest.raises(ValueError, match=message):
        make()
