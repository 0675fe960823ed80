import numpy as np
import pytest

from keras_canon.layers import LocalAttention

RANDOM = np.random.RandomState(5)
QUERY = RANDOM.standard_normal((2, 4, 6)).astype("float32")
VALUES = RANDOM.standard_normal((2, 9, 6)).astype("float32")
LENGTHS = (9, 5)
MASK = np.arange(9) < np.asarray(LENGTHS)[:, None]


def loop(options, weights, masked, first=0):
    """Equations 9 and 10 for one query at a time, over the real values only."""
    weights = list(weights)
    kernel = weights.pop(0) if options.get("score", "general") == "general" else np.eye(6)
    expected = np.zeros((2, 4, 9))
    for b, t in np.ndindex(2, 4):
        length, window = LENGTHS[b] if masked else 9, options["window"]
        centre = first + t
        if options["alignment"] == "predictive":
            centre = length / (1.0 + np.exp(-float(np.tanh(QUERY[b, t] @ weights[0]) @ weights[1][:, 0])))
        inside = [s for s in range(length) if abs(s - centre) <= window]
        if not inside:
            continue
        scores = np.asarray([QUERY[b, t] @ kernel @ VALUES[b, s] for s in inside])
        parts = np.exp(scores - scores.max())
        expected[b, t, inside] = parts / parts.sum()
        if options["alignment"] == "predictive":
            expected[b, t, inside] *= np.exp([-((s - centre) ** 2) / (2 * (window / 2) ** 2) for s in inside])
    return expected


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize(
    "options",
    [
        {"window": 1, "alignment": "monotonic"},
        {"window": 3, "alignment": "monotonic", "score": "dot"},
        {"window": 2, "alignment": "predictive", "units": 3},
        {"window": 1, "alignment": "predictive", "units": 3, "score": "dot"},
    ],
)
def test_values_are_equations_9_and_10(options, masked):
    layer = LocalAttention(**options)
    layer(QUERY, VALUES)
    layer.set_weights([0.7 * RANDOM.standard_normal(w.shape) for w in layer.get_weights()])
    expected = loop(options, layer.get_weights(), masked)
    context, weights = layer(QUERY, VALUES, values_mask=MASK if masked else None)
    np.testing.assert_allclose(weights, expected, atol=1e-5)
    np.testing.assert_allclose(context, np.einsum("bts,bsd->btd", expected, VALUES), atol=1e-5)


def test_position_of_a_step():
    layer = LocalAttention(1)
    _, weights = layer(QUERY, VALUES)
    for position in (2, np.asarray([2, 2])):
        _, one = layer(QUERY[:, 2], VALUES, position=position)
        np.testing.assert_allclose(one, weights[:, 2], atol=1e-6)
    _, shifted = layer(QUERY, VALUES, position=np.asarray([0, 3]))
    np.testing.assert_allclose(shifted[1], loop({"window": 1, "alignment": "monotonic"}, layer.get_weights(), False, 3)[1], atol=1e-5)


@pytest.mark.parametrize("options", [{}, {"alignment": "predictive", "units": 3}])
def test_padding_on_either_side_changes_nothing(options):
    layer = LocalAttention(2, **options)
    values = VALUES[:, :5]
    context, _ = layer(QUERY, values)
    noise = np.full((2, 3, 6), 7.0, "float32")
    for parts, mask in (((values, noise), [True] * 5 + [False] * 3), ((noise, values), [False] * 3 + [True] * 5)):
        found, _ = layer(QUERY, np.concatenate(parts, axis=1), values_mask=np.asarray([mask, mask]))
        np.testing.assert_allclose(found, context, atol=1e-5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"window": 0}, "window must be an integer of at least 1, got 0"),
        ({"alignment": "global"}, "alignment must be one of 'monotonic', 'predictive', got 'global'"),
        ({"score": "concat"}, "score must be one of 'general', 'dot', got 'concat'"),
        ({"alignment": "predictive"}, "units must be an integer of at least 1, got None"),
        ({"units": 3}, 'units must be None unless alignment is "predictive", got 3'),
    ],
)
def test_bad_arguments(options, message):
    with pytest.raises(ValueError, match=message):
        LocalAttention(**{"window": 1, **options})


def test_bad_inputs():
    with pytest.raises(ValueError, match='the same width with score="dot", got 5 and 6'):
        LocalAttention(1, score="dot")(QUERY[..., :5], VALUES)
    with pytest.raises(ValueError, match="LocalAttention expects a query of shape"):
        LocalAttention(1)(QUERY[..., None], VALUES)
    with pytest.raises(ValueError, match="offset must be at least 0, got -1"):
        LocalAttention(1)(QUERY, VALUES, position=-1)
