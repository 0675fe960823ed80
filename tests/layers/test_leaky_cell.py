"""`LeakyIntegratorCell` against the equation in plain numpy."""

import numpy as np
import pytest
from checks.recurrent import both_ways, randomise, run_cell, sequence

from keras_canon.layers import ElmanCell, LeakyIntegratorCell


def test_equals_the_equation():
    layer = run_cell(LeakyIntegratorCell(5, leak=0.3))
    layer(sequence())
    randomise(layer)
    kernel, recurrent, bias = layer.get_weights()
    hidden = np.zeros((6, 5))
    outputs = layer(sequence()).numpy()
    for time in range(10):
        hidden = 0.7 * hidden + 0.3 * np.tanh(sequence()[:, time] @ kernel + hidden @ recurrent + bias)
        np.testing.assert_allclose(outputs[:, time], hidden, atol=1e-5)


def test_without_leak_it_is_elmans_cell():
    leaky, elman = run_cell(LeakyIntegratorCell(5, leak=1.0)), run_cell(ElmanCell(5))
    both_ways(leaky, elman, sequence())
    np.testing.assert_allclose(leaky(sequence()), elman(sequence()), atol=1e-6)


@pytest.mark.parametrize(
    ("init", "message"),
    [
        ({"units": "5"}, "units must be an integer of at least 1, got '5'"),
        ({"units": 5, "leak": 0.0}, "leak must be above 0 and at most 1, got 0.0"),
        ({"units": 5, "leak": 1.5}, "leak must be between 0.0 and 1.0, got 1.5"),
    ],
)
def test_bad_arguments(init, message):
    with pytest.raises(ValueError, match=message):
        LeakyIntegratorCell(**init)
