"""`Bidirectional`: torch's two-layer network, padding anywhere, merges, states, bad arguments."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from checks.recurrent import MASK, assert_same, both_ways, expected, golden, sequence

from keras_canon.layers import GRU, LSTM, Bidirectional, StackedRNN, lstm_from_torch

BOTH = pytest.mark.parametrize("cls", [LSTM, GRU])


def test_golden_two_layers():
    record, state, inputs = golden("lstm_bidirectional_2_layers")
    model = StackedRNN([Bidirectional(LSTM(5, return_sequences=True, return_state=True)) for _ in range(2)])
    model(inputs)
    weights = []
    for suffix in ("_l0", "_l0_reverse", "_l1", "_l1_reverse"):
        weights += lstm_from_torch(*(state[f"{name}{suffix}"] for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")))
    model.set_weights(weights)
    outputs, *states = model(inputs)
    np.testing.assert_allclose(outputs, expected(record, "sequence"), atol=1e-5)
    np.testing.assert_allclose(np.stack(states[0::2]), expected(record, "final_hidden"), atol=1e-5)
    np.testing.assert_allclose(np.stack(states[1::2]), expected(record, "final_cell"), atol=1e-5)


@BOTH
@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("wrapper", [Bidirectional, pytest.param(keras.layers.Bidirectional, marks=pytest.mark.slow)])
def test_b04_padding_is_not_read_wherever_it_lies(cls, training, wrapper):
    layer = wrapper(cls(5, return_sequences=True))
    real = sequence(1, 4)
    wanted = layer(real, training=training).numpy()
    for steps in ([0, 1, 2, 3], [2, 3, 4, 5], [0, 1, 4, 5]):
        padded = np.full((1, 6, 4), 9.0, "float32")
        padded[:, steps] = real
        mask = np.isin(np.arange(6), steps)[None]
        outputs = layer(tf.constant(padded), mask=tf.constant(mask), training=training).numpy()
        np.testing.assert_allclose(outputs[:, steps], wanted, atol=1e-6)
        assert not outputs[~mask].any()
    nothing = layer(tf.constant(padded), mask=tf.zeros((1, 6), "bool"), training=training)
    assert not np.any(nothing)


@BOTH
def test_b04_last_outputs_and_rows_without_real_steps(cls):
    layer = Bidirectional(cls(5))
    outputs = layer(sequence(), mask=MASK).numpy()
    np.testing.assert_allclose(outputs[1], layer(sequence()[1:2, :5])[0], atol=1e-6)
    np.testing.assert_allclose(outputs[2], layer(sequence()[2:3, 3:])[0], atol=1e-6)
    assert not outputs[5].any()


@BOTH
@pytest.mark.parametrize("merge_mode", ["concat", None, *(pytest.param(mode, marks=pytest.mark.slow) for mode in ("sum", "mul", "ave"))])
def test_equals_keras_wrapper(cls, merge_mode):
    theirs = {LSTM: keras.layers.LSTM, GRU: keras.layers.GRU}[cls]
    options = {"return_sequences": True, "return_state": True}
    ours = Bidirectional(cls(5, **options), merge_mode=merge_mode)
    theirs = keras.layers.Bidirectional(theirs(5, **options), merge_mode=merge_mode)
    both_ways(ours, theirs, sequence())
    assert_same(ours, theirs, sequence(), mask=tf.constant(MASK), training=True)


@BOTH
def test_initial_states_go_to_their_direction(cls):
    options = {"return_sequences": True, "return_state": True}
    layer = Bidirectional(cls(5, **options))
    layer(sequence())
    count = 2 * len(layer.forward_layer.cell.state_sizes)
    states = [sequence(6, 1, 5, seed=index)[:, 0] for index in range(count)]
    outputs, *_ = layer(sequence(), initial_state=states)
    forward, *_ = layer.forward_layer(sequence(), initial_state=states[: count // 2])
    backward, *_ = layer.backward_layer(sequence(), initial_state=states[count // 2 :])
    np.testing.assert_allclose(outputs, np.concatenate([forward, backward[:, ::-1]], axis=-1), atol=1e-6)


def test_wraps_layers_of_keras_and_zeroes_their_masked_outputs():
    layer = Bidirectional(keras.layers.SimpleRNN(3, return_sequences=True))
    outputs = layer(sequence(), mask=tf.constant(MASK)).numpy()
    assert not outputs[~MASK].any()
    assert np.abs(outputs[MASK]).min() > 0


def test_stateful_directions_are_reset_together():
    layer = Bidirectional(LSTM(3, stateful=True))
    first = layer(sequence()).numpy()
    assert not np.allclose(layer(sequence()), first)
    layer.reset_state()
    np.testing.assert_array_equal(layer(sequence()), first)


def test_b11_directions_start_different():
    layer = Bidirectional(LSTM(4, kernel_initializer=keras.initializers.RandomNormal()))
    layer(sequence())
    assert not np.array_equal(layer.forward_layer.cell.kernel, layer.backward_layer.cell.kernel)


def test_layer_handed_in_stays_untouched():
    inner = LSTM(4)
    layer = Bidirectional(inner)
    layer(sequence())
    assert not inner.built
    assert not inner.go_backwards


@pytest.mark.parametrize(
    ("init", "message"),
    [
        ({"layer": "lstm"}, "layer must hold Keras layers, got 'lstm'"),
        ({"layer": keras.layers.Dense(3)}, "layer must be a recurrent layer with go_backwards"),
        ({"layer": LSTM(3), "merge_mode": "max"}, "merge_mode must be one of 'concat', 'sum', 'mul', 'ave', None, got 'max'"),
        ({"layer": LSTM(3), "backward_layer": LSTM(3)}, "backward_layer's go_backwards must differ from layer's, got False and False"),
        (
            {"layer": LSTM(3), "backward_layer": LSTM(3, go_backwards=True, return_sequences=True)},
            "backward_layer's return_sequences must equal layer's, got True and False",
        ),
    ],
)
def test_bad_arguments(init, message):
    with pytest.raises(ValueError, match=message):
        Bidirectional(**init)


def test_bad_input():
    with pytest.raises(ValueError, match=r"Bidirectional expects input of shape \(batch, time, features\)"):
        Bidirectional(LSTM(3))(np.ones((2, 3), "float32"))
