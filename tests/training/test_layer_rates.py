"""Learning rates and weight decay by layer: with every optimizer, under accumulation, averages, clipping, loss scale and replicas."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_canon.training.distribution import make_strategy
from keras_canon.training.freezing import freeze, unfreeze
from keras_canon.training.gradient_clipping import Clipping
from keras_canon.training.layer_rates import with_layer_rates
from keras_canon.training.loop import train
from keras_canon.training.momentum import ScheduledAdam, ScheduledSGD
from keras_canon.training.optimizers import optimizer_classes
from keras_canon.training.schedules import PiecewiseLinear
from keras_canon.training.updates import UpdateRule
from keras_canon.zoo.errors import CanonError

RATE, FACTOR = 0.02, 0.5


def network():
    keras.utils.set_random_seed(2)
    inputs = keras.Input((4,))
    x = keras.layers.Dense(6, activation="tanh", name="body")(inputs)
    x = keras.layers.Dense(6, activation="tanh", name="body_end")(x)
    return keras.Model(inputs, keras.layers.Dense(3, name="logits")(x))


def batch(examples=12):
    random = np.random.default_rng(0)
    return random.normal(size=(examples, 4)).astype("float32"), np.arange(examples) % 3


def loss():
    return keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def gradients(weights, step):
    random = np.random.default_rng(step)
    return [random.normal(size=weight.shape).astype("float32") for weight in weights]


def moved(optimizer, weights, steps=3):
    for number in range(steps):
        optimizer.apply(gradients(weights, number), weights)
    return [np.array(weight.value) for weight in weights]


def check_against_stock(make):
    """The weights of one layer move as under the stock optimizer with half its rate, all others as under the stock optimizer."""
    ours, full, half = (network() for _ in range(3))
    found = moved(with_layer_rates(make(RATE), ours, {"body": FACTOR}), ours.trainable_variables)
    at_full, at_half = moved(make(RATE), full.trainable_variables), moved(make(RATE * FACTOR), half.trainable_variables)
    for weight, one, other, value in zip(ours.trainable_variables, at_full, at_half, found, strict=True):
        expected = other if weight.path.startswith("body/") else one
        np.testing.assert_allclose(value, expected, rtol=1e-6, atol=1e-7, err_msg=weight.path)
        assert not np.array_equal(one, other)


SOME = ("adafactor", "adamw", "muon", "sgd")  # of each kind of slots; the others run with `-m slow`


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in SOME else [pytest.mark.slow]) for name in sorted(optimizer_classes())]
)
def test_every_optimizer_by_name(name):
    check_against_stock(lambda rate: optimizer_classes()[name](learning_rate=rate))
    check_against_stock(lambda rate: optimizer_classes()[name](learning_rate=rate, weight_decay=0.3))


def test_scheduled_momentum():
    momentum = PiecewiseLinear([0, 2], [0.9, 0.5])
    check_against_stock(lambda rate: ScheduledSGD(momentum, learning_rate=rate, weight_decay=0.1))
    check_against_stock(lambda rate: ScheduledAdam(momentum, learning_rate=rate))


@pytest.mark.parametrize(
    "options", [{"global_clipnorm": 0.5}, {"clipnorm": 0.3}, {"clipvalue": 0.1}, {"use_ema": True, "ema_momentum": 0.5}]
)
def test_clipping_and_averages(options):
    check_against_stock(lambda rate: keras.optimizers.SGD(rate, momentum=0.9, weight_decay=0.1, **options))


def test_accumulation():
    def make(rate):
        return keras.optimizers.Adam(rate, weight_decay=0.2, gradient_accumulation_steps=3)

    check_against_stock(make)
    model = network()
    optimizer = with_layer_rates(make(RATE), model, {"body": FACTOR})
    before = [np.array(weight.value) for weight in model.trainable_variables]
    for one, other in zip(before, moved(optimizer, model.trainable_variables, steps=2), strict=True):
        np.testing.assert_array_equal(one, other)


def one_weight():
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1, use_bias=False, kernel_initializer="ones", name="only")])
    return model, model.trainable_variables


@pytest.mark.parametrize(
    ("rates", "decays", "expected"), [({"only": 0.5}, {}, 0.995), ({}, {"only": 0.5}, 0.995), ({"only": 0.5}, {"only": 0.0}, 1.0)]
)
def test_weight_decay_follows_the_factor(rates, decays, expected):
    model, weights = one_weight()
    optimizer = with_layer_rates(keras.optimizers.SGD(0.1, weight_decay=0.1), model, rates, decays)
    optimizer.apply([np.zeros((1, 1), "float32")], weights)
    np.testing.assert_allclose(weights[0].numpy(), [[expected]], rtol=1e-7)


def test_decay_leaves_alone_what_it_left_alone():
    model = network()
    stock = keras.optimizers.SGD(0.1, weight_decay=0.5)
    stock.exclude_from_weight_decay(var_names=["bias"])
    for weight in model.trainable_variables:
        weight.assign(np.ones(weight.shape))
    optimizer = with_layer_rates(stock, model, {"body": 0.1})
    optimizer.apply([np.zeros(weight.shape, "float32") for weight in model.trainable_variables], model.trainable_variables)
    values = {weight.path: float(np.ravel(weight.value)[0]) for weight in model.trainable_variables}
    assert values["body/kernel"] == pytest.approx(0.995)
    assert values["logits/kernel"] == pytest.approx(0.95)
    assert values["body/bias"] == values["logits/bias"] == 1.0


RULE = UpdateRule(Clipping(global_norm=0.5), micro_batches=3)


@pytest.mark.slow
@pytest.mark.parametrize("scaled", [False, True])
def test_our_loop_on_two_replicas_equals_keras_on_one_device(scaled):
    def compiled(rates, clip):
        model = network()
        stock = keras.optimizers.AdamW(RATE, weight_decay=0.3, **clip)
        optimizer = with_layer_rates(keras.optimizers.LossScaleOptimizer(stock, initial_scale=256.0) if scaled else stock, model, rates)
        model.compile(optimizer, loss(), auto_scale_loss=False, jit_compile=False)
        return model

    rates = {"body": 0.1, "body_end": 0.5}
    inputs, labels = batch()
    data = tf.data.Dataset.from_tensor_slices((inputs, labels)).batch(12)
    one = compiled(rates, {"global_clipnorm": 0.5})
    one.fit(inputs, labels, batch_size=12, epochs=3, verbose=0, shuffle=False)
    with make_strategy("mirrored").scope():
        two = compiled(rates, {})
    train(two, lambda epoch: data, epochs=3, rule=RULE)
    for weight, other in zip(one.trainable_variables, two.trainable_variables, strict=True):
        np.testing.assert_allclose(weight.numpy(), other.numpy(), atol=2e-6, err_msg=weight.path)
    without = compiled({}, {"global_clipnorm": 0.5})
    without.fit(inputs, labels, batch_size=12, epochs=3, verbose=0, shuffle=False)
    assert np.abs(without.trainable_variables[0].numpy() - one.trainable_variables[0].numpy()).max() > 0.01


@pytest.mark.slow
def test_fit_on_two_replicas():
    inputs, labels = batch()
    found = []
    for strategy in (None, make_strategy("mirrored")):
        with strategy.scope() if strategy else tf.device(None):
            model = network()
            model.compile(with_layer_rates(keras.optimizers.SGD(0.1, weight_decay=0.3), model, {"body": 0.1, "logits": 2.0}), loss())
        model.fit(inputs, labels, batch_size=12, epochs=2, verbose=0, shuffle=False)
        found.append(model.get_weights())
    for one, two in zip(*found, strict=True):
        np.testing.assert_allclose(one, two, atol=1e-6)


def test_saved_and_loaded(tmp_path):
    inputs, labels = batch()
    model = network()
    schedule = keras.optimizers.schedules.CosineDecay(0.05, 10)
    model.compile(with_layer_rates(keras.optimizers.AdamW(schedule, weight_decay=0.1), model, {"body": 0.1}, {"logits": 0.0}), loss())
    model.fit(inputs, labels, batch_size=12, epochs=2, verbose=0, shuffle=False)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    optimizer = loaded.optimizer
    assert keras.saving.get_registered_name(type(optimizer)) == "keras_canon>LayerRatesAdamW"
    assert (optimizer.rates, optimizer.decays) == ({"body": 0.1}, {"logits": 0.0})
    for network_ in (model, loaded):
        network_.fit(inputs, labels, batch_size=12, verbose=0, shuffle=False)
    for one, other in zip(model.get_weights(), loaded.get_weights(), strict=True):
        np.testing.assert_array_equal(one, other)


def test_factors_stay_with_their_weights_when_layers_are_frozen():
    model = network()
    model.compile(with_layer_rates(keras.optimizers.SGD(1.0), model, {"body": 0.25, "body_end": 0.5}), loss())
    model.fit(*batch(), verbose=0)
    freeze(model, "body")
    assert dict(zip([weight.path for weight in model.trainable_variables], model.optimizer._factors, strict=True)) == {
        "body_end/kernel": 0.5,
        "body_end/bias": 0.5,
        "logits/kernel": 1.0,
        "logits/bias": 1.0,
    }
    unfreeze(model)
    assert model.optimizer._factors == (0.25, 0.25, 0.5, 0.5, 1.0, 1.0)


def test_names_are_whole_parts_of_paths_and_the_longest_counts():
    inner = keras.Sequential(
        [keras.Input((4,)), keras.layers.Dense(4, name="dense_a"), keras.layers.Dense(4, name="dense_b")], name="inner"
    )
    model = keras.Sequential([keras.Input((4,)), inner, keras.layers.Dense(2, name="dense")])
    optimizer = with_layer_rates(keras.optimizers.SGD(1.0), model, {"": 0.1, "inner": 0.2, "inner/dense_a": 0.3, "dense": 0.4})
    optimizer.build(model.trainable_variables)
    assert optimizer._factors == (0.3, 0.3, 0.2, 0.2, 0.4, 0.4)


def test_a_slash_ties_a_name_to_the_start():
    model = network()
    optimizer = with_layer_rates(keras.optimizers.SGD(1.0), model, {"/body": 0.1, "": 0.5})
    optimizer.build(model.trainable_variables)
    assert optimizer._factors == (0.1, 0.1, 0.5, 0.5, 0.5, 0.5)
    with pytest.raises(CanonError, match="'/kernel'"):
        with_layer_rates(keras.optimizers.SGD(1.0), model, {"/kernel": 0.1})


@pytest.mark.parametrize(
    ("make", "rates", "match"),
    [
        (lambda: keras.optimizers.SGD(0.1), {"bdy": 0.5}, r"'bdy'.*'body'"),
        (lambda: keras.optimizers.SGD(0.1), {"bod": 0.5}, r"'bod'.*'body'"),
        (lambda: keras.optimizers.SGD(0.1), {"body": 0.0}, r"above 0 \(freeze a layer"),
        (lambda: keras.optimizers.SGD(0.1), {"body": -1.0}, "got -1.0 for 'body'"),
        (lambda: keras.optimizers.SGD(0.1), {"body": "fast"}, "must hold numbers"),
        (lambda: "sgd", {"body": 0.1}, "takes an optimizer of Keras, got str"),
    ],
)
def test_bad_input(make, rates, match):
    with pytest.raises(CanonError, match=match):
        with_layer_rates(make(), network(), rates)


def test_an_optimizer_in_use_is_refused():
    model = network()
    optimizer = keras.optimizers.SGD(0.1)
    optimizer.build(model.trainable_variables)
    with pytest.raises(CanonError, match="is in use"):
        with_layer_rates(optimizer, model, {"body": 0.1})
