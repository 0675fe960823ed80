"""Recurrent weights as torch.nn stores them, turned into ours: arrays in, arrays out.

torch stores (gates * units, features), so matrices are transposed. It keeps two biases for each layer. Both are added to the same sum
in an Elman or LSTM cell, so one bias replaces them there; in a GRU the second is inside the reset, so both are kept.
"""

import numpy as np


def elman_from_torch(weight_ih, weight_hh, bias_ih=None, bias_hh=None) -> list[np.ndarray]:
    """Turn the arrays of torch.nn.RNN into the weights of `ElmanCell`.

    Args:
        weight_ih: array (units, features), torch's `weight_ih_l0`.
        weight_hh: array (units, units), torch's `weight_hh_l0`.
        bias_ih: array (units,), or None.
        bias_hh: array (units,), or None.

    Returns:
        [kernel (features, units), recurrent_kernel (units, units), bias (units,)]; no bias when none is given.

    Reference:
        The layout is the one that the documentation of torch.nn.RNN states under "Variables".

    Example:
        >>> import numpy as np
        >>> from keras_canon.layers import elman_from_torch
        >>> print([item.shape for item in elman_from_torch(np.zeros((5, 4)), np.zeros((5, 5)), np.zeros(5), np.zeros(5))])
        [(4, 5), (5, 5), (5,)]
    """
    return _transposed(weight_ih, weight_hh) + _summed(bias_ih, bias_hh)


def lstm_from_torch(weight_ih, weight_hh, bias_ih=None, bias_hh=None) -> list[np.ndarray]:
    """Turn the arrays of torch.nn.LSTM into the weights of `LSTMCell` and `LSTM`; the gates i, f, g, o keep their order.

    Args:
        weight_ih: array (4 units, features), torch's `weight_ih_l0`.
        weight_hh: array (4 units, units), torch's `weight_hh_l0`.
        bias_ih: array (4 units,), or None.
        bias_hh: array (4 units,), or None.

    Returns:
        [kernel (features, 4 units), recurrent_kernel (units, 4 units), bias (4 units,)]; no bias when none is given.

    Reference:
        The layout is the one that the documentation of torch.nn.LSTM states under "Variables".

    Example:
        >>> import numpy as np
        >>> from keras_canon.layers import lstm_from_torch
        >>> print([item.shape for item in lstm_from_torch(np.zeros((20, 4)), np.zeros((20, 5)), np.zeros(20), np.zeros(20))])
        [(4, 20), (5, 20), (20,)]
    """
    return _transposed(weight_ih, weight_hh) + _summed(bias_ih, bias_hh)


def gru_from_torch(weight_ih, weight_hh, bias_ih=None, bias_hh=None) -> list[np.ndarray]:
    """Turn the arrays of torch.nn.GRU into the weights of `GRUCell` and `GRU` with `reset_after`; r, z, n become z, r, n.

    Args:
        weight_ih: array (3 units, features), torch's `weight_ih_l0`.
        weight_hh: array (3 units, units), torch's `weight_hh_l0`.
        bias_ih: array (3 units,), or None.
        bias_hh: array (3 units,), or None.

    Returns:
        [kernel (features, 3 units), recurrent_kernel (units, 3 units), bias (2, 3 units)]; no bias when either is missing.

    Reference:
        The layout is the one that the documentation of torch.nn.GRU states under "Variables".

    Example:
        >>> import numpy as np
        >>> from keras_canon.layers import gru_from_torch
        >>> print([item.shape for item in gru_from_torch(np.zeros((15, 4)), np.zeros((15, 5)), np.zeros(15), np.zeros(15))])
        [(4, 15), (5, 15), (2, 15)]
    """
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
