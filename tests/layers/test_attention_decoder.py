"""The decoder of Bahdanau et al. against its equations written out."""

import keras
import numpy as np
import pytest

from keras_canon.layers import AttentionDecoder

RANDOM = np.random.RandomState(2)
TARGETS = RANDOM.standard_normal((2, 4, 3)).astype("float32")
VALUES = RANDOM.standard_normal((2, 6, 7)).astype("float32")
STATE = RANDOM.standard_normal((2, 5)).astype("float32")


def sigmoid(value):
    return 1 / (1 + np.exp(-value))


def written_out(layer, real_source):
    attention, cell = layer.attention, layer.cell
    query, keys, score = (
        np.asarray(item.kernel, "float64") for item in (attention.query_projection, attention.values_projection, attention.score_projection)
    )
    kernel, recurrent, bias = (np.asarray(item, "float64") for item in (cell.kernel, cell.recurrent_kernel, cell.bias))
    state, states, contexts, weights = STATE.astype("float64"), [], [], []
    hidden = VALUES @ keys + np.asarray(attention.values_projection.bias)
    for t in range(TARGETS.shape[1]):
        scores = (np.tanh((state @ query)[:, None] + hidden) @ score)[..., 0]
        share = np.exp(scores) * real_source
        share /= share.sum(-1, keepdims=True)
        context = np.einsum("bs,bsv->bv", share, VALUES)
        states.append(state)
        contexts.append(context)
        weights.append(share)
        x = np.concatenate([TARGETS[:, t], context], -1) @ kernel + bias
        update = sigmoid(x[:, :5] + state @ recurrent[:, :5])
        reset = sigmoid(x[:, 5:10] + state @ recurrent[:, 5:10])
        new = np.tanh(x[:, 10:] + (reset * state) @ recurrent[:, 10:])
        state = update * state + (1 - update) * new
    return np.stack(states, 1), np.stack(contexts, 1), np.stack(weights, 1), state


@pytest.mark.parametrize("hidden", [0, 2])
def test_equations(hidden):
    layer = AttentionDecoder(5, 4)
    real = np.ones((2, 6))
    real[:, 6 - hidden :] = 0
    found = layer(TARGETS, VALUES, STATE, values_mask=real.astype(bool) if hidden else None)
    for one, other in zip(found, written_out(layer, real), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)
    assert not np.any(found[2][:, :, 6 - hidden :]) or not hidden


def test_a_masked_target_step_repeats_the_state():
    layer = AttentionDecoder(5, 4)
    whole = layer(TARGETS[:, 1:], VALUES, STATE)
    mask = np.array([[False, True, True, True]] * 2)
    padded = layer(TARGETS, VALUES, STATE, inputs_mask=mask)
    for one, other in zip(padded[:3], whole[:3], strict=True):
        np.testing.assert_allclose(one[:, 1:], other, atol=1e-6)
    np.testing.assert_allclose(padded[3], whole[3], atol=1e-6)


def test_two_stretches_are_one():
    layer = AttentionDecoder(5, 4)
    whole = layer(TARGETS, VALUES, STATE)
    first = layer(TARGETS[:, :3], VALUES, STATE)
    second = layer(TARGETS[:, 3:], VALUES, first[3])
    np.testing.assert_allclose(second[3], whole[3], atol=1e-6)
    np.testing.assert_allclose(second[2], whole[2][:, 3:], atol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "shapes", "message"),
    [
        ((0, 4), None, "units must be"),
        ((5, 0), None, "attention_units must be"),
        ((5, 4), ((2, 3), (2, 6, 7), (2, 5)), "expects inputs of shape"),
        ((5, 4), ((2, 4, 3), (2, 7), (2, 5)), "expects values of shape"),
        ((5, 4), ((2, 4, 3), (2, 6, 7), (2, 6)), "initial_state must have shape"),
    ],
)
def test_errors(arguments, shapes, message):
    with pytest.raises(ValueError, match=message):
        AttentionDecoder(*arguments)(*(keras.ops.zeros(shape) for shape in shapes or ()))


def test_nothing_to_read_and_nothing_to_look_at():
    decoder = AttentionDecoder(3, 4)
    contexts = decoder(np.ones((2, 4, 2), "float32"), np.ones((2, 0, 5), "float32"), np.ones((2, 3), "float32"))[1]
    np.testing.assert_array_equal(contexts, np.zeros((2, 4, 5)))
    before, _, _, last = decoder(np.ones((2, 0, 2), "float32"), np.ones((2, 6, 5), "float32"), np.ones((2, 3), "float32"))
    assert before.shape == (2, 0, 3)
    np.testing.assert_array_equal(last, np.ones((2, 3)))
