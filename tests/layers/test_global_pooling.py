import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_canon.layers import GlobalPooling

X = np.random.RandomState(0).standard_normal((3, 5, 4)).astype("float32")


@pytest.mark.parametrize(("method", "theirs"), [("average", keras.layers.GlobalAveragePooling2D), ("max", keras.layers.GlobalMaxPooling2D)])
def test_equals_keras(method, theirs):
    x = np.random.RandomState(0).standard_normal((2, 7, 6, 5)).astype("float32")
    for keepdims in (False, True):
        found = GlobalPooling(method, keepdims=keepdims)(x)
        np.testing.assert_allclose(found, theirs(keepdims=keepdims, data_format="channels_last")(x), atol=1e-6)


def test_generalized_mean_by_its_equation():
    layer = GlobalPooling("generalized_mean", exponent=2.5, epsilon=1e-3)
    expected = (np.maximum(X.astype("float64"), 1e-3) ** 2.5).mean(axis=1) ** (1 / 2.5)
    np.testing.assert_allclose(layer(X), expected, rtol=1e-5)
    layer.power.assign(1.0)
    np.testing.assert_allclose(layer(X), np.maximum(X, 1e-3).mean(axis=1), rtol=1e-5)
    layer.power.assign(200.0)
    np.testing.assert_allclose(layer(np.exp(X / 4)), np.exp(X / 4).max(axis=1), rtol=2e-2)


@pytest.mark.parametrize("method", ["average", "max", "generalized_mean"])
def test_mask_with_an_empty_row(method):
    mask = np.array([[1, 1, 0, 0, 0], [1, 1, 1, 1, 1], [0, 0, 0, 0, 0]], bool)
    layer = GlobalPooling(method)
    x = tf.constant(np.where(mask[..., None], X, np.float32(1e4)))
    with tf.GradientTape() as tape:
        tape.watch(x)
        found = layer(x, mask=mask)
    np.testing.assert_allclose(found[0], layer(X[:1, :2])[0], rtol=1e-6)
    np.testing.assert_allclose(found[1], layer(X[1:2])[0], rtol=1e-6)
    np.testing.assert_array_equal(found[2], np.zeros(4))
    gradient = tape.gradient(found, x)
    assert np.all(np.isfinite(gradient))
    assert np.all(gradient.numpy()[~mask] == 0.0)


def test_mask_from_an_embedding_is_used_and_ends_here():
    inputs = keras.Input((None,), dtype="int32")
    embedded = keras.layers.Embedding(10, 4, mask_zero=True)(inputs)
    model = keras.Model(inputs, GlobalPooling()(embedded))
    padded, trimmed = model(np.array([[3, 4, 0, 0]])), model(np.array([[3, 4]]))
    np.testing.assert_allclose(padded, trimmed, atol=1e-7)
    assert getattr(model.output, "_keras_mask", None) is None


def test_b07_average_of_large_float16_values():
    found = GlobalPooling("average", dtype="mixed_float16")(np.full((1, 8, 8, 1), 60000.0, "float32"))
    assert float(found[0, 0]) == float(np.float16(60000.0))
    found = GlobalPooling("generalized_mean", dtype="mixed_float16")(np.full((1, 8, 8, 1), 1000.0, "float32"))
    assert abs(float(found[0, 0]) - 1000.0) <= 2.0


@pytest.mark.parametrize("method", ["average", "max", "generalized_mean"])
def test_empty_batch(method):
    assert GlobalPooling(method)(np.ones((0, 5, 4), "float32")).shape == (0, 4)
    assert GlobalPooling(method)(np.ones((0, 5, 4), "float32"), mask=np.ones((0, 5), bool)).shape == (0, 4)


def test_bad_arguments():
    with pytest.raises(ValueError, match="method must be one of 'average', 'max', 'generalized_mean', got 'sum'"):
        GlobalPooling("sum")
    with pytest.raises(ValueError, match=r"exponent must be at least 1.0, got 0.5"):
        GlobalPooling("generalized_mean", exponent=0.5)
    with pytest.raises(ValueError, match="epsilon must be above 0, got 0"):
        GlobalPooling("generalized_mean", epsilon=0)
    with pytest.raises(ValueError, match=r"at least 3 axes, got \(2, 3\)"):
        GlobalPooling()(np.ones((2, 3), "float32"))
