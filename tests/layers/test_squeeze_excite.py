import keras
import numpy as np
import pytest
from checks.convolution import randomize, relu

from keras_canon.layers import SqueezeExcite

MAP = np.random.RandomState(0).standard_normal((2, 5, 4, 8)).astype("float32")


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


@pytest.mark.parametrize(
    ("arguments", "activation", "gate"),
    [
        ({"ratio": 4}, relu, sigmoid),
        ({"units": 3, "gate_activation": "hard_sigmoid"}, relu, lambda x: np.clip(x + 3, 0, 6) / 6),
        ({"units": 2, "activation": "swish"}, lambda x: x * sigmoid(x), sigmoid),
    ],
    ids=["paper", "mobilenet_v3", "efficientnet"],
)
def test_equations_2_to_4(arguments, activation, gate):
    layer = SqueezeExcite(**arguments)
    layer.build(MAP.shape)
    randomize(layer)
    w1, b1, w2, b2 = (np.asarray(weight, "float64") for weight in layer.get_weights())
    means = MAP.astype("float64").mean((1, 2))
    scale = gate(activation(means @ w1[0, 0] + b1) @ w2[0, 0] + b2)
    np.testing.assert_allclose(layer(MAP), MAP * scale[:, None, None], atol=1e-5)


def test_width_by_ratio():
    for channels, ratio, expected in [(64, 16, 4), (8, 16, 1), (18, 4, 4)]:
        layer = SqueezeExcite(ratio=ratio)
        layer.build((None, None, None, channels))
        assert layer.reduce.filters == expected


def test_b07_means_of_large_float16_values():
    layer = SqueezeExcite(units=1, kernel_initializer="zeros", dtype="mixed_float16")
    found = np.asarray(layer(np.full((1, 8, 8, 2), 60000.0, "float32")), "float32")
    np.testing.assert_allclose(found, 30000.0, rtol=1e-3)


def test_b11_kernels_from_one_initializer_differ():
    layer = SqueezeExcite(units=8, kernel_initializer=keras.initializers.RandomNormal())
    layer.build(MAP.shape)
    assert not np.array_equal(layer.reduce.kernel, layer.expand.kernel)


def test_bad_arguments():
    with pytest.raises(ValueError, match="units must be an integer of at least 1, got 0"):
        SqueezeExcite(units=0)
    with pytest.raises(ValueError, match=r"ratio must be at least 1.0, got 0.5"):
        SqueezeExcite(ratio=0.5)
    with pytest.raises(ValueError, match=r"SqueezeExcite expects input of shape .* got \(2, 8\)"):
        SqueezeExcite()(np.ones((2, 8), "float32"))
