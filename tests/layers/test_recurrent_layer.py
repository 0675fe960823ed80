"""`LSTM` and `GRU` as layers: against Keras's own, against our cells, masks, states, directions, precision, bad arguments."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from checks.recurrent import MASK, assert_same, both_ways, randomise, sequence

from keras_canon.layers import GRU, LSTM, Bidirectional, StackedRNN

PAIRS = [
    pytest.param(LSTM, keras.layers.LSTM, {}, id="lstm"),
    pytest.param(LSTM, keras.layers.LSTM, {"use_bias": False}, id="lstm_without_bias"),
    pytest.param(GRU, keras.layers.GRU, {}, id="gru"),
    pytest.param(GRU, keras.layers.GRU, {"use_bias": False}, id="gru_without_bias"),
    pytest.param(GRU, keras.layers.GRU, {"reset_after": False}, id="gru_reset_before"),
]
BOTH = pytest.mark.parametrize("cls", [LSTM, GRU])


@pytest.mark.parametrize(("ours", "theirs", "init"), PAIRS)
@pytest.mark.parametrize("mask", [pytest.param(None, marks=pytest.mark.slow), MASK], ids=["no_mask", "mask"])
@pytest.mark.parametrize(
    "options",
    [
        {"return_sequences": True, "return_state": True},
        pytest.param({}, marks=pytest.mark.slow),
        {"go_backwards": True, "return_sequences": True},
    ],
)
def test_equals_keras_with_the_same_weights(ours, theirs, init, mask, options):
    ours, theirs = ours(5, **init, **options), theirs(5, **init, **options)
    both_ways(ours, theirs, sequence())
    mask = None if mask is None else tf.constant(mask)
    for training in (False, True):
        assert_same(ours, theirs, sequence(), mask=mask, training=training)


@pytest.mark.parametrize(("ours", "theirs", "init"), PAIRS)
def test_equals_its_own_cell_step_by_step(ours, theirs, init):
    layer = ours(5, return_sequences=True, **init)
    layer(sequence())
    randomise(layer)
    cell = type(layer.cell).from_config(layer.cell.get_config())
    stepped = keras.layers.RNN(cell, return_sequences=True)
    both_ways(layer, stepped, sequence())
    for training in (False, True):
        assert_same(layer, stepped, sequence(), mask=tf.constant(MASK), training=training)
    shared = keras.layers.RNN(layer.cell, return_sequences=True)
    np.testing.assert_allclose(shared(sequence()), layer(sequence()), atol=1e-6)


@BOTH
@pytest.mark.parametrize("training", [False, True])
def test_gradient_reaches_the_initial_state(cls, training):
    layer = cls(5, return_state=True)
    layer(sequence())
    randomise(layer)
    start = [tf.constant(sequence(6, 1, 5, seed=index)[:, 0]) for index in range(len(layer.cell.state_sizes))]
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(start)
        found = layer(sequence(), initial_state=start, mask=tf.constant(MASK), training=training)
        wanted = keras.layers.RNN(layer.cell, return_state=True)(sequence(), initial_state=start, mask=tf.constant(MASK))
        losses = [tf.add_n([tf.reduce_sum(item**2) for item in outputs[1:]]) for outputs in (found, wanted)]
    for one, two in zip(*(tape.gradient(loss, start) for loss in losses), strict=True):
        np.testing.assert_allclose(one, two, atol=1e-5)


@BOTH
def test_masked_steps_repeat_the_state_or_give_zero(cls):
    layer = cls(5, return_sequences=True)
    zeroing = cls(5, return_sequences=True, zero_output_for_mask=True)
    both_ways(layer, zeroing, sequence())
    start = [np.full((6, 5), 0.3, "float32")] * len(layer.cell.state_sizes)
    outputs = layer(sequence(), mask=MASK, initial_state=start).numpy()
    before = np.concatenate([np.full((6, 1, 5), 0.3, "float32"), outputs[:, :-1]], axis=1)
    np.testing.assert_array_equal(outputs[~MASK], before[~MASK])
    zeroed = zeroing(sequence(), mask=MASK, initial_state=start).numpy()
    assert not zeroed[~MASK].any()
    np.testing.assert_array_equal(zeroed[MASK], outputs[MASK])


@BOTH
@pytest.mark.parametrize("training", [False, True])
def test_padding_anywhere_equals_the_sequence_without_it(cls, training):
    layer = cls(5)
    real = sequence(1, 4)
    wanted = layer(real, training=training)
    for steps in ([0, 1, 2, 3], [2, 3, 4, 5], [0, 1, 4, 5]):
        padded = np.full((1, 6, 4), 7.0, "float32")
        padded[:, steps] = real
        mask = np.isin(np.arange(6), steps)[None]
        np.testing.assert_allclose(layer(padded, mask=mask, training=training), wanted, atol=1e-6)


@BOTH
def test_b05_embedding_mask_reaches_the_layer(cls):
    embedding = keras.layers.Embedding(9, 4, mask_zero=True)
    layer = cls(5)
    padded = layer(embedding(np.array([[3, 4, 5, 0, 0]])))
    np.testing.assert_allclose(padded, layer(embedding(np.array([[3, 4, 5]]))), atol=1e-6)


@BOTH
@pytest.mark.filterwarnings("error")
def test_b05_the_mask_goes_on_and_the_loss_counts_real_steps_only(cls):
    inputs = keras.Input((3, 1))
    sequences = keras.layers.Masking(0.0)(inputs)
    outputs = cls(1, return_sequences=True)(sequences)
    model = keras.Model(inputs, keras.layers.Dense(1, kernel_initializer="zeros", bias_initializer="zeros")(outputs))
    model.compile(loss="mae", weighted_metrics=["mae"], optimizer="sgd")
    loss, metric = model.evaluate(np.array([[[1.0], [0.0], [1.0]]]), np.array([[[0.0], [1.0], [1.0]]]), verbose=0)
    # |0 - 0| and |0 - 1| over the two real steps; 2/3 if the masked step were counted.
    assert loss == pytest.approx(0.5)
    assert metric == pytest.approx(0.5)


@BOTH
def test_mask_of_a_backwards_layer_is_in_the_order_of_its_outputs(cls):
    outputs = cls(5, return_sequences=True, go_backwards=True)(keras.layers.Masking()(np.array([[[1.0], [2.0], [0.0]]])))
    np.testing.assert_array_equal(keras.ops.convert_to_numpy(outputs._keras_mask), [[False, True, True]])


@BOTH
def test_b09_stateful_names_both_batch_sizes_and_changes_after_reset(cls):
    layer = cls(5, stateful=True)
    first = layer(sequence(1)).numpy()
    assert not np.allclose(layer(sequence(1)), first)
    remembered = [item.numpy() for item in layer.memory.states(1)]
    with pytest.raises(ValueError, match=r"remembers a batch of 1, got a batch of 2; call reset_state\(\)"):
        layer(sequence(2))
    for item, value in zip(layer.memory.states(1), remembered, strict=True):
        np.testing.assert_array_equal(item.numpy(), value)
    layer.reset_state()
    assert layer(sequence(2)).shape == (2, 5)
    layer.reset_state()
    np.testing.assert_array_equal(layer(sequence(1)), first)


@BOTH
@pytest.mark.parametrize("training", [False, True])
def test_b09_two_and_two_steps_equal_four(cls, training):
    layer = cls(5, stateful=True, return_sequences=True)
    whole = layer(sequence(3, 4), training=training).numpy()
    layer.reset_state()
    halves = [layer(sequence(3, 4)[:, part], training=training).numpy() for part in (slice(0, 2), slice(2, 4))]
    np.testing.assert_allclose(np.concatenate(halves, axis=1), whole, atol=1e-6)


@BOTH
def test_b09_stateful_in_a_compiled_model(cls):
    model = keras.Sequential([keras.Input(batch_shape=(2, 4, 3)), cls(5, stateful=True)])
    model.compile()
    first = model.predict(sequence(2, 4, 3), verbose=0)
    second = model.predict(sequence(2, 4, 3), verbose=0)
    assert not np.allclose(first, second)
    model.layers[0].reset_state()
    np.testing.assert_allclose(model.predict(sequence(2, 4, 3), verbose=0), first, atol=1e-6)
    with pytest.raises(ValueError, match="fixed batch size"):
        cls(5, stateful=True)(keras.Input((4, 3)))


@BOTH
def test_stateful_state_is_made_inside_a_traced_function(cls):
    layer = cls(5, stateful=True)
    layer.build((1, 4, 3))
    layer.reset_state()
    step = tf.function(lambda inputs: layer(inputs), autograph=False)
    first = step(sequence(2, 4, 3)).numpy()
    assert not np.allclose(step(sequence(2, 4, 3)), first)
    layer.reset_state()
    np.testing.assert_allclose(step(sequence(2, 4, 3)), first, atol=1e-6)


@BOTH
@pytest.mark.parametrize("training", [False, True])
def test_unknown_and_empty_batch_and_time(cls, training):
    layer = cls(5, return_sequences=True, return_state=True)
    layer.build((None, None, 4))
    run = tf.function(lambda inputs: layer(inputs, training=training), autograph=False, input_signature=[tf.TensorSpec((None, None, 4))])
    for batch, steps in ((2, 3), (4, 9), (0, 3), (2, 1)):
        outputs, *states = run(sequence(batch, steps))
        assert outputs.shape == (batch, steps, 5)
        assert all(state.shape == (batch, 5) for state in states)
        np.testing.assert_allclose(outputs, layer(sequence(batch, steps))[0], atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("cls", [LSTM, GRU])
def test_fit_learns_in_the_compiled_step_that_keras_chooses(cls):
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.Input((None, 4)), cls(8), keras.layers.Dense(1)])
    model.compile(loss="mse", optimizer=keras.optimizers.Adam(0.05))
    inputs = sequence(32, 6)
    history = model.fit(inputs, inputs[:, -1, :1], epochs=30, verbose=0).history["loss"]
    assert history[-1] < 0.2 * history[0]


@BOTH
@pytest.mark.parametrize(
    "policy", ["mixed_float16", *(pytest.param(name, marks=pytest.mark.slow) for name in ("mixed_bfloat16", "float64"))]
)
def test_other_precisions_train(cls, policy):
    layer, reference = cls(5, return_sequences=True, dtype=policy), cls(5, return_sequences=True)
    both_ways(reference, layer, sequence())
    with tf.GradientTape() as tape:
        outputs = layer(sequence(), training=True)
        loss = tf.reduce_sum(outputs)
    assert outputs.dtype == layer.compute_dtype
    tolerance = {"mixed_float16": 5e-3, "mixed_bfloat16": 5e-2, "float64": 1e-6}[policy]
    np.testing.assert_allclose(tf.cast(outputs, "float32"), reference(sequence()), atol=tolerance)
    assert all(np.isfinite(item).all() for item in tape.gradient(loss, [weight.value for weight in layer.trainable_weights]))


@BOTH
def test_dropout_takes_the_same_features_at_every_step(cls):
    layer = cls(5, dropout=0.5, seed=3)
    inputs = np.ones((2, 6, 40), "float32")
    dropped = layer.input_dropout(inputs, training=True).numpy()
    assert set(np.unique(dropped)) == {0.0, 2.0}
    np.testing.assert_array_equal(dropped, np.repeat(dropped[:, :1], 6, axis=1))
    assert not np.allclose(layer(inputs, training=True), layer(inputs))
    np.testing.assert_array_equal(layer(inputs), layer(inputs))


@BOTH
def test_regularisers_give_losses(cls):
    layer = cls(5, kernel_regularizer="l2", recurrent_regularizer=keras.regularizers.L1(0.1))
    layer(sequence())
    wanted = 0.01 * np.sum(layer.cell.kernel.numpy() ** 2) + 0.1 * np.sum(np.abs(layer.cell.recurrent_kernel.numpy()))
    assert float(sum(layer.losses)) == pytest.approx(wanted, rel=1e-5)


def test_second_order_gradients_need_the_plain_loop():
    inputs = tf.constant(sequence())
    for implementation in ("loop", "auto"):
        layer = LSTM(5, implementation=implementation)
        with tf.GradientTape() as outer:
            outer.watch(inputs)
            with tf.GradientTape() as inner:
                inner.watch(inputs)
                loss = tf.reduce_sum(layer(inputs, training=True))
            squared = tf.reduce_sum(inner.gradient(loss, inputs) ** 2)
        if implementation == "loop":
            assert np.any(outer.gradient(squared, inputs))
        else:
            with pytest.raises(ValueError, match="first order only: set implementation='loop'"):
                outer.gradient(squared, inputs)


@BOTH
@pytest.mark.parametrize(
    ("init", "message"),
    [
        ({"units": 0}, "units must be an integer of at least 1, got 0"),
        ({"units": 5, "use_bias": 2}, "use_bias must be one of True, False, got 2"),
        ({"units": 5, "dropout": 1.0}, "dropout must be at least 0 and below 1, got 1.0"),
        ({"units": 5, "return_sequences": "yes"}, "return_sequences must be one of True, False, got 'yes'"),
        ({"units": 5, "return_state": None}, "return_state must be one of True, False, got None"),
        ({"units": 5, "go_backwards": 3}, "go_backwards must be one of True, False, got 3"),
        ({"units": 5, "stateful": "no"}, "stateful must be one of True, False, got 'no'"),
        ({"units": 5, "zero_output_for_mask": 7}, "zero_output_for_mask must be one of True, False, got 7"),
        ({"units": 5, "implementation": "gpu"}, "implementation must be one of 'auto', 'loop', 'cudnn', got 'gpu'"),
    ],
)
def test_bad_arguments(cls, init, message):
    with pytest.raises(ValueError, match=message):
        cls(**init)


@BOTH
def test_bad_inputs(cls):
    with pytest.raises(ValueError, match=rf"{cls.__name__} expects input of shape \(batch, time, features\)"):
        cls(5)(np.ones((2, 4), "float32"))
    with pytest.raises(ValueError, match=r"initial_state must hold one \(batch, 5\) for each of h.*got \[\(2, 4\)\]"):
        cls(5)(np.ones((2, 3, 4), "float32"), initial_state=[np.ones((2, 4), "float32")])
    with pytest.raises(ValueError, match="implementation must be 'auto' or 'loop' here, got 'cudnn'"):
        cls(5, implementation="cudnn")(np.ones((2, 3, 4), "float32"))


def test_the_mask_of_the_sequences_reaches_a_layer_that_is_given_states():
    """Keras fills in `mask` for a single tensor only, so padding would be read as data as soon as there are states."""
    ids = np.array([[3, 4, 0, 0]], "int32")
    states = [np.full((1, 5), 0.3, "float32")]
    embedding = keras.layers.Embedding(9, 4, mask_zero=True)
    layers = [GRU(5), Bidirectional(GRU(5)), StackedRNN([GRU(5, return_sequences=True, return_state=True), GRU(5, return_state=True)])]
    for layer in layers:
        start = [tf.constant(item) for item in states * (1 if layer is layers[0] else 2)]
        for found, expected in zip(
            tf.nest.flatten(layer(embedding(ids), initial_state=start)),
            tf.nest.flatten(layer(embedding(ids[:, :2]), initial_state=start)),
            strict=True,
        ):
            np.testing.assert_allclose(found, expected, atol=1e-6)
