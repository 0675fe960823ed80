import keras
import numpy as np
import pytest

from keras_canon.layers import ClassMaps2D

MAP = np.random.RandomState(0).standard_normal((2, 3, 4, 5)).astype("float32")


def test_the_average_comes_after_the_activation():
    layer = ClassMaps2D(4)
    found = np.asarray(layer(MAP))
    layer.bias.assign(np.arange(4.0) - 1.5)
    found = np.asarray(layer(MAP))
    maps = MAP @ np.asarray(layer.kernel)[0, 0] + np.asarray(layer.bias)
    np.testing.assert_allclose(found, np.maximum(maps, 0).mean((1, 2)), atol=1e-6)


def test_without_activation_it_is_a_dense_layer_on_the_average():
    layer = ClassMaps2D(4, activation=None)
    found = np.asarray(layer(MAP))
    np.testing.assert_allclose(found, MAP.mean((1, 2)) @ np.asarray(layer.kernel)[0, 0], atol=1e-6)


def test_unknown_sizes():
    images = keras.Input((None, None, 5))
    model = keras.Model(images, ClassMaps2D(4)(images))
    assert model(MAP).shape == (2, 4)
    assert model(MAP[:, :1]).shape == (2, 4)


def test_float16_averages_do_not_overflow():
    layer = ClassMaps2D(1, activation=None, kernel_initializer="ones", dtype="float16")
    assert float(layer(np.full((1, 16, 16, 1), 30000, "float16"))[0, 0]) == 30000


def test_bad_arguments():
    with pytest.raises(ValueError, match="num_classes must be an integer of at least 1, got 0"):
        ClassMaps2D(0)
    with pytest.raises(ValueError, match=r"ClassMaps2D expects input of shape .* got \(2, 5\)"):
        ClassMaps2D(3)(np.ones((2, 5), "float32"))
