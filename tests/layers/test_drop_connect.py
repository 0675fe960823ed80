import keras
import numpy as np
import pytest

from keras_canon.layers import DropConnectDense

X = np.random.RandomState(0).standard_normal((6, 4)).astype("float32")


def test_inference_equals_dense():
    layer, dense = DropConnectDense(3, activation="relu"), keras.layers.Dense(3, activation="relu")
    layer(X)
    dense(X)
    dense.set_weights(layer.get_weights())
    np.testing.assert_allclose(layer(X), dense(X), atol=1e-6)
    np.testing.assert_allclose(
        DropConnectDense(3, rate=0.0, kernel_initializer="ones")(X, training=True), X.sum(1)[:, None].repeat(3, 1), atol=1e-6
    )


@pytest.mark.parametrize("mask_per_example", [True, False])
def test_each_output_is_a_sum_over_a_subset_of_weights(mask_per_example):
    layer = DropConnectDense(3, 0.5, mask_per_example=mask_per_example, kernel_initializer="ones", bias_initializer="ones", seed=1)
    powers = np.repeat((2.0 ** np.arange(4))[None], 50, axis=0).astype("float32")  # 1, 2, 4, 8
    found = np.asarray(layer(powers, training=True)) / 2  # undo the division by 1 - rate
    sums = np.round(found).astype(int)
    np.testing.assert_allclose(found, sums, atol=1e-5)
    assert sums.min() >= 0
    assert sums.max() <= 16
    distinct = len({tuple(row) for row in sums})
    assert distinct > 40 if mask_per_example else distinct == 1


def test_expectation_in_training_is_the_inference_value():
    layer = DropConnectDense(2, 0.3, seed=3, bias_initializer="ones")
    x = np.repeat(X[:1], 20000, axis=0)
    expected = np.asarray(layer(x[:1]))[0]
    found = np.asarray(layer(x, training=True))
    w = layer.kernel.numpy()
    variance = (0.3 / 0.7) * ((X[0] ** 2) @ (w**2) + 1.0)  # equation 7's variance after the scaling, the bias included
    np.testing.assert_allclose(found.mean(0), expected, atol=4 * np.sqrt(variance.max() / 20000))
    np.testing.assert_allclose(found.var(0), variance, rtol=0.05)


def test_one_example_shares_its_mask_over_time():
    x = np.repeat(X[:, None], 5, axis=1)
    found = np.asarray(DropConnectDense(3, 0.5)(x, training=True))
    np.testing.assert_allclose(found, found[:, :1].repeat(5, 1), atol=1e-6)
    assert DropConnectDense(3)(np.ones((0, 4), "float32"), training=True).shape == (0, 3)


def test_bad_arguments():
    with pytest.raises(ValueError, match="units must be an integer of at least 1, got 0"):
        DropConnectDense(0)
    with pytest.raises(ValueError, match=r"rate must be at least 0 and below 1, got 1.0"):
        DropConnectDense(3, rate=1)
    with pytest.raises(ValueError, match=r"rate must be between 0.0 and 1.0, got -0.1"):
        DropConnectDense(3, rate=-0.1)
    with pytest.raises(ValueError, match=r"known last axis, got \(None, None\)"):
        DropConnectDense(3).build((None, None))
