import itertools
import json
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf
from golden.rule import state

from keras_canon.layers import MultiHeadAttention, RelativePositionBias

GOLDEN = Path(__file__).parents[1] / "golden" / "sequence"
RANDOM = np.random.RandomState(2)


def normal(*shape):
    return RANDOM.standard_normal(shape).astype("float32")


def assign_torch(layer, arrays, prefix=""):
    """Give a built layer the weights of a torch.nn.MultiheadAttention, which stacks query, key and value."""
    kernels = np.split(arrays[f"{prefix}in_proj_weight"], 3)
    biases = np.split(arrays[f"{prefix}in_proj_bias"], 3)
    layer.set_weights(
        [item for kernel, bias in zip(kernels, biases, strict=True) for item in (kernel.T, bias)]
        + [arrays[f"{prefix}out_proj.weight"].T, arrays[f"{prefix}out_proj.bias"]]
    )


def random_weights(layer):
    layer.set_weights([0.3 * normal(*w.shape) for w in layer.get_weights()])


@pytest.mark.parametrize("name", ["causal", "padded"])
def test_golden(name):
    golden = json.loads((GOLDEN / f"multi_head_attention_{name}.json").read_text())
    query, memory = (np.asarray(golden["inputs"][key], "float32") for key in ("query", "key_value"))
    layer = MultiHeadAttention(4, 16, causal=golden["arguments"]["causal"])
    layer.build(query.shape, memory.shape)
    assign_torch(layer, state(golden))
    assert layer.count_params() == golden["trainable_parameters"]
    output, weights = layer(query, memory, value_mask=~np.asarray(golden["inputs"]["key_is_padding"]), return_weights=True)
    np.testing.assert_allclose(output, golden["outputs"]["output"]["values"], atol=1e-5)
    np.testing.assert_allclose(weights, golden["outputs"]["weights"]["values"], atol=1e-5)


@pytest.mark.parametrize("mode", ["plain", "causal", "masked", "cross"])
def test_agrees_with_keras_with_the_same_weights(mode):
    query, memory, mask = normal(3, 6, 12), normal(3, 7, 10), np.ones((3, 6, 6), bool)
    mask[0, :, 4:], mask[1, 2, 1:], mask[2, :, 0] = False, False, False
    memory = memory if mode == "cross" else query
    ours, theirs = MultiHeadAttention(4, 12, key_dim=5, value_dim=3, causal=mode == "causal"), keras.layers.MultiHeadAttention(4, 5, 3)
    options = {"attention_mask": mask} if mode == "masked" else {}
    ours(query, memory)
    random_weights(ours)
    theirs.build(query.shape, memory.shape)
    theirs.set_weights([w.reshape(other.shape) for w, other in zip(ours.get_weights(), theirs.get_weights(), strict=True)])
    found = ours(query, memory, return_weights=True, **options)
    expected = theirs(query, memory, return_attention_scores=True, use_causal_mask=mode == "causal", **options)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)
    np.testing.assert_allclose(ours(query, memory, **options), expected[0], atol=1e-5)


def test_shared_key_value_heads_are_repeated_heads():
    inputs, mask = normal(2, 5, 8), RANDOM.rand(2, 5, 5) > 0.3
    bias = normal(1, 4, 5, 5)
    grouped, full = MultiHeadAttention(4, 8, num_key_value_heads=2, causal=True), MultiHeadAttention(4, 8, causal=True)
    grouped(inputs, inputs)
    full(inputs, inputs)
    random_weights(grouped)
    weights = grouped.get_weights()
    for index in range(2, 6):  # kernels and biases of keys and values
        heads = weights[index].reshape(*weights[index].shape[:-1], 2, 2)
        weights[index] = np.repeat(heads, 2, axis=-2).reshape(*weights[index].shape[:-1], 8)
    full.set_weights(weights)
    for options in ({}, {"attention_mask": mask, "bias": bias}, {"bias": bias[:, :1]}, {"attention_mask": mask[:, None].repeat(4, 1)}):
        found, expected = (layer(inputs, inputs, return_weights=True, **options) for layer in (grouped, full))
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-6)


def test_masks_are_combined():
    query, memory = normal(2, 3, 8), normal(2, 5, 8)
    query_mask = np.asarray([[True, True, True], [True, False, True]])
    value_mask = np.asarray([[True] * 5, [True, True, True, False, False]])
    key_mask = np.asarray([[False] + [True] * 4, [True] * 5])
    attention_mask = RANDOM.rand(2, 4, 3, 5) > 0.2
    layer = MultiHeadAttention(4, 8, causal=True)
    masks = {"query_mask": query_mask, "value_mask": value_mask, "key_mask": key_mask, "attention_mask": attention_mask}
    _, weights = layer(query, memory, memory, return_weights=True, **masks)
    causal = np.asarray([[j <= i + 2 for j in range(5)] for i in range(3)])
    seen = causal & query_mask[:, None, :, None] & (value_mask & key_mask)[:, None, None, :] & attention_mask
    np.testing.assert_array_equal(weights.numpy() > 0, seen)
    np.testing.assert_allclose(weights.numpy().sum(-1), seen.any(-1), atol=1e-6)


