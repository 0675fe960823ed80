import keras
import numpy as np
import pytest

from keras_canon.layers import LeCunFanInUniform, RandomSigns, SinusoidalGrid, fresh_initializer


@pytest.mark.parametrize(("shape", "fan_in"), [((120, 84), 120), ((5, 5, 6, 16), 150)])
def test_lecun_uniform_fills_the_interval_of_the_fan_in(shape, fan_in):
    draw = np.asarray(LeCunFanInUniform(seed=3)(shape))
    limit = 2.4 / fan_in
    assert np.max(np.abs(draw)) <= limit
    assert np.max(draw) > 0.98 * limit
    assert np.min(draw) < -0.98 * limit
    # The standard deviation of a uniform distribution of half-width `limit`.
    assert np.std(draw) == pytest.approx(limit / np.sqrt(3), rel=0.05)


def test_lecun_uniform_takes_a_fan_in_for_vectors():
    assert np.max(np.abs(LeCunFanInUniform(fan_in=4)((6,)))) <= 0.6
    with pytest.raises(ValueError, match=r"fan_in must be given for a weight of shape \(6,\).*got None"):
        LeCunFanInUniform()((6,))
    with pytest.raises(ValueError, match="fan_in must be an integer of at least 1, got 0"):
        LeCunFanInUniform(fan_in=0)


def test_random_signs():
    draw = np.asarray(RandomSigns(seed=3)((40, 84)))
    assert set(np.unique(draw)) == {-1.0, 1.0}
    assert abs(np.mean(draw)) < 0.06
    assert keras.backend.standardize_dtype(RandomSigns()((3,), dtype="float16").dtype) == "float16"


@pytest.mark.parametrize("cls", [LeCunFanInUniform, RandomSigns])
def test_seeds_and_configs(cls):
    assert keras.saving.get_registered_name(cls) == f"keras_canon>{cls.__name__}"
    seeded, unseeded = cls(seed=3), cls()
    again = keras.initializers.get(keras.initializers.serialize(seeded))
    np.testing.assert_array_equal(again((8, 9)), seeded((8, 9)))
    assert unseeded.get_config()["seed"] is None
    assert not np.array_equal(unseeded((8, 9)), cls()((8, 9)))


def test_sinusoidal_grid_is_the_formula_for_each_patch():
    height, width, dim = 2, 3, 12
    table = np.asarray(SinusoidalGrid(height, width)((1 + height * width, dim)))
    frequencies = [10000.0 ** -(i / (dim // 4 - 1)) for i in range(dim // 4)]
    np.testing.assert_array_equal(table[0], np.zeros(dim))
    for row in range(height):
        for column in range(width):
            expected = [wave(place * w) for place in (column, row) for wave in (np.sin, np.cos) for w in frequencies]
            np.testing.assert_allclose(table[1 + row * width + column], expected, atol=1e-6)
    again = keras.initializers.get(keras.initializers.serialize(SinusoidalGrid(height, width)))
    np.testing.assert_array_equal(again((6, dim)), table[1:])
    assert keras.backend.standardize_dtype(again((6, 8), dtype="float16").dtype) == "float16"


@pytest.mark.parametrize("shape", [(5, 12), (6, 10), (6, 4), (6,), (6, 2, 8)])
def test_sinusoidal_grid_refuses_other_tables(shape):
    with pytest.raises(ValueError, match=r"shape must be \(at least 6, a multiple of 4 above 4\)"):
        SinusoidalGrid(2, 3)(shape)
    with pytest.raises(ValueError, match="height must be an integer of at least 1, got 0"):
        SinusoidalGrid(0, 3)


def test_identity_recurrent_is_keras_identity():
    # Le, Jaitly, Hinton 2015 start recurrent kernels at a scaled identity; Keras has it, so this package does not.
    np.testing.assert_array_equal(keras.initializers.Identity(gain=0.5)((3, 3)), 0.5 * np.eye(3))


def test_b11_fresh_initializers_differ_unless_seeded():
    shared = keras.initializers.GlorotUniform()
    assert not np.array_equal(fresh_initializer(shared)((4, 4)), fresh_initializer(shared)((4, 4)))
    seeded = keras.initializers.GlorotUniform(seed=1)
    np.testing.assert_array_equal(fresh_initializer(seeded)((4, 4)), seeded((4, 4)))
    ours = LeCunFanInUniform()
    assert not np.array_equal(fresh_initializer(ours)((4, 4)), fresh_initializer(ours)((4, 4)))
    assert fresh_initializer(None) is None


def test_b11_global_seed_makes_builds_equal():
    draws = []
    for _ in range(2):
        keras.utils.set_random_seed(4)
        shared = keras.initializers.GlorotUniform()
        draws.append([np.asarray(fresh_initializer(shared)((4, 4))) for _ in range(3)])
    np.testing.assert_array_equal(draws[0], draws[1])
