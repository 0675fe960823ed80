"""From gradients to one move of the weights: case B34, clipping, accumulation, and what advances with an update."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_canon.training.averaging import ExponentialAverage
from keras_canon.training.gradient_clipping import Clipping
from keras_canon.training.loop import train
from keras_canon.training.precision import precision_policy
from keras_canon.training.schedules import PiecewiseLinear
from keras_canon.training.updates import UpdateRule
from keras_canon.zoo.errors import CanonError


def one_weight(optimizer, loss="mse", policy="float32"):
    """M1: one Dense(1) without bias on an input one wide."""
    with precision_policy(policy):
        model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1, use_bias=False, kernel_initializer="zeros")])
    model.compile(optimizer, loss=loss, jit_compile=False)
    return model


def weight(model):
    return float(model.get_weights()[0].squeeze())


def targets(values, batch=1):
    labels = np.asarray(values, "float32")[:, None]
    return tf.data.Dataset.from_tensor_slices((np.ones_like(labels), labels)).batch(batch)


def tiny(labels, outputs):
    return 1e-6 * tf.cast(outputs[:, 0], "float32")


def scaled(inner, initial_scale=32768.0):
    return keras.optimizers.LossScaleOptimizer(inner, initial_scale=initial_scale)


def test_b34_tiny_gradients_do_not_vanish():
    model = one_weight(keras.optimizers.SGD(1.0), tiny, "mixed_float16")
    assert isinstance(model.optimizer, keras.optimizers.LossScaleOptimizer)
    train(model, lambda epoch: targets([0.0]), epochs=1, metrics={})
    np.testing.assert_allclose(weight(model), -1e-6, rtol=1e-3)


@pytest.mark.parametrize(
    "policy", ["mixed_float16", *(pytest.param(name, marks=pytest.mark.slow) for name in ("float32", "mixed_bfloat16"))]
)
@pytest.mark.parametrize("clipping", [Clipping(norm=0.1), Clipping(value=0.1), Clipping(global_norm=0.1)], ids=["norm", "value", "global"])
def test_b34_clipping_is_of_unscaled_gradients(policy, clipping):
    # the gradient is 2 (0 - 0.5) = -1, clipped to -0.1
    model = one_weight(keras.optimizers.SGD(1.0), policy=policy)
    train(model, lambda epoch: targets([0.5]), epochs=1, metrics={}, rule=UpdateRule(clipping))
    np.testing.assert_allclose(weight(model), 0.1, rtol=1e-6)


@pytest.mark.parametrize(
    "clipping",
    [
        Clipping(),
        Clipping(global_norm=100.0),
        pytest.param(Clipping(value=100.0), marks=pytest.mark.slow),
        pytest.param(Clipping(norm=100.0), marks=pytest.mark.slow),
    ],
)
def test_b34_skipped_updates_count_for_nothing(clipping):
    # scaled by 32768 or 16384 the gradient of 6 is beyond float16, by 8192 it is not: the third step is the first update
    rate = PiecewiseLinear([0, 1], [0.1, 0.2])
    model = one_weight(scaled(keras.optimizers.SGD(rate)), policy="mixed_float16")
    average = ExponentialAverage(0.5)
    history = train(
        model,
        lambda epoch: targets([3.0]),
        epochs=3,
        metrics={},
        callbacks=[average],
        rule=UpdateRule(clipping, average=average),
    )
    np.testing.assert_allclose(weight(model), 0.6, rtol=1e-3)
    assert int(model.optimizer.iterations) == 1
    assert float(model.optimizer.dynamic_scale) == 8192.0
    assert int(average.count) == 1
    np.testing.assert_allclose(history["learning_rate"], [0.1, 0.1, 0.1], rtol=1e-6)


def test_clipping_by_hand():
    gradients = [tf.constant([3.0, -4.0]), None, tf.constant([[12.0]])]
    by_value = Clipping(value=3.5).clip(gradients, tf.constant(1.0))
    np.testing.assert_allclose(by_value[0], [3.0, -3.5])
    assert by_value[1] is None
    np.testing.assert_allclose(by_value[2], [[3.5]])
    by_norm = Clipping(norm=10.0).clip(gradients, tf.constant(1.0))  # norms 5 and 12
    np.testing.assert_allclose(by_norm[0], [3.0, -4.0])
    np.testing.assert_allclose(by_norm[2], [[10.0]])
    together = Clipping(global_norm=6.5).clip(gradients, tf.constant(1.0))  # norm 13
    np.testing.assert_allclose(together[0], [1.5, -2.0])
    np.testing.assert_allclose(together[2], [[6.0]])
    doubled = Clipping(global_norm=6.5).clip(gradients, tf.constant(2.0))
    np.testing.assert_allclose(doubled[2], [[12.0]])
    assert Clipping(global_norm=1.0).clip([tf.zeros(3)], tf.constant(1.0))[0].numpy().tolist() == [0.0, 0.0, 0.0]


def test_clipping_is_that_of_keras():
    random = np.random.default_rng(0)
    gradients = [tf.constant(random.normal(size=shape), "float32") for shape in ((3, 4), (5,), (2, 2, 2))]
    for ours, theirs in (
        (Clipping(value=0.5), {"clipvalue": 0.5}),
        (Clipping(norm=1.5), {"clipnorm": 1.5}),
        (Clipping(global_norm=1.5), {"global_clipnorm": 1.5}),
    ):
        variables = [keras.Variable(np.zeros(gradient.shape, "float32")) for gradient in gradients]
        keras.optimizers.SGD(1.0, **theirs).apply(gradients, variables)
        for found, variable in zip(ours.clip(gradients, tf.constant(1.0)), variables, strict=True):
            np.testing.assert_allclose(found, -variable.numpy(), rtol=1e-6)


def test_clipping_hides_no_overflow_and_survives_large_gradients():
    for clipping in (Clipping(value=1.0), Clipping(norm=1.0), Clipping(global_norm=1.0)):
        for bad in (np.inf, -np.inf, np.nan):
            assert not np.all(np.isfinite(clipping.clip([tf.constant([1.0, bad])], tf.constant(1.0))[0]))
    # their squares are beyond float32
    np.testing.assert_allclose(Clipping(norm=5.0).clip([tf.constant([3e30, 4e30])], tf.constant(1.0))[0], [3.0, 4.0], rtol=1e-6)
    for wrong in ({"value": 0.0}, {"norm": -1.0}, {"norm": 1.0, "global_norm": 1.0}):
        with pytest.raises(ValueError, match="At most one limit above 0"):
            Clipping(**wrong)


def network():
    keras.utils.set_random_seed(1)
    inputs = keras.Input((5,), dtype="int32")
    x = keras.layers.Embedding(11, 4)(inputs)
    x = keras.layers.Flatten()(x)
    x = keras.layers.Dense(6, activation="tanh", activity_regularizer="l2", kernel_regularizer="l2")(x)
    outputs = keras.layers.Dense(3)(x)
    model = keras.Model(inputs, outputs)
    rate = PiecewiseLinear([0, 20], [0.1, 0.01])
    optimizer = keras.optimizers.AdamW(rate, weight_decay=0.01)
    model.compile(optimizer, loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True), jit_compile=False)
    return model


def tokens(batch=8):
    random = np.random.default_rng(0)
    inputs, labels = random.integers(0, 11, (29, 5)), random.integers(0, 3, 29)
    return tf.data.Dataset.from_tensor_slices((inputs, labels)).batch(batch)


@pytest.mark.parametrize("parts", [3, *(pytest.param(parts, marks=pytest.mark.slow) for parts in (2, 8))])
def test_accumulation_is_the_whole_batch_left_over_included(parts):
    """Batches of 8, 8, 8 and 5 examples: weights, slots, averages, counters and figures are those of whole batches."""
    found = []
    for micro_batches in (1, parts):
        model, average = network(), ExponentialAverage(0.7)
        history = train(
            model,
            lambda epoch: tokens(),
            epochs=2,
            validation=tokens(),
            callbacks=[average],
            rule=UpdateRule(Clipping(global_norm=0.5), micro_batches, average),
        )
        variables = [variable.numpy() for variable in (*model.variables, *model.optimizer.variables, *average.values)]
        found.append((history, variables, int(model.optimizer.iterations), int(average.count)))
    (history, variables, updates, averaged), (other_history, other_variables, other_updates, other_averaged) = found
    assert updates == averaged == other_updates == other_averaged == 8
    # the penalty on activities is a mean over the examples at hand times their number, and so adds up exactly
    for one, other in zip(variables, other_variables, strict=True):
        np.testing.assert_allclose(one, other, rtol=0.0, atol=2e-5)
    for name in ("loss", "accuracy", "val_loss", "learning_rate"):
        np.testing.assert_allclose(history[name], other_history[name], rtol=1e-4, err_msg=name)


def test_accumulation_with_weights_that_the_loss_does_not_reach_and_dropout():
    class TwoHeads(keras.Model):
        def __init__(self):
            super().__init__()
            self.used, self.unused = keras.layers.Dense(2), keras.layers.Dense(2)
            self.dropout = keras.layers.Dropout(0.5)

        def build(self, shape):
            self.used.build(shape)
            self.unused.build(shape)
            self.built = True

        def call(self, inputs, training=None):
            return self.used(self.dropout(inputs, training=training))

    keras.utils.set_random_seed(0)
    model = TwoHeads()
    model.build((None, 3))
    model.compile(keras.optimizers.SGD(0.1), loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    before = model.unused.kernel.numpy()
    data = tf.data.Dataset.from_tensor_slices((np.ones((6, 3), "float32"), np.array([0, 1, 0, 1, 0, 1]))).batch(6)
    # Keras itself warns of weights without a gradient
    with pytest.warns(UserWarning, match="Gradients do not exist"):
        history = train(model, lambda epoch: data, epochs=2, rule=UpdateRule(micro_batches=4))
    assert np.all(np.isfinite(history["loss"]))
    np.testing.assert_array_equal(model.unused.kernel.numpy(), before)


def test_batch_normalisation_sees_the_parts():
    keras.utils.set_random_seed(0)
    norm = keras.layers.BatchNormalization(momentum=0.5)
    model = keras.Sequential([keras.Input((1,)), norm])
    model.compile(keras.optimizers.SGD(0.0), loss="mse")
    data = tf.data.Dataset.from_tensor_slices((np.array([[0.0], [0.0], [8.0], [8.0]], "float32"), np.zeros((4, 1), "float32"))).batch(4)
    train(model, lambda epoch: data, epochs=1, metrics={}, rule=UpdateRule(micro_batches=2))
    # 0.5 (0.5 0 + 0.5 0) + 0.5 8
    np.testing.assert_allclose(norm.moving_mean.numpy(), [4.0])
    assert norm.moving_variance.numpy()[0] < 0.3


def test_b37_a_loss_scale_hides_no_second_master_of_the_rate():
    model = one_weight(scaled(keras.optimizers.SGD(PiecewiseLinear([0, 1], [0.1, 0.2]))), policy="mixed_float16")
    with pytest.raises(CanonError, match=r"PiecewiseLinear.*ReduceLROnPlateau"):
        train(model, lambda epoch: targets([1.0]), epochs=1, metrics={}, callbacks=[keras.callbacks.ReduceLROnPlateau()])
