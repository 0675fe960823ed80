"""What all recurrent cells have in common."""

import keras
import numpy as np
import pytest

from keras_canon.layers import ElmanCell, GRUCell, JordanCell, LeakyIntegratorCell, LSTMCell
from keras_canon.layers.recurrent_cell import share

CELLS = [ElmanCell(5), LeakyIntegratorCell(5), GRUCell(5), LSTMCell(5), JordanCell(5, output_units=3)]


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: type(cell).__name__)
def test_works_in_keras_rnn_alone_and_stacked_with_a_mask(cell):
    inputs = np.random.RandomState(0).standard_normal((2, 6, 4)).astype("float32")
    layer = keras.layers.RNN([cell, GRUCell(2)])
    padded = np.concatenate([inputs, np.zeros((2, 2, 4), "float32")], axis=1)
    outputs = layer(keras.layers.Masking()(padded))
    np.testing.assert_allclose(outputs, layer(inputs), atol=1e-6)
    assert [tuple(item.shape) for item in cell.get_initial_state(2)] == [(2, size) for size in cell.state_sizes]


@pytest.mark.parametrize("cls", [ElmanCell, LeakyIntegratorCell, GRUCell, LSTMCell])
def test_regularisers_reach_their_kernels(cls):
    cell = cls(3, kernel_regularizer="l1", recurrent_regularizer="l2")
    cell.build((None, 4))
    wanted = 0.01 * np.sum(np.abs(cell.kernel.numpy())) + 0.01 * np.sum(cell.recurrent_kernel.numpy() ** 2)
    assert float(sum(cell.losses)) == pytest.approx(wanted, rel=1e-5)


def test_share():
    assert share("leak", 1) == 1.0
    with pytest.raises(ValueError, match="leak must be above 0 and at most 1"):
        share("leak", 0)
