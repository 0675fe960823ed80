"""Schedules: every value by hand (case B37), serialisation, and what a recipe asks for."""

from typing import get_args, get_type_hints

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_canon.training.recipe import load_recipe
from keras_canon.training.schedule_section import ScheduleSection
from keras_canon.training.schedules import (
    Chain,
    Constant,
    CosineRestarts,
    InverseSquareRoot,
    PiecewiseLinear,
    Triangular,
    Warmup,
    WarmupCosine,
    learning_rate,
    momentum,
    one_cycle,
    one_cycle_momentum,
    plateau_callback,
)
from keras_canon.training.sections import OptimizerSection, TrainSection
from keras_canon.zoo.errors import CanonError

# cos(30 degrees) = sqrt(3) / 2, so the first step of the way down is (1 + 0.8660254) / 2
B37 = [0.25, 0.5, 0.75, 1.0, 1.0, 0.9330127, 0.75, 0.5, 0.25, 0.0669873, 0.0, 0.0]
# (1 + cos 45 degrees) / 2 and (1 + cos 135 degrees) / 2
HIGH, LOW = 0.8535534, 0.1464466


def values(schedule, steps):
    if isinstance(schedule, float):
        return np.full(len(steps), schedule)
    return np.array([float(schedule(step)) for step in steps])


def section(name, **keys):
    return ScheduleSection(name, **keys)


def from_recipe(schedule, epochs=2, steps_per_epoch=4, rate=1.0):
    return learning_rate(OptimizerSection("sgd", rate), schedule, TrainSection(epochs=epochs, batch_size=8), steps_per_epoch)


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


