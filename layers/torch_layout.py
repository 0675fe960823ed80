"""Recurrent weights as torch.nn stores them, turned into ours: arrays in, arrays out.

torch stores (gates * units, features), so matrices are transposed. It keeps two biases for each layer. Both are added to the same sum
in an Elman or LSTM cell, so one bias replaces them there; in a GRU the second is inside the reset, so both are kept.
"""

import numpy as np


def elman_from_torch(weight_ih, weight_hh, bias_ih=None, bias_hh=None) -> list[np.ndarray]:
    """Return [kernel, recurrent_kernel, bias] of `ElmanCell` from torch.nn.RNN's arrays; no bias when there is none."""
    return _transposed(weight_ih, weight_hh) + _summed(bias_ih, bias_hh)


def lstm_from_torch(weight_ih, weight_hh, bias_ih=None, bias_hh=None) -> list[np.ndarray]:
    """Return [kernel, recurrent_kernel, bias] of `LSTMCell` and `LSTM`; torch's gates i, f, g, o are in our order."""
    return _transposed(weight_ih, weight_hh) + _summed(bias_ih, bias_hh)


def gru_from_torch(weight_ih, weight_hh, bias_ih=None, bias_hh=None) -> list[np.ndarray]:
    """Return [kernel, recurrent_kernel, bias (2, 3 units)] of `GRUCell` and `GRU` with `reset_after`; r, z, n become z, r, n."""
    weights = _transposed(_update_first(weight_ih), _update_first(weight_hh))
    if bias_ih is None or bias_hh is None:
        return weights
    return [*weights, np.stack([_update_first(bias_ih), _update_first(bias_hh)])]


def _transposed(*arrays):
    return [np.ascontiguousarray(np.transpose(item)) for item in arrays]


def _summed(bias_ih, bias_hh):
    biases = [np.asarray(item) for item in (bias_ih, bias_hh) if item is not None]
    return [np.sum(biases, axis=0)] if biases else []


def _update_first(array):
    reset, update, candidate = np.split(np.asarray(array), 3, axis=0)
    return np.concatenate([update, reset, candidate], axis=0)