def test_bias_is_added_to_the_scores():
    inputs = normal(2, 5, 8)
    layer, bias = MultiHeadAttention(2, 8), RelativePositionBias(2, num_buckets=8, max_distance=6)(normal(2, 5, 8))
    _, plain = layer(inputs, inputs, return_weights=True)
    _, biased = layer(inputs, inputs, bias=bias, return_weights=True)
    parts = plain * np.exp(bias)
    np.testing.assert_allclose(biased, parts / parts.numpy().sum(-1, keepdims=True), atol=1e-5)


@pytest.mark.parametrize("policy", ["float32", "mixed_float16"])
def test_b01_query_that_sees_nothing(policy):
    keras.utils.set_random_seed(1)
    inputs, mask = normal(1, 4, 8), np.ones((1, 4, 4), bool)
    mask[0, 1] = False
    layer, reference = MultiHeadAttention(2, 8, dtype=policy), MultiHeadAttention(2, 8)
    reference(inputs, inputs)
    layer(inputs, inputs)
    layer.set_weights(reference.get_weights())
    with tf.GradientTape() as tape:
        output, weights = layer(inputs, inputs, attention_mask=mask, return_weights=True)
        loss = tf.reduce_sum(tf.cast(output, "float32") ** 2)
    gradients = tape.gradient(loss, [w.value for w in layer.trainable_weights])
    assert np.all(weights.numpy()[:, :, 1] == 0.0)
    assert all(np.all(np.isfinite(item)) for item in [output, weights, *gradients])
    np.testing.assert_allclose(tf.cast(output, "float32"), reference(inputs, inputs, attention_mask=mask), atol=2e-3)


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("dropout", [0.0, 0.1])
@pytest.mark.parametrize("heads", [4, 2])
def test_b03_no_path_drops_the_causal_mask(weights, dropout, heads):
    layer = MultiHeadAttention(4, 8, causal=True, dropout=dropout, num_key_value_heads=heads)
    inputs = normal(1, 4, 8)
    changed = inputs.copy()
    changed[:, 3] += 5.0
    calls = [layer, tf.function(layer), tf.function(layer, jit_compile=True)]
    for call, training in itertools.product(calls[:1] if dropout else calls, (False, True) if not dropout else (False,)):
        before, after = (call(item, item, return_weights=weights, training=training) for item in (inputs, changed))
        if weights:
            assert np.all(np.triu(before[1].numpy(), 1) == 0.0)
            before, after = before[0], after[0]
        assert np.all(before[:, :3] == after[:, :3])
        assert np.any(before[:, 3] != after[:, 3])


def test_b03_training_with_dropout_stays_causal():
    layer = MultiHeadAttention(2, 8, causal=True, dropout=0.5)
    inputs = tf.constant(normal(1, 4, 8))
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        loss = tf.reduce_sum(layer(inputs, inputs, training=True)[:, :3])
    assert np.all(tape.gradient(loss, inputs)[:, 3] == 0.0)


def test_b11_one_initializer_gives_different_kernels():
    builds = []
    for _ in range(2):
        keras.utils.set_random_seed(5)
        layer = MultiHeadAttention(2, 8, kernel_initializer=keras.initializers.GlorotUniform())
        layer.build((None, None, 8), (None, None, 8))
        builds.append([w for w in layer.get_weights() if w.ndim == 2])
    assert all(not np.array_equal(one, other) for one, other in itertools.combinations(builds[0], 2))
    for one, other in zip(*builds, strict=True):
        np.testing.assert_array_equal(one, other)


def test_fewer_queries_than_keys_are_the_last_steps():
    inputs = normal(2, 6, 8)
    for base in (None, 10000.0):
        layer = MultiHeadAttention(2, 8, causal=True, rotary_base=base)
        np.testing.assert_allclose(layer(inputs[:, 4:], inputs), layer(inputs, inputs)[:, 4:], atol=1e-5)


