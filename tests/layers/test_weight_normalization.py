import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_canon.layers import WeightNormalization

X = np.random.RandomState(0).standard_normal((2, 5, 4)).astype("float32")


def test_wrapping_does_not_change_the_function_at_the_start():
    keras.utils.set_random_seed(1)
    plain = keras.layers.Conv1D(6, 3)
    expected = plain(X)
    np.testing.assert_allclose(WeightNormalization(plain)(X), expected, atol=1e-6)


def test_equation_2():
    layer = WeightNormalization(keras.layers.Dense(3, activation="tanh"))
    layer(X)
    random = np.random.RandomState(1)
    g, v, b = random.standard_normal(3), random.standard_normal((4, 3)), random.standard_normal(3)
    layer.g.assign(g)
    layer.layer.set_weights([v, b])
    expected = np.tanh(X @ (v * g / np.linalg.norm(v, axis=0)) + b)
    np.testing.assert_allclose(layer(X), expected, atol=1e-5)
    layer.layer.set_weights([7 * v, b])
    np.testing.assert_allclose(layer(X), expected, atol=1e-5)


def test_gradients_are_those_of_equation_3():
    layer = WeightNormalization(keras.layers.Dense(1, use_bias=False))
    layer(X)
    layer.g.assign([1.7])
    v = layer.layer.kernel.numpy()[:, 0]
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(layer(X))
    by_g, by_v = tape.gradient(loss, [layer.g.value, layer.layer.kernel.value])
    by_w = X.sum(axis=(0, 1))  # gradient of the loss by the effective kernel
    length = np.linalg.norm(v)
    np.testing.assert_allclose(by_g, [by_w @ v / length], rtol=1e-4)
    np.testing.assert_allclose(by_v[:, 0], 1.7 / length * by_w - 1.7 * (by_w @ v / length) / length**2 * v, rtol=1e-4, atol=1e-5)


def test_length_is_right_where_keras_builds_symbolically():
    model = keras.Sequential([WeightNormalization(keras.layers.Dense(3)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(X[:, 0], np.zeros((2, 1)), epochs=1, verbose=0)
    wrapper = keras.Sequential([WeightNormalization(keras.layers.Dense(3))])
    wrapper.compile(keras.optimizers.SGD(0.0), "mse")
    wrapper.fit(X[:, 0], np.zeros((2, 3)), epochs=1, verbose=0)
    layer = wrapper.layers[0]
    np.testing.assert_allclose(layer.g, np.linalg.norm(layer.layer.kernel.numpy(), axis=0), rtol=1e-6)


def test_a_frozen_wrapped_layer_still_runs():
    layer = WeightNormalization(keras.layers.Dense(3))
    expected = layer(X)
    layer.layer.trainable = False
    np.testing.assert_allclose(layer(X), expected, atol=1e-7)
    assert [item.name for item in layer.trainable_weights] == ["g"]


def test_dtype_of_wrapper_and_wrapped_agree():
    assert WeightNormalization(keras.layers.Dense(3), dtype="mixed_float16").layer.compute_dtype == "float16"
    assert WeightNormalization(keras.layers.Dense(3, dtype="mixed_bfloat16")).compute_dtype == "bfloat16"


def test_bad_layer():
    with pytest.raises(ValueError, match=r"layer must be one of keras\.layers Dense, Conv1D, Conv2D, Conv3D, got LSTM"):
        WeightNormalization(keras.layers.LSTM(3))
