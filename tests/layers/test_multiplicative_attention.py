import numpy as np
import pytest

from keras_canon.layers import MultiplicativeAttention

RANDOM = np.random.RandomState(4)
QUERY = RANDOM.standard_normal((2, 4, 6)).astype("float32")
VALUES = RANDOM.standard_normal((2, 5, 6)).astype("float32")
MASK = np.asarray([[True] * 5, [True, True, False, False, False]])


def score(name, weights, h, values, j):
    """Equations 8 and 9 for one pair."""
    if name == "dot":
        return h @ values[j]
    if name == "general":
        return h @ weights[0] @ values[j]
    if name == "concat":
        return np.tanh(np.concatenate([h, values[j]]) @ weights[0]) @ weights[1][:, 0]
    return (h @ weights[0])[j]


@pytest.mark.parametrize("mask", [None, MASK])
@pytest.mark.parametrize(
    "options", [{"score": "dot"}, {"score": "general"}, {"score": "concat", "units": 3}, {"score": "location", "max_length": 8}]
)
def test_values_are_equations_7_to_9(options, mask):
    layer = MultiplicativeAttention(**options)
    layer(QUERY, VALUES)
    layer.set_weights([0.5 * RANDOM.standard_normal(w.shape) for w in layer.get_weights()])
    expected = np.zeros((2, 4, 5))
    for b, i in np.ndindex(2, 4):
        scores = np.asarray([float(score(options["score"], layer.get_weights(), QUERY[b, i], VALUES[b], j)) for j in range(5)])
        parts = np.exp(scores - scores.max()) * (1 if mask is None else mask[b])
        expected[b, i] = parts / parts.sum()
    context, weights = layer(QUERY, VALUES, values_mask=mask)
    np.testing.assert_allclose(weights, expected, atol=1e-5)
    np.testing.assert_allclose(context, np.einsum("bts,bsd->btd", expected, VALUES), atol=1e-5)
    np.testing.assert_allclose(layer(QUERY[:, 2], VALUES, values_mask=mask)[0], context[:, 2], atol=1e-6)


def test_places_of_location_count_real_values_alone():
    layer = MultiplicativeAttention("location", max_length=8)
    wanted, weights = layer(QUERY, VALUES[:, :3])
    for before, after in ((0, 3), (2, 0), (1, 1)):
        padded = np.pad(VALUES[:, :3], [(0, 0), (before, after), (0, 0)], constant_values=7.0)
        mask = np.repeat([[False] * before + [True] * 3 + [False] * after], 2, axis=0)

        context, found = layer(QUERY, padded, values_mask=mask)
        np.testing.assert_allclose(context, wanted, atol=1e-6)
        np.testing.assert_allclose(found[..., before : before + 3], weights, atol=1e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"score": "cosine"}, "score must be one of 'dot', 'general', 'concat', 'location', got 'cosine'"),
        ({"score": "concat"}, "units must be an integer of at least 1, got None"),
        ({"score": "location"}, "max_length must be an integer of at least 1, got None"),
        ({"score": "dot", "units": 3}, "units must be None unless score is \"concat\", got 3 with score='dot'"),
        ({"score": "general", "max_length": 3}, 'max_length must be None unless score is "location", got 3'),
    ],
)
def test_bad_arguments(options, message):
    with pytest.raises(ValueError, match=message):
        MultiplicativeAttention(**options)


def test_bad_inputs():
    with pytest.raises(ValueError, match='the same width with score="dot", got 5 and 6'):
        MultiplicativeAttention("dot")(QUERY[..., :5], VALUES)
    with pytest.raises(ValueError, match="5 values are more than max_length=4"):
        MultiplicativeAttention("location", max_length=4)(QUERY, VALUES)
    layer = MultiplicativeAttention("location", max_length=4)
    layer(QUERY, VALUES[:, :3])
    with pytest.raises(ValueError, match="5 values are more than max_length=4"):
        layer(QUERY, VALUES)
    with pytest.raises(ValueError, match=r"values of shape \(batch, steps, width\)"):
        MultiplicativeAttention("general")(QUERY, VALUES[0])
