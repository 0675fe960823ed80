"""Optimizers by name, decay and penalties that spare biases and normalisation, and momentum that follows a schedule."""

import keras
import numpy as np
import pytest

from keras_canon.training.momentum import ScheduledAdam, ScheduledSGD
from keras_canon.training.optimizers import build_optimizer, is_decayed, optimizer_classes
from keras_canon.training.penalties import add_penalties
from keras_canon.training.schedules import PiecewiseLinear
from keras_canon.training.sections import OptimizerSection
from keras_canon.zoo.errors import CanonError


def everything():
    """A model with biases that are matrices: those of gated recurrent units and of attention heads."""
    inputs = keras.Input((4, 6))
    x = keras.layers.GRU(4, return_sequences=True, bias_initializer="ones")(inputs)
    x = keras.layers.MultiHeadAttention(2, 3)(x, x)
    x = keras.layers.LayerNormalization()(x)
    x = keras.layers.BatchNormalization()(x)
    return keras.Model(inputs, keras.layers.Dense(2)(keras.layers.Flatten()(x)))


@pytest.fixture(scope="module")
def model():
    return everything()


@pytest.mark.parametrize("name", sorted(optimizer_classes()))
def test_every_optimizer_of_keras_can_be_named_and_moves_weights(name):
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(4), keras.layers.Dense(2)])
    optimizer = build_optimizer(OptimizerSection(name, 0.1), 0.1, model)
    assert type(optimizer).__name__.lower() == name
    weights = model.trainable_variables
    before = [weight.numpy() for weight in weights]
    optimizer.build(weights)
    for _ in range(2):
        optimizer.apply([keras.ops.ones_like(weight) for weight in weights], weights)
    for weight, value in zip(weights, before, strict=True):
        assert np.all(np.isfinite(weight.numpy()))
        assert not np.array_equal(weight.numpy(), value), weight.path


def test_all_that_keras_offers_is_in_the_list():
    expected = {"adadelta", "adafactor", "adagrad", "adam", "adamax", "adamw", "ftrl", "lamb", "lion", "muon", "nadam", "rmsprop", "sgd"}
    assert expected <= set(optimizer_classes())
    assert "lossscaleoptimizer" not in optimizer_classes()


def test_biases_and_normalisation_are_told_by_name_and_shape(model):
    decayed = {weight.path for weight in model.trainable_variables if is_decayed(weight)}
    assert {path.split("/")[-1] for path in decayed} == {"kernel", "recurrent_kernel"}
    matrices = {weight.path for weight in model.trainable_variables if len(weight.shape) >= 2}
    assert len(matrices - decayed) == 4  # of the unit, and of query, key and value


@pytest.mark.parametrize("name", ["adamw", *(pytest.param(name, marks=pytest.mark.slow) for name in ("adam", "lion", "sgd"))])
def test_decay_leaves_biases_and_normalisation_alone(name):
    model = everything()
    optimizer = build_optimizer(OptimizerSection(name, 1.0, {"weight_decay": 0.5}), 1.0, model)
    weights = model.trainable_variables
    for weight in weights:
        weight.assign(keras.ops.ones_like(weight))
    optimizer.build(weights)
    optimizer.apply([keras.ops.zeros_like(weight) for weight in weights], weights)
    for weight in weights:
        assert weight.numpy().ravel()[0] == (0.5 if is_decayed(weight) else 1.0), weight.path


def test_penalties_leave_biases_and_normalisation_alone():
    model = everything()
    add_penalties(model)
    assert model.losses == []
    add_penalties(model, l1=0.1, l2=0.01)
    expected = 0.0
    for weight in model.trainable_variables:
        if is_decayed(weight):
            expected += 0.1 * np.abs(weight.numpy()).sum() + 0.01 * np.square(weight.numpy()).sum()
    np.testing.assert_allclose(float(sum(model.losses)), expected, rtol=1e-5)


def test_a_penalty_of_the_builder_stays():
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2, kernel_regularizer=keras.regularizers.L2(1.0))])
    add_penalties(model, l2=0.1)
    np.testing.assert_allclose(float(sum(model.losses)), np.square(model.get_weights()[0]).sum(), rtol=1e-6)


MOMENTUM = PiecewiseLinear([0, 2], [0.9, 0.5])


