"""`GRUCell`: both places of the reset against the equations, counts."""

import numpy as np
import pytest
from checks.recurrent import randomise, run_cell, sequence

from keras_canon.layers import GRUCell


def sigmoid(value):
    return 1 / (1 + np.exp(-value))


@pytest.mark.parametrize("reset_after", [True, False])
def test_equals_the_equations(reset_after):
    layer = run_cell(GRUCell(5, reset_after=reset_after))
    layer(sequence())
    randomise(layer)
    kernel, recurrent, bias = layer.get_weights()
    bias, recurrent_bias = bias if reset_after else (bias, np.zeros(15))
    hidden = np.zeros((6, 5))
    outputs = layer(sequence()).numpy()
    for time in range(10):
        projected, summed = sequence()[:, time] @ kernel + bias, hidden @ recurrent + recurrent_bias
        update, reset = (sigmoid(projected[:, part] + summed[:, part]) for part in (slice(0, 5), slice(5, 10)))
        past = reset * summed[:, 10:] if reset_after else (reset * hidden) @ recurrent[:, 10:]
        hidden = update * hidden + (1 - update) * np.tanh(projected[:, 10:] + past)
        np.testing.assert_allclose(outputs[:, time], hidden, atol=1e-5)


@pytest.mark.parametrize(("reset_after", "count"), [(True, 165), (False, 150)])
def test_b10_count_of_parameters(reset_after, count):
    cell = GRUCell(5, reset_after=reset_after)
    cell.build((None, 4))
    assert cell.count_params() == count


@pytest.mark.parametrize(
    ("init", "message"),
    [
        ({"units": -5}, "units must be an integer of at least 1, got -5"),
        ({"units": 5, "reset_after": "yes"}, "reset_after must be one of True, False, got 'yes'"),
    ],
)
def test_bad_arguments(init, message):
    with pytest.raises(ValueError, match=message):
        GRUCell(**init)
