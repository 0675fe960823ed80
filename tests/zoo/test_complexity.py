"""Counting sizes gives no weight a value, neither at once nor later."""

import keras
import pytest
import tensorflow as tf

from keras_canon import zoo


class Doubling(keras.layers.Layer):
    """A layer whose output shape Keras finds out by a symbolic call."""

    def call(self, inputs):
        return 2.0 * inputs


def test_measuring_allocates_no_weights(monkeypatch):
    """Keras gives values, at the next symbolic call in a thread, to all variables that it knows there to be without."""
    drawn = []
    start = keras.initializers.GlorotUniform.__call__

    def noted(self, shape, *arguments, **options):
        if tf.executing_eagerly():  # in a graph it stands for a value, of which nothing is drawn
            drawn.append(shape)
        return start(self, shape, *arguments, **options)

    monkeypatch.setattr(keras.initializers.GlorotUniform, "__call__", noted)
    assert zoo.measure("lenet5_modern") == zoo.Complexity(61_706, 416_520)
    Doubling()(keras.Input((1,)))
    assert drawn == []
    zoo.create("lenet5_modern")
    assert (5, 5, 1, 6) in drawn, "the kernels of this network are drawn so"


def test_errors_pass_through():
    with pytest.raises(zoo.CanonError, match="no model 'vgg15'"):
        zoo.measure("vgg15")


def test_a_policy_of_the_caller_does_not_matter():
    keras.config.set_dtype_policy("mixed_float16")
    try:
        assert zoo.measure("lenet5_modern") == zoo.Complexity(61_706, 416_520)
    finally:
        keras.config.set_dtype_policy("float32")
