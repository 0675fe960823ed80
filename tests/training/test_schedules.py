"""Schedules: every value by hand (case B37), serialisation, and what a recipe asks for."""

import keras
import numpy as np
import pytest

from keras_canon.training.schedules import WarmupCosine, learning_rate
from keras_canon.training.sections import OptimizerSection, ScheduleSection, TrainSection

# cos(30 degrees) = sqrt(3) / 2, so the first step of the way down is (1 + 0.8660254) / 2
B37 = [0.25, 0.5, 0.75, 1.0, 1.0, 0.9330127, 0.75, 0.5, 0.25, 0.0669873, 0.0, 0.0]


def values(schedule, steps):
    return np.array([float(schedule(step)) for step in steps])


def test_b37_warm_up_and_cosine_by_hand():
    found = values(WarmupCosine(1.0, warmup_steps=4, decay_steps=6), range(12))
    np.testing.assert_allclose(found, B37, atol=1e-6)
    assert found[3] == 1.0
    assert found[4] == 1.0
    assert found[10] == 0.0
    assert found[11] == 0.0
    assert found.min() >= 0.0


def test_floor_and_peak_are_exact():
    schedule = WarmupCosine(0.3, warmup_steps=2, decay_steps=4, floor=0.1)
    found = values(schedule, [0, 1, 2, 3, 4, 5, 6, 7, 1000, 10**9])
    np.testing.assert_allclose(found, [0.15, 0.3, 0.3, 0.2707107, 0.2, 0.1292893, 0.1, 0.1, 0.1, 0.1], atol=1e-6)
    assert found[1] == np.float32(0.3)
    assert np.all(found[6:] == np.float32(0.1))


def test_without_warm_up_the_first_step_is_the_peak():
    np.testing.assert_allclose(values(WarmupCosine(1.0, 0, 2), range(4)), [1.0, 0.5, 0.0, 0.0], atol=1e-7)


def test_without_decay_the_floor_follows_the_peak():
    np.testing.assert_allclose(values(WarmupCosine(1.0, 2, 0, floor=0.5), range(4)), [0.5, 1.0, 0.5, 0.5], atol=1e-7)


def test_it_serialises_alone_and_inside_an_optimizer():
    schedule = WarmupCosine(0.5, warmup_steps=3, decay_steps=5, floor=0.01)
    again = keras.optimizers.schedules.deserialize(keras.optimizers.schedules.serialize(schedule))
    assert again.get_config() == schedule.get_config()
    optimizer = keras.optimizers.deserialize(keras.optimizers.serialize(keras.optimizers.SGD(schedule)))
    np.testing.assert_array_equal(float(optimizer.learning_rate), float(schedule(0)))


@pytest.mark.parametrize("arguments", [(-1.0, 1, 1), (1.0, -1, 1), (1.0, 1, 2.5), (1.0, True, 1), (1.0, 1, 1, 2.0)])
def test_bad_arguments(arguments):
    with pytest.raises(ValueError, match="must be"):
        WarmupCosine(*arguments)


def test_a_recipe_ends_exactly_at_the_floor():
    train = TrainSection(epochs=3, batch_size=8)
    schedule = learning_rate(OptimizerSection("sgd", 0.2), ScheduleSection("warmup_cosine", 0.5, 0.02), train, steps_per_epoch=10)
    assert schedule.warmup_steps == 5
    assert schedule.decay_steps == 25
    assert float(schedule(4)) == np.float32(0.2)
    assert float(schedule(29)) > 0.02
    assert float(schedule(30)) == np.float32(0.02)
    assert learning_rate(OptimizerSection("sgd", 0.2), ScheduleSection(), train, 10) == 0.2
    with pytest.raises(ValueError, match="at most the 3 epochs"):
        learning_rate(OptimizerSection("sgd", 0.2), ScheduleSection("warmup_cosine", 4.0), train, 10)
