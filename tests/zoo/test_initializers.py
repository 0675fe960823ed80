"""The normal initialiser of the residual networks."""

import keras
import numpy as np
import pytest

from keras_canon.zoo.initializers import FanInNormal


def test_values_have_the_variance_of_the_paper_and_their_tails():
    values = np.asarray(FanInNormal(seed=1)((3, 3, 64, 512)))
    deviation = np.sqrt(2 / (3 * 3 * 64))
    assert values.std() == pytest.approx(deviation, rel=0.01)
    assert abs(values.mean()) < 0.01 * deviation
    # he_normal would end at 2 / 0.88 = 2.27 deviations
    assert np.abs(values).max() > 4 * deviation
    assert np.mean(np.abs(values) > 2 * deviation) == pytest.approx(0.0455, rel=0.05)


def test_seed_decides():
    first, again, other = (np.asarray(FanInNormal(seed=seed)((4, 8))) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - other).max() > 0
    initializer = FanInNormal()
    np.testing.assert_array_equal(initializer((4, 8)), initializer((4, 8)))
    assert np.abs(np.asarray(initializer((4, 8))) - np.asarray(FanInNormal()((4, 8)))).max() > 0


def test_global_seed_decides_without_one():
    draws = []
    for _ in range(2):
        keras.utils.set_random_seed(5)
        draws.append(np.asarray(FanInNormal()((4, 8))))
    np.testing.assert_array_equal(*draws)


def test_config_round_trip():
    copy = keras.initializers.deserialize(keras.initializers.serialize(FanInNormal(seed=7)))
    assert isinstance(copy, FanInNormal)
    assert copy.get_config() == {"seed": 7}


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_other_types(dtype):
    assert keras.backend.standardize_dtype(FanInNormal(seed=0)((4, 8), dtype=dtype).dtype) == dtype


def test_no_axes_are_refused():
    with pytest.raises(ValueError, match=r"shape must have at least one axis, got \(\)"):
        FanInNormal()(())
