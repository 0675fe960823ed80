import keras
import numpy as np
import pytest

from keras_canon.layers import AdditiveAttention

RANDOM = np.random.RandomState(3)
QUERY = RANDOM.standard_normal((2, 4, 6)).astype("float32")
VALUES = RANDOM.standard_normal((2, 5, 7)).astype("float32")
MASK = np.asarray([[True] * 5, [True, True, False, False, False]])


def loop(weights, mask):
    """Equations 5 and 6 for one pair at a time."""
    state_kernel, value_kernel, bias, score = weights
    alignment = np.zeros((2, 4, 5))
    for b, i in np.ndindex(2, 4):
        scores = [float(np.tanh(QUERY[b, i] @ state_kernel + VALUES[b, j] @ value_kernel + bias) @ score[:, 0]) for j in range(5)]
        parts = np.exp(scores) * mask[b]
        alignment[b, i] = parts / parts.sum()
    return np.einsum("bts,bsd->btd", alignment, VALUES), alignment


@pytest.mark.parametrize("mask", [None, MASK])
def test_values_are_equations_5_and_6(mask):
    layer = AdditiveAttention(3)
    layer(QUERY, VALUES)
    layer.set_weights([RANDOM.standard_normal(w.shape) for w in layer.get_weights()])
    context, weights = loop(layer.get_weights(), np.ones_like(MASK) if mask is None else mask)
    for index, (found, expected) in enumerate(zip(layer(QUERY, VALUES, values_mask=mask), (context, weights), strict=True)):
        np.testing.assert_allclose(found, expected, atol=1e-5)
        one_step = layer(QUERY[:, 1], VALUES, keys=layer.project_values(VALUES), values_mask=mask)[index]
        np.testing.assert_allclose(one_step, expected[:, 1], atol=1e-5)


def test_b01_values_that_are_all_padding_give_zeros():
    for policy in ("float32", "mixed_float16"):
        context, weights = AdditiveAttention(3, dtype=policy)(QUERY, VALUES, values_mask=np.zeros((2, 5), bool))
        assert not np.any(context)
        assert not np.any(weights)


def test_mask_of_embedded_values_is_found_by_keras():
    tokens = np.asarray([[3, 1, 2], [4, 0, 0]])
    values = keras.layers.Embedding(5, 7, mask_zero=True)(tokens)
    _, weights = AdditiveAttention(3)(QUERY, values)
    np.testing.assert_array_equal(weights[1, :, 1:], 0.0)
    np.testing.assert_allclose(weights[1, :, 0], 1.0, rtol=1e-6)


def test_bad_arguments():
    with pytest.raises(ValueError, match="units must be an integer of at least 1, got 0"):
        AdditiveAttention(0)
    with pytest.raises(ValueError, match=r"a query of shape \(batch, width\) or \(batch, steps, width\) .* got \(2, 4, 6, 1\)"):
        AdditiveAttention(3)(QUERY[..., None], VALUES)
    with pytest.raises(ValueError, match=r"values of shape \(batch, steps, width\) .* got \(2, 7\)"):
        AdditiveAttention(3)(QUERY, VALUES[:, 0])
