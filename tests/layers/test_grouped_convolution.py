"""`GroupedConv2D` against `keras.layers.Conv2D` with the same weights, and without its XLA."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from checks.convolution import convolve

from keras_canon.layers import GroupedConv2D

IMAGES = np.random.RandomState(0).standard_normal((2, 9, 7, 8)).astype("float32")


@pytest.mark.parametrize(
    "arguments",
    [
        {"groups": 1, "padding": "same"},
        {"groups": 2, "strides": 2, "padding": "same"},
        {"groups": 4, "dilation_rate": 2},
        {"groups": 8, "strides": (1, 2)},
        {"groups": 8, "strides": 2, "padding": "same", "use_bias": False},
    ],
)
def test_equals_keras_with_the_same_weights(arguments):
    ours = GroupedConv2D(16, 3, **arguments, bias_initializer="random_normal", data_format="channels_last")
    theirs = keras.layers.Conv2D(16, 3, **arguments, data_format="channels_last")
    results = []
    for layer in (ours, theirs):
        layer.build(IMAGES.shape)
        layer.set_weights(ours.get_weights())
        with tf.GradientTape() as tape:
            outputs = layer(IMAGES)
            loss = tf.reduce_sum(outputs**2)
        results.append([outputs, *tape.gradient(loss, [weight.value for weight in layer.trainable_weights])])
    for found, expected in zip(*results, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5 * float(tf.reduce_max(tf.abs(expected))))
    assert ours.compute_output_shape(IMAGES.shape) == theirs.compute_output_shape(IMAGES.shape) == tuple(results[0][0].shape)


def test_equals_the_loop_over_groups():
    layer = GroupedConv2D(6, 3, groups=2, padding="same", use_bias=False)
    found = layer(IMAGES)
    np.testing.assert_allclose(found, convolve(IMAGES, np.asarray(layer.kernel), groups=2), atol=1e-5)


def test_no_xla_in_the_graph():
    layer = GroupedConv2D(16, 3, groups=4)
    layer.build(IMAGES.shape)
    graph = tf.function(layer).get_concrete_function(tf.TensorSpec((None, None, None, 8))).graph.as_graph_def()
    assert "_XlaMustCompile" not in str(graph)


def test_bad_arguments():
    with pytest.raises(ValueError, match=r"groups=3, filters=16"):
        GroupedConv2D(16, 3, groups=3)
    with pytest.raises(ValueError, match=r"groups=3, but the input has 8 channels"):
        GroupedConv2D(15, 3, groups=3).build(IMAGES.shape)
    with pytest.raises(ValueError, match="data_format must be 'channels_last', got 'channels_first'"):
        GroupedConv2D(16, 3, groups=2, data_format="channels_first").build(IMAGES.shape)
