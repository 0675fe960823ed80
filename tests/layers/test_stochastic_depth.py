"""`StochasticDepth`: whole samples are dropped, and the expectation is kept."""

import keras
import numpy as np
import pytest

from keras_canon.layers import StochasticDepth

ONES = np.ones((4000, 2, 3), "float32")


def test_equation_2_sample_by_sample():
    outputs = np.asarray(StochasticDepth(0.25, seed=1)(ONES, training=True))
    kept = outputs[:, 0, 0] > 0
    np.testing.assert_allclose(outputs, np.where(kept, 1 / 0.75, 0.0)[:, None, None] * ONES, rtol=1e-6)
    # Standard deviation of the share is 0.0068.
    assert abs(kept.mean() - 0.75) < 0.03


def test_inference_and_rate_0_are_the_identity():
    np.testing.assert_array_equal(StochasticDepth(0.9)(ONES), ONES)
    np.testing.assert_array_equal(StochasticDepth(0.9)(ONES, training=False), ONES)
    np.testing.assert_array_equal(StochasticDepth(0.0)(ONES, training=True), ONES)


def test_draws_differ_between_calls_and_repeat_by_seed():
    first, second = StochasticDepth(0.5, seed=3), StochasticDepth(0.5, seed=3)
    one, two = np.asarray(first(ONES, training=True)), np.asarray(first(ONES, training=True))
    assert not np.array_equal(one, two)
    np.testing.assert_array_equal(second(ONES, training=True), one)


def test_unknown_batch_size():
    model = keras.Sequential([keras.Input((3,)), StochasticDepth(0.5)])
    for batch in (1, 4, 0):
        assert model(np.ones((batch, 3), "float32"), training=True).shape == (batch, 3)


@pytest.mark.parametrize("rate", [-0.1, 1.0, "half", None])
def test_bad_rate(rate):
    with pytest.raises(ValueError, match=f"rate must be .*got {rate!r}"):
        StochasticDepth(rate)
