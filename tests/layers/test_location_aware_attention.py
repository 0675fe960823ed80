import numpy as np
import pytest

from keras_canon.layers import LocationAwareAttention

RANDOM = np.random.RandomState(6)
QUERY = RANDOM.standard_normal((2, 6)).astype("float32")
VALUES = RANDOM.standard_normal((2, 5, 7)).astype("float32")
STATE = RANDOM.dirichlet(np.ones(5), 2).astype("float32")
MASK = np.asarray([[True] * 5, [True, True, True, False, False]])


def loop(layer, state, mask, sharpening, smoothing):
    """Equations 8 and 9 and the normalisations of section 2.3, for one value at a time."""
    w_query, v_values, bias, u_location, score, filters = (
        w.numpy()
        for w in (
            layer.query_projection.kernel,
            layer.values_projection.kernel,
            layer.values_projection.bias,
            layer.location_projection.kernel,
            layer.score_projection.kernel,
            layer.convolution.kernel,
        )
    )
    size = filters.shape[0]
    expected = np.zeros((2, 5))
    for b in range(2):
        padded = np.pad(state[b], ((size - 1) // 2, size // 2))
        scores = np.zeros(5)
        for j in range(5):
            place = sum(padded[j + r] * filters[r, 0] for r in range(size))
            scores[j] = np.tanh(QUERY[b] @ w_query + VALUES[b, j] @ v_values + place @ u_location + bias) @ score[:, 0]
        parts = (1.0 / (1.0 + np.exp(-scores)) if smoothing else np.exp(sharpening * scores)) * mask[b]
        expected[b] = parts / parts.sum()
    return expected


@pytest.mark.parametrize("mask", [None, MASK])
@pytest.mark.parametrize("state", [None, STATE])
@pytest.mark.parametrize("options", [{"kernel_size": 3}, {"kernel_size": 4, "sharpening": 2.5}, {"kernel_size": 1, "smoothing": True}])
def test_values_are_equations_8_and_9_and_both_normalisations(options, state, mask):
    layer = LocationAwareAttention(units=3, filters=2, **options)
    layer(QUERY, VALUES)
    layer.set_weights([RANDOM.standard_normal(w.shape) for w in layer.get_weights()])
    real = np.ones((2, 5)) if mask is None else mask
    before = np.zeros((2, 5)) if state is None else state
    expected = loop(layer, before, real, options.get("sharpening", 1.0), options.get("smoothing", False))
    context, weights = layer(QUERY, VALUES, state=state, values_mask=mask)
    np.testing.assert_allclose(weights, expected, atol=1e-5)
    np.testing.assert_allclose(context, np.einsum("bs,bsd->bd", expected, VALUES), atol=1e-5)
    again, _ = layer(QUERY, VALUES, state=state, keys=layer.project_values(VALUES), values_mask=mask)
    np.testing.assert_array_equal(again, context)


def test_b01_values_that_are_all_padding_give_zeros():
    for smoothing in (False, True):
        _, weights = LocationAwareAttention(3, 2, 3, smoothing=smoothing)(QUERY, VALUES, values_mask=np.zeros((2, 5), bool))
        assert not np.any(weights)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"units": 0}, "units must be an integer of at least 1, got 0"),
        ({"filters": 0}, "filters must be an integer of at least 1, got 0"),
        ({"kernel_size": 0}, "kernel_size must be an integer of at least 1, got 0"),
        ({"sharpening": -1.0}, "sharpening must be at least 0.0, got -1.0"),
        ({"sharpening": 0.0}, "sharpening must be above 0, .* got 0.0"),
        ({"sharpening": 2.0, "smoothing": True}, "and 1 with smoothing, got 2.0 with smoothing=True"),
    ],
)
def test_bad_arguments(options, message):
    with pytest.raises(ValueError, match=message):
        LocationAwareAttention(**{"units": 3, "filters": 2, "kernel_size": 3, **options})


def test_one_call_is_one_step():
    with pytest.raises(ValueError, match=r"a query of shape \(batch, width\) with a known width, got \(2, 1, 6\)"):
        LocationAwareAttention(3, 2, 3)(QUERY[:, None], VALUES)