@pytest.mark.parametrize("nesterov", [False, True])
def test_scheduled_momentum_by_hand(nesterov):
    variable = keras.Variable(np.array([1.0], "float32"))
    optimizer = ScheduledSGD(MOMENTUM, learning_rate=0.1, nesterov=nesterov)
    weight, velocity = 1.0, 0.0
    for momentum, gradient in ((0.9, 1.0), (0.7, -2.0), (0.5, 3.0), (0.5, 1.0)):
        optimizer.apply([np.array([gradient], "float32")], [variable])
        velocity = momentum * velocity - 0.1 * gradient
        weight += momentum * velocity - 0.1 * gradient if nesterov else velocity
        np.testing.assert_allclose(variable.numpy(), [weight], rtol=1e-6)


def test_a_scheduled_beta_by_hand():
    variable = keras.Variable(np.array([1.0], "float32"))
    optimizer = ScheduledAdam(MOMENTUM, learning_rate=0.1, epsilon=0.0)
    weight, first, second = 1.0, 0.0, 0.0
    for step, (beta, gradient) in enumerate(((0.9, 1.0), (0.7, -2.0), (0.5, 3.0)), 1):
        optimizer.apply([np.array([gradient], "float32")], [variable])
        first, second = beta * first + (1.0 - beta) * gradient, 0.999 * second + 0.001 * gradient**2
        weight -= 0.1 * first / (1.0 - beta**step) / np.sqrt(second / (1.0 - 0.999**step))
        np.testing.assert_allclose(variable.numpy(), [weight], rtol=1e-4)
    np.testing.assert_allclose(optimizer.beta_1, 0.9, rtol=1e-6)


@pytest.mark.parametrize("constant", [0.9])
def test_a_constant_schedule_is_stock(constant):
    schedule, random = PiecewiseLinear([0], [constant]), np.random.default_rng(0)
    pairs = (
        (ScheduledSGD(schedule, learning_rate=0.1), keras.optimizers.SGD(0.1, momentum=constant)),
        (ScheduledAdam(schedule, learning_rate=0.1, weight_decay=0.01), keras.optimizers.AdamW(0.1, beta_1=constant, weight_decay=0.01)),
    )
    for ours, stock in pairs:
        variables = [keras.Variable(np.ones(3, "float32")) for _ in range(2)]
        for _ in range(4):
            gradient = random.normal(size=3).astype("float32")
            for optimizer, variable in zip((ours, stock), variables, strict=True):
                optimizer.apply([gradient], [variable])
        np.testing.assert_allclose(variables[0].numpy(), variables[1].numpy(), rtol=1e-5)
        again = keras.optimizers.deserialize(keras.optimizers.serialize(ours))
        assert type(again) is type(ours)
        assert again.momentum_schedule.get_config() == schedule.get_config()


def test_a_recipes_momentum_schedule(model):
    for name, kind in (("sgd", ScheduledSGD), ("adam", ScheduledAdam), ("adamw", ScheduledAdam)):
        optimizer = build_optimizer(OptimizerSection(name, 0.1), 0.1, model, MOMENTUM)
        assert type(optimizer) is kind
        assert optimizer.weight_decay == (0.004 if name == "adamw" else None)
    with pytest.raises(CanonError, match="only sgd, adam and adamw"):
        build_optimizer(OptimizerSection("lion", 0.1), 0.1, model, MOMENTUM)
    with pytest.raises(ValueError, match="above 0 and below 1"):
        ScheduledSGD(PiecewiseLinear([0, 1], [0.0, 0.5]))


@pytest.mark.parametrize(
    ("section", "match"),
    [
        (OptimizerSection("agd", 0.1), "sgd"),
        (OptimizerSection("adam", 0.1, {"momentum": 0.9}), "'momentum': allowed: .*beta_1"),
        (OptimizerSection("sgd", 0.1, {"use_ema": True}), r"'use_ema'.*does nothing in a run: use \[average\]"),
        (OptimizerSection("sgd", 0.1, {"clipnorm": 1.0}), "use optimizer.clip_norm"),
        (OptimizerSection("sgd", 0.1, {"global_clipnorm": 1.0}), "use optimizer.clip_global_norm"),
        (OptimizerSection("sgd", 0.1, {"gradient_accumulation_steps": 4}), "use train.micro_batches"),
        (OptimizerSection("sgd", 0.1, {"loss_scale_factor": 2.0}), "use train.precision"),
        (OptimizerSection("sgd", 0.1, {"momentum": 3.0}), "cannot be built"),
    ],
)
def test_bad_names_and_options(section, match, model):
    with pytest.raises(CanonError, match=match):
        build_optimizer(section, 0.1, model)
