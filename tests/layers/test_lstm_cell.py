"""`LSTMCell`: peepholes against the equations, counts, the forget gate's bias."""

import keras
import numpy as np
import pytest
from checks.recurrent import both_ways, randomise, run_cell, sequence

from keras_canon.layers import LSTMCell


def sigmoid(value):
    return 1 / (1 + np.exp(-value))


@pytest.mark.parametrize("peepholes", [True, False])
def test_equals_the_equations(peepholes):
    layer = run_cell(LSTMCell(5, peepholes=peepholes))
    layer(sequence())
    randomise(layer)
    kernel, recurrent, bias, *peephole = layer.get_weights()
    to_input, to_forget, to_output = peephole[0] if peepholes else np.zeros((3, 5))
    hidden, cell = np.zeros((6, 5)), np.zeros((6, 5))
    outputs = layer(sequence()).numpy()
    for time in range(10):
        update, forget, candidate, output = np.split(sequence()[:, time] @ kernel + hidden @ recurrent + bias, 4, axis=1)
        update, forget = sigmoid(update + to_input * cell), sigmoid(forget + to_forget * cell)
        cell = forget * cell + update * np.tanh(candidate)
        hidden = sigmoid(output + to_output * cell) * np.tanh(cell)
        np.testing.assert_allclose(outputs[:, time], hidden, atol=1e-5)


def test_equals_keras_with_other_activations():
    init = {"activation": "softsign", "recurrent_activation": "hard_sigmoid"}
    ours, theirs = run_cell(LSTMCell(5, **init)), keras.layers.LSTM(5, return_sequences=True, **init)
    both_ways(ours, theirs, sequence())
    np.testing.assert_allclose(ours(sequence()), theirs(sequence()), atol=1e-6)


def test_b10_count_of_parameters():
    cell = LSTMCell(5)
    cell.build((None, 4))
    assert cell.count_params() == 200


@pytest.mark.parametrize(("unit_forget_bias", "value"), [(True, 1.0), (False, 0.5)])
def test_bias_of_the_forget_gate_starts_at_one(unit_forget_bias, value):
    cell = LSTMCell(3, unit_forget_bias=unit_forget_bias, bias_initializer=keras.initializers.Constant(0.5))
    cell.build((None, 4))
    np.testing.assert_array_equal(cell.bias, [0.5] * 3 + [value] * 3 + [0.5] * 6)


@pytest.mark.parametrize(
    ("init", "message"),
    [
        ({"units": True}, "units must be an integer of at least 1, got True"),
        ({"units": 5, "peepholes": "all"}, "peepholes must be one of True, False, got 'all'"),
        ({"units": 5, "unit_forget_bias": 2}, "unit_forget_bias must be one of True, False, got 2"),
    ],
)
def test_bad_arguments(init, message):
    with pytest.raises(ValueError, match=message):
        LSTMCell(**init)
