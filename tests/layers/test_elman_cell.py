"""`ElmanCell` against torch's numbers and the equation."""

import keras
import numpy as np
import pytest
from checks.recurrent import expected, golden, randomise, run_cell, sequence

from keras_canon.layers import ElmanCell, elman_from_torch


def test_golden():
    record, state, inputs = golden("elman")
    layer = run_cell(ElmanCell(5), return_state=True)
    layer(inputs)
    layer.set_weights(elman_from_torch(*(state[f"{name}_l0"] for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"))))
    outputs, hidden = layer(inputs)
    np.testing.assert_allclose(outputs, expected(record, "sequence"), atol=1e-5)
    np.testing.assert_allclose(hidden, expected(record, "final_hidden")[0], atol=1e-5)


def test_equals_keras_simple_rnn():
    ours, theirs = run_cell(ElmanCell(5, activation="relu")), keras.layers.SimpleRNN(5, activation="relu", return_sequences=True)
    ours(sequence()), theirs(sequence())
    randomise(ours)
    theirs.set_weights(ours.get_weights())
    np.testing.assert_allclose(ours(sequence()), theirs(sequence()), atol=1e-6)


@pytest.mark.parametrize(
    ("init", "message"),
    [
        ({"units": 2.5}, "units must be an integer of at least 1, got 2.5"),
        ({"units": 5, "use_bias": "no"}, "use_bias must be one of True, False, got 'no'"),
    ],
)
def test_bad_arguments(init, message):
    with pytest.raises(ValueError, match=message):
        ElmanCell(**init)


def test_bad_input():
    with pytest.raises(ValueError, match=r"ElmanCell expects input of shape \(batch, features\) \(2 axes\), got \(2, 3, 4\)"):
        ElmanCell(5).build((2, 3, 4))


def test_b11_one_initializer_for_both_kernels_gives_different_kernels():
    shared = keras.initializers.RandomNormal()
    cell = ElmanCell(4, kernel_initializer=shared, recurrent_initializer=shared)
    cell.build((None, 4))
    assert not np.array_equal(cell.kernel, cell.recurrent_kernel)
