"""`JordanCell` against the equations in plain numpy."""

import numpy as np
import pytest
from checks.recurrent import randomise, run_cell, sequence

from keras_canon.layers import JordanCell


@pytest.mark.parametrize("decay", [0.0, 0.4])
def test_equals_the_equations(decay):
    layer = run_cell(JordanCell(5, output_units=3, decay=decay))
    layer(sequence())
    randomise(layer)
    kernel, recurrent, bias, output_kernel, output_bias = layer.get_weights()
    state = np.zeros((6, 3))
    outputs = layer(sequence()).numpy()
    for time in range(10):
        hidden = np.tanh(sequence()[:, time] @ kernel + state @ recurrent + bias)
        output = 1 / (1 + np.exp(-(hidden @ output_kernel + output_bias)))
        np.testing.assert_allclose(outputs[:, time], output, atol=1e-5)
        state = decay * state + output


def test_what_is_fed_back_is_the_output_and_not_the_hidden_units():
    cell = JordanCell(5, output_units=3)
    cell.build((None, 4))
    assert cell.recurrent_kernel.shape == (3, 5)
    assert cell.state_size == cell.output_size == 3


@pytest.mark.parametrize(
    ("init", "message"),
    [
        ({"units": 0, "output_units": 3}, "units must be an integer of at least 1, got 0"),
        ({"units": 5, "output_units": -1}, "output_units must be an integer of at least 1, got -1"),
        ({"units": 5, "output_units": 3, "decay": 1.0}, "decay must be at least 0 and below 1, got 1.0"),
        ({"units": 5, "output_units": 3, "use_bias": 3}, "use_bias must be one of True, False, got 3"),
    ],
)
def test_bad_arguments(init, message):
    with pytest.raises(ValueError, match=message):
        JordanCell(**init)


def test_bad_input():
    with pytest.raises(ValueError, match=r"JordanCell needs a known last axis"):
        JordanCell(5, output_units=3).build((2, None))
