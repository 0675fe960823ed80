import json
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_canon.layers import GroupNormalization

GOLDEN = json.loads((Path(__file__).parents[1] / "golden/sequence/functions.json").read_text())
MAP = np.array(GOLDEN["inputs"]["map_nhwc"], "float32")


def test_golden():
    record = GOLDEN["outputs"]["group_norm_3_groups_eps1e-5"]
    expected = np.array(record["values"], "float32").reshape(record["shape"])
    assert np.max(np.abs(GroupNormalization(groups=3, epsilon=1e-5)(MAP) - expected)) <= 1e-5


@pytest.mark.parametrize("shape", [(2, 7, 5, 6), (2, 9, 6), (4, 6), (2, 3, 4, 2, 6)])
@pytest.mark.parametrize("groups", [1, 2, 3])
def test_equals_keras(shape, groups):
    random = np.random.RandomState(0)
    x = random.standard_normal(shape).astype("float32") * 3 + 1
    ours, theirs = GroupNormalization(groups, epsilon=1e-3), keras.layers.GroupNormalization(groups, epsilon=1e-3)
    ours.build(shape)
    theirs.build(shape)
    weights = [random.standard_normal(6), random.standard_normal(6)]
    ours.set_weights(weights)
    theirs.set_weights(weights)
    np.testing.assert_allclose(ours(x), theirs(x), atol=1e-5)


@pytest.mark.parametrize("dtype", ["mixed_float16", "mixed_bfloat16", "float16"])
def test_b07_values_above_the_range_of_float16(dtype):
    x = np.random.RandomState(0).uniform(60000, 70000, (2, 16, 16, 8)).astype("float32")
    found = np.asarray(GroupNormalization(groups=4, dtype=dtype)(x), "float32").reshape(2, 256, 4, 2)
    assert np.all(np.isfinite(found))
    assert np.max(np.abs(found.mean(axis=(1, 3)))) <= 1e-2
    assert np.max(np.abs(found.var(axis=(1, 3)) - 1.0)) <= 1e-2


def test_b07_groups_that_do_not_divide_the_channels():
    with pytest.raises(ValueError, match="channels must be a multiple of groups, got channels=10 and groups=4"):
        GroupNormalization(groups=4).build((None, 8, 8, 10))
    with pytest.raises(ValueError, match="channels must be a multiple of groups, got channels=16 and groups=32"):
        GroupNormalization().build((None, 8, 8, 16))


def test_variance_keeps_its_digits_beside_a_large_mean():
    x = np.float32(4096.0) + np.random.RandomState(0).standard_normal((1, 8, 8, 4)).astype("float32")
    found = np.asarray(GroupNormalization(groups=2)(x))
    wide = x.astype("float64").reshape(1, 64, 2, 2)
    expected = (wide - wide.mean((1, 3), keepdims=True)) / np.sqrt(wide.var((1, 3), keepdims=True) + 1e-5)
    np.testing.assert_allclose(found, expected.reshape(x.shape), atol=1e-3)


def test_padding_does_not_change_the_statistics():
    random = np.random.RandomState(0)
    x = random.standard_normal((2, 6, 4)).astype("float32")
    mask = np.array([[1, 1, 1, 0, 0, 0], [1, 1, 1, 1, 1, 0]], bool)
    x[~mask] = np.nan
    layer = GroupNormalization(groups=2)
    found = np.asarray(layer(x, mask=mask))
    np.testing.assert_allclose(found[0, :3], layer(x[:1, :3])[0], atol=1e-6)
    np.testing.assert_allclose(found[1, :5], layer(x[1:, :5])[0], atol=1e-6)


def test_unknown_sizes_and_empty_batch():
    inputs = keras.Input((None, None, 6))
    model = keras.Model(inputs, GroupNormalization(groups=3)(inputs))
    assert model.output_shape == (None, None, None, 6)
    np.testing.assert_allclose(model(MAP), GroupNormalization(groups=3)(MAP), atol=1e-6)
    assert GroupNormalization(groups=3)(np.ones((0, 7, 5, 6), "float32")).shape == (0, 7, 5, 6)


def test_b11_scale_and_shift_from_one_initializer_differ():
    shared = keras.initializers.RandomNormal()
    layer = GroupNormalization(groups=2, beta_initializer=shared, gamma_initializer=shared)
    layer.build((None, 4, 8))
    assert not np.array_equal(layer.gamma, layer.beta)


def test_bad_arguments():
    with pytest.raises(ValueError, match="groups must be an integer of at least 1, got 0"):
        GroupNormalization(groups=0)
    with pytest.raises(ValueError, match=r"epsilon must be at least 0.0, got -1"):
        GroupNormalization(epsilon=-1)
    with pytest.raises(ValueError, match=r"known channels, got \(None, 4, None\)"):
        GroupNormalization().build((None, 4, None))


def test_gradients_are_those_of_keras_also_where_the_mean_is_large():
    ours, peer = GroupNormalization(4), keras.layers.GroupNormalization(4, epsilon=1e-5)
    inputs = tf.random.normal((3, 5, 6, 8), mean=3.0, seed=1)
    factor = tf.random.normal((3, 5, 6, 8), seed=2)
    gradients = []
    for layer in (ours, peer):
        layer(inputs)
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            loss = tf.reduce_sum(layer(inputs) * factor)
        gradients.append(tape.gradient(loss, [inputs, *(weight.value for weight in layer.trainable_weights)]))
    for found, expected in zip(*gradients, strict=True):
        np.testing.assert_allclose(found, expected, atol=2e-5)
