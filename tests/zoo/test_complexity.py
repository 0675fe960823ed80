"""Counting sizes gives no weight a value, neither at once nor later."""

import keras
import pytest
import tensorflow as tf

from keras_canon import layers, zoo


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


def test_products_in_a_loop_count_once_for_each_step():
    sequences = keras.Input((None, 4))
    model = keras.Model(sequences, layers.LSTM(5)(sequences))
    assert zoo.multiply_adds(model, steps=7) == 7 * (4 + 5) * 20
    assert zoo.multiply_adds(model, (3, 4)) == 3 * (4 + 5) * 20
    cell = keras.Model(sequences, keras.layers.RNN(layers.ElmanCell(5))(sequences))
    assert zoo.multiply_adds(cell, steps=7) == 7 * (4 + 5) * 5


def test_several_inputs_share_the_steps():
    inputs = {"queries": keras.Input((None, 4), name="queries"), "values": keras.Input((None, 6), name="values")}
    outputs = layers.MultiplicativeAttention("general")(inputs["queries"], inputs["values"])[0]
    # W_a, scores, context
    assert zoo.multiply_adds(keras.Model(inputs, outputs), steps=3) == 3 * 4 * 6 + 3 * 3 * 6 + 3 * 3 * 6
    with pytest.raises(ValueError, match="one input"):
        zoo.multiply_adds(keras.Model(inputs, outputs), (3, 4))


def test_an_axis_without_a_length_is_an_error():
    sequences = keras.Input((None, 4))
    with pytest.raises(ValueError, match="name every axis"):
        zoo.multiply_adds(keras.Model(sequences, keras.layers.Dense(2)(sequences)))


def test_a_product_over_any_leading_axes():
    inputs = keras.Input((7, 5))
    outputs = layers.DropConnectDense(3)(inputs)
    assert zoo.multiply_adds(keras.Model(inputs, outputs)) == 7 * 5 * 3