@pytest.mark.parametrize("options", [{}, {"num_key_value_heads": 1, "rotary_base": 100.0, "value_dim": 3}])
def test_cached_steps_equal_the_full_pass(options):
    """Rows start with prompts of 3, 5 and 1 steps; then every row takes 4 more, the last row leaving one call out."""
    inputs, lengths = normal(3, 9, 8), np.asarray([3, 5, 1])
    layer = MultiHeadAttention(2, 8, causal=True, **options)
    full = layer(inputs, inputs).numpy()
    step = tf.function(lambda x, mask, cache: layer(x, x, value_mask=mask, cache=cache, return_weights=True))
    prompt = np.where(np.arange(5)[None, :, None] < lengths[:, None, None], inputs[:, :5], np.float32(1e3))
    output, weights, cache = step(tf.constant(prompt), tf.constant(np.arange(5) < lengths[:, None]), layer.initial_cache(3, 9))
    assert weights.shape == (3, 2, 5, 9)
    for row, length in enumerate(lengths):
        np.testing.assert_allclose(output[row, :length], full[row, :length], atol=1e-5)
    positions = lengths.copy()
    for number in range(4):
        active = np.asarray([True, True, number != 1])
        output, _, cache = step(tf.constant(inputs[np.arange(3), positions][:, None]), tf.constant(active[:, None]), cache)
        for row in np.flatnonzero(active):
            np.testing.assert_allclose(output[row, 0], full[row, positions[row]], atol=1e-5)
        positions += active
        np.testing.assert_array_equal(cache["position"], positions)
    assert step.experimental_get_tracing_count() == 2


def test_a_full_cache_gives_nan_not_a_wrong_step():
    layer = MultiHeadAttention(2, 8, causal=True)
    cache = {**layer.initial_cache(2, 4), "position": tf.constant([3, 4])}
    output, cache = layer(normal(2, 1, 8), normal(2, 1, 8), cache=cache)
    assert np.isnan(output).all(axis=(1, 2)).tolist() == [False, True]
    assert np.isfinite(output[0]).all()


def test_cache_in_a_functional_model():
    layer = MultiHeadAttention(2, 8, causal=True)
    inputs = keras.Input((1, 8))
    cache = {
        "key": keras.Input((2, 6, 4)),
        "value": keras.Input((2, 6, 4)),
        "position": keras.Input((), dtype="int32"),
    }
    output, new = layer(inputs, inputs, cache=cache)
    assert output.shape == (None, 1, 8)
    assert new["position"].dtype == "int32"
    model = keras.Model([inputs, cache], [output, new])
    found, after = model([tf.constant(normal(2, 1, 8)), layer.initial_cache(2, 6)])
    assert found.shape == (2, 1, 8)
    assert after["position"].numpy().tolist() == [1, 1]


def test_empty_batch_and_unknown_lengths():
    layer = MultiHeadAttention(2, 8, causal=True)
    model = keras.Model(inputs := keras.Input((None, 8)), layer(inputs, inputs))
    assert model(normal(0, 3, 8)).shape == (0, 3, 8)
    inputs = normal(2, 5, 8)
    np.testing.assert_allclose(model(inputs), layer(inputs, inputs), atol=1e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_heads": 0}, "num_heads must be an integer of at least 1, got 0"),
        ({"model_dim": 10}, "model_dim must be a multiple of num_heads, got model_dim=10 and num_heads=4"),
        ({"key_dim": -1}, "key_dim must be an integer of at least 1, got -1"),
        ({"value_dim": 1.5}, "value_dim must be an integer of at least 1, got 1.5"),
        ({"num_key_value_heads": 3}, "num_heads must be a multiple of num_key_value_heads, got num_heads=4 and num_key_value_heads=3"),
        ({"dropout": 1.0}, "dropout must be at least 0 and below 1, got 1.0"),
        ({"scale": "no"}, "scale must be a number, got 'no'"),
        ({"rotary_base": 0.5}, "rotary_base must be at least 1.0, got 0.5"),
        ({"rotary_base": 100.0, "key_dim": 3}, "key_dim must be even with rotary positions, got 3"),
        ({"rotary_pairing": "odd"}, "rotary_pairing must be one of 'interleaved', 'halves', got 'odd'"),
    ],
)
def test_bad_arguments(options, message):
    with pytest.raises(ValueError, match=message):
        MultiHeadAttention(**{"num_heads": 4, "model_dim": 8, **options})


def test_bad_calls():
    layer, inputs = MultiHeadAttention(2, 8), normal(2, 3, 8)
    with pytest.raises(ValueError, match=r"\(value\) expects input of shape \(batch, steps, width\) \(3 axes\), got \(2, 8\)"):
        layer(inputs, inputs[:, 0])
    with pytest.raises(ValueError, match="key must have as many steps as value, got 2 and 3"):
        MultiHeadAttention(2, 8)(inputs, inputs, inputs[:, :2])
    with pytest.raises(ValueError, match="cache needs causal=True"):
        layer(inputs, inputs, cache=layer.initial_cache(2, 4))
    with pytest.raises(ValueError, match="attention_mask must be boolean"):
        layer(inputs, inputs, attention_mask=np.zeros((3, 3), "float32"))
    with pytest.raises(ValueError, match="max_length must be an integer of at least 1, got 0"):
        layer.initial_cache(2, 0)
