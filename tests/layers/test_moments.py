import numpy as np
import pytest
import tensorflow as tf

from keras_canon.layers.moments import full_mask, group_moments

X = np.random.RandomState(0).standard_normal((2, 5, 3, 6)).astype("float32")


@pytest.mark.parametrize("groups", [1, 2, 6])
def test_moments_of_each_group(groups):
    mean, variance = group_moments(tf.constant(X), groups)
    grouped = X.reshape(2, 5, 3, groups, 6 // groups)
    for found, expected in [(mean, grouped.mean((1, 2, 4))), (variance, grouped.var((1, 2, 4)))]:
        np.testing.assert_allclose(found, expected.repeat(6 // groups, axis=1).reshape(2, 1, 1, 6), atol=1e-6)


def test_mask_over_time_counts_every_position_behind_it():
    mask = np.array([[1, 1, 0, 1, 0], [1, 0, 0, 0, 0]], bool)
    mean, variance = group_moments(tf.constant(X), 2, mask)
    for row in range(2):
        real = X[row, mask[row]].reshape(-1, 2, 3)
        np.testing.assert_allclose(mean[row, 0, 0], real.mean((0, 2)).repeat(3), atol=1e-6)
        np.testing.assert_allclose(variance[row, 0, 0], real.var((0, 2)).repeat(3), atol=1e-6)
    assert full_mask(mask, tf.constant(X)).shape == (2, 5, 3, 1)


def test_row_without_real_positions_gives_zeros():
    mean, variance = group_moments(tf.constant(X), 2, np.zeros((2, 5), bool))
    assert not np.any(mean)
    assert not np.any(variance)
