import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_canon.layers import MonotonicAttention

RANDOM = np.random.RandomState(7)
QUERIES = RANDOM.standard_normal((6, 2, 6)).astype("float32")  # (T, B, width)
VALUES = RANDOM.standard_normal((2, 5, 7)).astype("float32")
MASK = np.asarray([[True] * 5, [True, True, True, False, False]])


def built(**options):
    """A layer whose steps go on, stay and in one row run off the end."""
    layer = MonotonicAttention(8, **options)
    layer(QUERIES[0], VALUES)
    random = np.random.RandomState(29)
    layer.set_weights([random.standard_normal(w.shape) for w in layer.get_weights()])
    layer.gain.assign(3.0)
    layer.offset.assign(-0.5)
    return layer


def energies(layer, query, b, j):
    """Equation 16 for one pair."""
    v = layer.direction.numpy()[:, 0]
    hidden = np.tanh(
        query[b] @ layer.query_projection.kernel.numpy()
        + VALUES[b, j] @ layer.values_projection.kernel.numpy()
        + layer.values_projection.bias.numpy()
    )
    return float(layer.gain) * v @ hidden / np.linalg.norm(v) + float(layer.offset)


@pytest.mark.parametrize("mask", [None, MASK])
def test_soft_weights_are_the_expectation_over_paths(mask):
    """The recursion of equation 9, one entry at a time, over several steps."""
    layer, state, previous = built(noise=0.0), None, np.eye(5)[[0, 0]]
    real = np.ones((2, 5), bool) if mask is None else mask
    for query in QUERIES:
        expected = np.zeros((2, 5))
        for b in range(2):
            arrived = 0.0
            for j in range(5):
                arrived += previous[b, j]
                stop = real[b, j] / (1.0 + np.exp(-energies(layer, query, b, j)))
                expected[b, j] = stop * arrived
                arrived *= 1.0 - stop
        context, state = layer(query, VALUES, state=state, values_mask=mask, training=True)
        np.testing.assert_allclose(state, expected, atol=1e-5)
        np.testing.assert_allclose(context, np.einsum("bs,bsd->bd", expected, VALUES), atol=1e-5)
        previous = expected


@pytest.mark.parametrize("mask", [None, MASK])
def test_hard_weights_stop_at_the_first_chosen_entry(mask):
    """Algorithm 1: from the last place on, the first entry with a positive energy; nothing after a step that found none."""
    layer, state, places = built(), None, [0, 0]
    keys, found = layer.project_values(VALUES), []
    for query in QUERIES:
        expected = np.zeros((2, 5))
        for b in range(2):
            if places[b] is not None:
                entries = [j for j in range(places[b], 5) if (mask is None or mask[b, j]) and energies(layer, query, b, j) > 0]
                places[b] = entries[0] if entries else None
            if places[b] is not None:
                expected[b, places[b]] = 1.0
        _, state = layer(query, VALUES, state=state, keys=keys, values_mask=mask)
        np.testing.assert_array_equal(state, expected)
        found.append(expected)
    assert 3 < np.sum(found) < 12  # some steps stop somewhere and some nowhere


def test_long_confident_sequences_are_finite():
    """Products of chances that vanish, where the division of the paper's appendix C.1 fails."""
    layer = MonotonicAttention(3, noise=0.0)
    values = RANDOM.standard_normal((2, 400, 7)).astype("float32")
    layer(QUERIES[0], values)
    layer.gain.assign(60.0)
    state = tf.constant(RANDOM.dirichlet(np.ones(400), 2).astype("float32"))
    with tf.GradientTape() as tape:
        _, weights = layer(QUERIES[0], values, state=state, training=True)
        loss = tf.reduce_sum(weights**2)
    gradients = tape.gradient(loss, [w.value for w in layer.trainable_weights])
    assert all(np.all(np.isfinite(item)) for item in [weights, *gradients])
    assert np.all(weights.numpy() >= 0)
    assert np.all(weights.numpy().sum(-1) <= 1.0 + 1e-4)


def test_noise_is_drawn_in_training_only():
    layer = built(noise=1.0)
    one, other = (layer(QUERIES[0], VALUES, training=True)[1] for _ in range(2))
    assert np.any(one != other)
    one, other = (layer(QUERIES[0], VALUES)[1] for _ in range(2))
    np.testing.assert_array_equal(one, other)


def test_initial_weights():
    layer = MonotonicAttention(16, score_bias=-2.0)
    layer.build((None, 6), (None, None, 7))
    assert float(layer.gain) == pytest.approx(0.25)
    assert float(layer.offset) == -2.0
    assert layer.initial_state(keras.ops.ones((2, 3, 7))).numpy().tolist() == [[1.0, 0.0, 0.0]] * 2


def test_bad_arguments():
    with pytest.raises(ValueError, match="units must be an integer of at least 1, got 0"):
        MonotonicAttention(0)
    with pytest.raises(ValueError, match=r"noise must be at least 0.0, got -1.0"):
        MonotonicAttention(3, noise=-1.0)
    with pytest.raises(ValueError, match="score_bias must be a number"):
        MonotonicAttention(3, score_bias=None)
    with pytest.raises(ValueError, match=r"a query of shape \(batch, width\) with a known width, got \(2, 1, 6\)"):
        MonotonicAttention(3)(QUERIES[0][:, None], VALUES)