STEPS = [0, 1, 2, 3, 4, 5, 6, 7, 8, 100]
# 2 epochs of 4 updates, highest rate 1; each row is worked out by hand, first update, peak, last update and after the end included
BY_HAND = [
    (section("constant"), STEPS, [1.0] * 10),
    (section("constant", warmup_epochs=1.0), STEPS, [0.25, 0.5, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]),
    (section("linear"), STEPS, [1.0, 0.875, 0.75, 0.625, 0.5, 0.375, 0.25, 0.125, 0.0, 0.0]),
    (section("linear", warmup_epochs=1.0, floor=0.2), STEPS, [0.25, 0.5, 0.75, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2, 0.2]),
    (section("step", factor=0.1, every_epochs=1.0), STEPS, [1.0, 1.0, 1.0, 1.0, 0.1, 0.1, 0.1, 0.1, 0.01, 1e-25]),
    (section("step", factor=0.5, every_epochs=0.5, warmup_epochs=0.5), STEPS, [0.5, 1.0, 1.0, 1.0, 0.5, 0.5, 0.25, 0.25, 0.125, 0.5**49]),
    (section("multi_step", factor=0.1, milestones=(0.5, 1.5)), STEPS, [1.0, 1.0, 0.1, 0.1, 0.1, 0.1, 0.01, 0.01, 0.01, 0.01]),
    (
        section("multi_step", factor=0.1, milestones=(0.5, 1.0), warmup_epochs=0.5),
        STEPS,
        [0.5, 1.0, 1.0, 1.0, 0.1, 0.1, 0.01, 0.01, 0.01, 0.01],
    ),
    # a factor of 0.0625 an epoch of four updates is one half at each
    (section("exponential", factor=0.0625), STEPS, [1.0, 0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625, 0.0078125, 0.00390625, 0.5**100]),
    (section("polynomial", power=2.0), STEPS, [1.0, 0.765625, 0.5625, 0.390625, 0.25, 0.140625, 0.0625, 0.015625, 0.0, 0.0]),
    # one half, one third and a tenth of the steps' inverse roots: (4 / 16)^0.5, (4 / 36)^0.5, (4 / 400)^0.5
    (
        section("inverse_square_root", warmup_epochs=1.0),
        [0, 1, 2, 3, 8, 15, 35, 63, 99, 399],
        [0.25, 0.5, 0.75, 1.0, 2 / 3, 0.5, 1 / 3, 0.25, 0.2, 0.1],
    ),
    (section("cosine"), [0, 2, 4, 6, 8, 100], [1.0, HIGH, 0.5, LOW, 0.0, 0.0]),
    (section("cosine", warmup_epochs=1.0, floor=0.5), STEPS, [0.25, 0.5, 0.75, 1.0, 1.0, 0.5 + HIGH / 2, 0.75, 0.5 + LOW / 2, 0.5, 0.5]),
    (section("cosine_restarts", cycle_epochs=1.0), STEPS, [1.0, HIGH, 0.5, LOW, 1.0, HIGH, 0.5, LOW, 1.0, 1.0]),
    # cycles of 2, 4 and 8 updates start at 0, 2, 6 and 14
    (
        section("cosine_restarts", cycle_epochs=0.5, growth=2, floor=0.0),
        [0, 1, 2, 3, 4, 5, 6, 10, 14, 22],
        [1.0, 0.5, 1.0, HIGH, 0.5, LOW, 1.0, 0.5, 1.0, 0.5],
    ),
    (section("triangular", cycle_epochs=1.0), STEPS, [0.0, 0.5, 1.0, 0.5, 0.0, 0.5, 1.0, 0.5, 0.0, 0.0]),
    (section("triangular", cycle_epochs=1.0, floor=0.2, shrink=0.5), STEPS, [0.2, 0.6, 1.0, 0.6, 0.2, 0.4, 0.6, 0.4, 0.2, 0.2]),
    # the way up and down takes 3 updates each, the tail is one
    (section("one_cycle", start=0.1, tail=0.1), STEPS, [0.1, 0.4, 0.7, 1.0, 0.7, 0.4, 0.1, 0.0, 0.0, 0.0]),
    (section("plateau", factor=0.5, patience=1), STEPS, [1.0] * 10),
    (
        section("constant", epochs=1.0, then=(section("linear", learning_rate=0.5),)),
        STEPS,
        [1.0, 1.0, 1.0, 1.0, 0.5, 0.375, 0.25, 0.125, 0.0, 0.0],
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("schedule", "steps", "expected"), BY_HAND, ids=lambda value: value.name if isinstance(value, ScheduleSection) else ""
)
def test_every_schedule_by_hand(schedule, steps, expected):
    found = from_recipe(schedule)
    np.testing.assert_allclose(values(found, steps), expected, rtol=1e-5, atol=1e-6)
    if not isinstance(found, float):
        again = keras.optimizers.schedules.deserialize(keras.optimizers.schedules.serialize(found))
        assert type(again) is type(found)
        assert again.get_config() == found.get_config()
        np.testing.assert_array_equal(values(again, steps), values(found, steps))
        optimizer = keras.optimizers.deserialize(keras.optimizers.serialize(keras.optimizers.SGD(found)))
        assert float(optimizer.learning_rate) == float(found(0))


def test_every_schedule_is_in_the_table():
    assert {schedule.name for schedule, _, _ in BY_HAND} == set(get_args(get_type_hints(ScheduleSection)["name"]))


def test_the_transformers_rate_is_equation_3():
    peak = (512 * 4000) ** -0.5
    schedule = InverseSquareRoot(peak, 4000)
    for step in (1, 100, 4000, 4001, 100_000):
        expected = 512**-0.5 * min(step**-0.5, step * 4000**-1.5)
        np.testing.assert_allclose(float(schedule(step - 1)), expected, rtol=1e-6)


def test_restarts_are_not_an_update_off_in_long_runs():
    schedule = CosineRestarts(1.0, cycle_steps=1000, growth=3)
    start = 1000 * (3**12 - 1) // 2  # of the thirteenth cycle: 265,720,000
    assert float(schedule(start)) == 1.0
    assert float(schedule(start - 1)) < 1e-6
    assert float(CosineRestarts(1.0, 999)(999 * 10**6)) == 1.0


def test_one_cycle_and_its_momentum_mirror_each_other():
    rate, follow = one_cycle(1.0, 101, tail=0.2), one_cycle_momentum((0.85, 0.95), 101, tail=0.2)
    steps = [0, 20, 40, 60, 80, 90, 100, 200]
    np.testing.assert_allclose(values(rate, steps), [0.1, 0.55, 1.0, 0.55, 0.1, 0.05, 0.0, 0.0], atol=1e-6)
    np.testing.assert_allclose(values(follow, steps), [0.95, 0.9, 0.85, 0.9, 0.95, 0.95, 0.95, 0.95], atol=1e-6)
    assert np.argmax(values(rate, range(101))) == np.argmin(values(follow, range(101))) == 40
    found = momentum(section("one_cycle", momentum=(0.85, 0.95), tail=0.2), TrainSection(epochs=1, batch_size=1), 101)
    assert found.get_config() == follow.get_config()
    assert momentum(section("one_cycle"), TrainSection(epochs=1, batch_size=1), 101) is None


@pytest.mark.parametrize("total", range(4, 40))
def test_one_cycle_reaches_its_peak_and_its_floor_in_runs_of_any_length(total):
    found = values(one_cycle(0.4, total, floor=0.01), range(total + 2))
    assert found.max() == np.float32(0.4)
    assert found[total - 1] == found[total] == np.float32(0.01)
    assert found[0] == np.float32(0.04)


def test_schedules_take_the_counters_of_optimizers_inside_a_graph():
    for schedule, _, _ in BY_HAND:
        found = from_recipe(schedule)
        if not isinstance(found, float):
            compiled = tf.function(found, input_signature=[tf.TensorSpec((), "int64")], autograph=False)
            np.testing.assert_allclose(float(compiled(5)), float(found(5)), rtol=1e-6)


@pytest.mark.parametrize("arguments", [(-1.0, 1, 1), (1.0, -1, 1), (1.0, 1, 2.5), (1.0, True, 1), (1.0, 1, 1, 2.0)])
def test_bad_arguments(arguments):
    with pytest.raises(ValueError, match="must be"):
        WarmupCosine(*arguments)


@pytest.mark.parametrize(
    "make",
    [
        lambda: CosineRestarts(1.0, 0),
        lambda: CosineRestarts(1.0, 4, growth=1.5),
        lambda: Triangular(1.0, 4, floor=2.0),
        lambda: Triangular(1.0, 4, shrink=0.0),
        lambda: PiecewiseLinear([2, 2], [1.0, 1.0]),
        lambda: PiecewiseLinear([1, 2], [1.0]),
        lambda: PiecewiseLinear([1, 2], [1.0, -1.0]),
        lambda: one_cycle(1.0, 3),
        lambda: one_cycle(1.0, 30, start=2.0),
        lambda: one_cycle(1.0, 30, tail=1.0),
        lambda: one_cycle_momentum((0.95, 0.85), 30),
        lambda: Constant(-1.0),
        lambda: Warmup(0.1, 3),
        lambda: Warmup(Constant(1.0), -1),
        lambda: Chain([], []),
        lambda: Chain([Constant(1.0), Constant(0.5)], []),
        lambda: Chain([Constant(1.0)] * 3, [5, 5]),
        lambda: InverseSquareRoot(1.0, 0),
    ],
)
def test_bad_arguments_of_the_others(make):
    with pytest.raises(ValueError, match="must be"):
        make()


@pytest.mark.parametrize(
    ("name", "keys", "match"),
    [
        ("constant", {"floor": 0.1}, "floor does nothing to the schedule 'constant'"),
        ("cosine", {"power": 2.0}, "power does nothing"),
        ("one_cycle", {"warmup_epochs": 1.0}, "warmup_epochs does nothing"),
        ("plateau", {"factor": 0.5, "patience": 2, "warmup_epochs": 1.0}, "warmup_epochs does nothing"),
        ("step", {"factor": 0.1}, "needs the key 'every_epochs'"),
        ("step", {"factor": 1.0, "every_epochs": 1.0}, "above 0 and below 1"),
        ("inverse_square_root", {}, "needs the key 'warmup_epochs'"),
        ("multi_step", {"factor": 0.1, "milestones": (2.0, 1.0)}, "ascending"),
        ("multi_step", {"factor": 0.1, "milestones": ()}, "at least one"),
        ("cosine", {"warmup_epochs": -1.0}, "at least 0"),
        ("constant", {"then": (ScheduleSection("cosine"),)}, "needs the key 'epochs'"),
        ("constant", {"epochs": 1.0, "then": (ScheduleSection("cosine", epochs=1.0),)}, "to the end of the run"),
        ("constant", {"epochs": 1.0, "then": (ScheduleSection("plateau", factor=0.5, patience=2),)}, "plateau cannot be part"),
    ],
)
def test_keys_that_do_nothing_or_are_missing_are_refused(name, keys, match):
    with pytest.raises(ValueError, match=match):
        ScheduleSection(name, **keys)


def test_a_recipe_ends_exactly_at_the_floor():
    schedule = from_recipe(section("cosine", warmup_epochs=0.5, floor=0.02), epochs=3, steps_per_epoch=10, rate=0.2)
    assert schedule.warmup_steps == 5
    assert schedule.decay_steps == 25
    assert float(schedule(4)) == np.float32(0.2)
    assert float(schedule(29)) > 0.02
    assert float(schedule(30)) == np.float32(0.02)
    with pytest.raises(ValueError, match="at most the 3 epochs"):
        from_recipe(section("cosine", warmup_epochs=4.0), epochs=3)
    with pytest.raises(ValueError, match="floor must be at most"):
        from_recipe(section("cosine", floor=2.0))
    with pytest.raises(ValueError, match="must end within the 2 epochs"):
        from_recipe(section("constant", epochs=2.0, then=(section("cosine"),)))


def test_b37_a_plateau_is_a_callback_and_a_number():
    callback = plateau_callback(section("plateau", factor=0.5, patience=2, floor=0.01), "val_accuracy")
    assert (callback.factor, callback.patience, callback.min_lr, callback.mode) == (0.5, 2, 0.01, "max")
    assert plateau_callback(section("cosine"), "val_loss") is None


def test_keys_of_a_chain_are_for_a_chain():
    with pytest.raises(CanonError, match=r"optimizer\.learning_rate"):
        load_recipe("lenet5_digits", {"schedule.learning_rate": 0.1})
    with pytest.raises(CanonError, match=r"train\.epochs"):
        load_recipe("lenet5_digits", {"schedule.epochs": 3})
