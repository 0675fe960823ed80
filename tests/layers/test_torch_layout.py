"""Weights in torch's layout, against outputs that torch computed from them."""

import numpy as np
import pytest
from checks.recurrent import expected, golden, run_cell

from keras_canon.layers import GRU, LSTM, ElmanCell, elman_from_torch, gru_from_torch, lstm_from_torch


def arrays(state, suffix="_l0"):
    return [state[f"{name}{suffix}"] for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]


@pytest.mark.parametrize(("cls", "convert", "name"), [(LSTM, lstm_from_torch, "lstm"), (GRU, gru_from_torch, "gru")])
@pytest.mark.parametrize("training", [False, True])
def test_b10_golden(cls, convert, name, training):
    record, state, inputs = golden(name)
    layer = cls(5, return_sequences=True, return_state=True)
    layer(inputs)
    layer.set_weights(convert(*arrays(state)))
    outputs, *states = layer(inputs, training=training)
    np.testing.assert_allclose(outputs, expected(record, "sequence"), atol=1e-5)
    for key, found in zip(("final_hidden", "final_cell"), states, strict=False):
        np.testing.assert_allclose(found, expected(record, key)[0], atol=1e-5)


@pytest.mark.parametrize(("layer", "convert", "count"), [
    (run_cell(ElmanCell(3, use_bias=False)), elman_from_torch, 1),
    (LSTM(3, use_bias=False), lstm_from_torch, 4),
    (GRU(3, use_bias=False), gru_from_torch, 3),
])  # fmt: skip
def test_layers_without_bias(layer, convert, count):
    weights = convert(np.ones((3 * count, 2)), np.ones((3 * count, 3)))
    layer.build((1, 4, 2))
    layer.set_weights(weights)
    assert [item.shape for item in weights] == [(2, 3 * count), (3, 3 * count)]


def test_arrays_handed_in_stay_as_they_are():
    _, state, _ = golden("gru")
    copies = [item.copy() for item in arrays(state)]
    gru_from_torch(*arrays(state))
    for one, other in zip(arrays(state), copies, strict=True):
        np.testing.assert_array_equal(one, other)
