"""Optimizers by name, and decay that spares vectors."""

import keras
import pytest

from keras_canon.training.optimizers import build_optimizer, optimizer_classes
from keras_canon.training.sections import OptimizerSection
from keras_canon.zoo.errors import CanonError


@pytest.fixture(scope="module")
def model():
    return keras.Sequential([keras.Input((3,)), keras.layers.Dense(4), keras.layers.BatchNormalization(), keras.layers.Dense(2)])


@pytest.mark.parametrize("name", sorted(optimizer_classes()))
def test_every_optimizer_of_keras_can_be_named(name, model):
    optimizer = build_optimizer(OptimizerSection(name, 0.1), 0.1, model)
    assert type(optimizer).__name__.lower() == name


def test_decay_leaves_biases_and_normalisation_alone(model):
    optimizer = build_optimizer(OptimizerSection("sgd", 1.0, {"weight_decay": 0.5}), 1.0, model)
    model_copy = keras.models.clone_model(model)
    optimizer = build_optimizer(OptimizerSection("sgd", 1.0, {"weight_decay": 0.5}), 1.0, model_copy)
    weights = model_copy.trainable_variables
    for weight in weights:
        weight.assign(keras.ops.ones_like(weight))
    optimizer.apply([keras.ops.zeros_like(weight) for weight in weights], weights)
    for weight in weights:
        expected = 0.5 if len(weight.shape) == 2 else 1.0
        assert keras.ops.convert_to_numpy(weight).ravel()[0] == expected


@pytest.mark.parametrize(
    ("section", "match"),
    [
        (OptimizerSection("agd", 0.1), "sgd"),
        (OptimizerSection("adam", 0.1, {"momentum": 0.9}), "'momentum': allowed: .*beta_1"),
        (OptimizerSection("sgd", 0.1, {"use_ema": True}), "'use_ema'"),
        (OptimizerSection("sgd", 0.1, {"momentum": 3.0}), "cannot be built"),
    ],
)
def test_bad_names_and_options(section, match, model):
    with pytest.raises(CanonError, match=match):
        build_optimizer(section, 0.1, model)
