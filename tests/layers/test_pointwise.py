"""`PointwiseConv2D` is a dense layer at every pixel."""

import keras
import numpy as np
import pytest

from keras_canon.layers import PointwiseConv2D

IMAGES = np.random.RandomState(0).standard_normal((2, 5, 6, 4)).astype("float32")


@pytest.mark.parametrize("strides", [1, 2, (1, 3)])
def test_equals_a_dense_layer(strides):
    dense = keras.layers.Dense(3, activation="tanh", bias_initializer="random_normal")
    expected = np.asarray(dense(IMAGES))
    layer = PointwiseConv2D(3, strides=strides, activation="tanh")
    layer.build(IMAGES.shape)
    kernel, bias = dense.get_weights()
    layer.set_weights([kernel[None, None], bias])
    rows, columns = layer.strides
    np.testing.assert_allclose(layer(IMAGES), expected[:, ::rows, ::columns], atol=1e-6)
    assert layer.compute_output_shape(IMAGES.shape) == expected[:, ::rows, ::columns].shape


def test_groups_do_not_see_each_other():
    layer = PointwiseConv2D(6, groups=2)
    first = np.asarray(layer(IMAGES))
    changed = IMAGES.copy()
    changed[..., :2] += 1.0
    difference = np.abs(np.asarray(layer(changed)) - first).max((0, 1, 2))
    assert np.all(difference[:3] > 0)
    assert np.all(difference[3:] == 0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PointwiseConv2D(0), "filters must be an integer of at least 1, got 0"),
        (lambda: PointwiseConv2D(4, strides=0), "strides must be an integer of at least 1, got 0"),
        (lambda: PointwiseConv2D(4, groups=3), "filters must be a multiple of groups, got filters=4 and groups=3"),
        (lambda: PointwiseConv2D(6, groups=3)(IMAGES), "channels must be a multiple of groups, got channels=4 and groups=3"),
        (lambda: PointwiseConv2D(6).build((2, 4)), r"PointwiseConv2D expects input of shape .* got \(2, 4\)"),
    ],
)
def test_bad_arguments(make, message):
    with pytest.raises(ValueError, match=message):
        make()
