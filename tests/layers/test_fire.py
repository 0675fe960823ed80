import keras
import numpy as np
import pytest
from checks.convolution import convolve, randomize, relu

from keras_canon.layers import FireModule

MAP = np.random.RandomState(0).standard_normal((2, 5, 4, 6)).astype("float32")


def test_equation_1():
    layer = FireModule(3, 4, 5)
    layer.build(MAP.shape)
    randomize(layer)
    ws, bs, w1, b1, w3, b3 = (np.asarray(weight, "float64") for weight in layer.get_weights())
    squeezed = relu(convolve(MAP, ws) + bs)
    expected = np.concatenate([relu(convolve(squeezed, w1) + b1), relu(convolve(squeezed, w3) + b3)], axis=-1)
    np.testing.assert_allclose(layer(MAP), expected, atol=1e-5)


def test_parameters_of_fire2():
    layer = FireModule(16, 64, 64)
    layer.build((None, 55, 55, 96))
    assert layer.count_params() == 11920  # table 1


def test_b11_kernels_from_one_initializer_differ():
    layer = FireModule(6, 6, 6, kernel_initializer=keras.initializers.RandomNormal())
    layer.build(MAP.shape)
    assert not np.array_equal(layer.squeeze.kernel, layer.expand_1x1.kernel)


def test_bad_arguments():
    for name in ("squeeze_filters", "expand_1x1_filters", "expand_3x3_filters"):
        arguments = {"squeeze_filters": 1, "expand_1x1_filters": 1, "expand_3x3_filters": 1, name: 0}
        with pytest.raises(ValueError, match=f"{name} must be an integer of at least 1, got 0"):
            FireModule(**arguments)
    with pytest.raises(ValueError, match=r"FireModule expects input of shape .* got \(2, 8\)"):
        FireModule(1, 1, 1)(np.ones((2, 8), "float32"))
