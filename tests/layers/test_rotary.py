import numpy as np
import pytest

from keras_canon.layers import RotaryEmbedding

RANDOM = np.random.RandomState(1)


def rotation(vector, position, base, pairing):
    """Equation 34, as a product of each pair with a rotation matrix."""
    width, turned = len(vector), np.zeros(len(vector))
    for i in range(width // 2):
        pair = [2 * i, 2 * i + 1] if pairing == "interleaved" else [i, i + width // 2]
        angle = position * base ** (-2 * i / width)
        turned[pair] = np.asarray([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]) @ vector[pair]
    return turned


@pytest.mark.parametrize("pairing", ["interleaved", "halves"])
@pytest.mark.parametrize("offset", [0, 3, np.asarray([2, 7])])
@pytest.mark.parametrize("shape", [(2, 3, 4, 6), (2, 4, 6)])
def test_values_are_equation_34(pairing, offset, shape):
    inputs = RANDOM.standard_normal(shape).astype("float32")
    found = RotaryEmbedding(100.0, pairing)(inputs, offset=offset)
    first = np.broadcast_to(offset, 2)
    expected = np.zeros(shape)
    for index in np.ndindex(shape[:-1]):
        expected[index] = rotation(inputs[index], first[index[0]] + index[-1], 100.0, pairing)
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_products_depend_on_the_distance_only():
    query, key = RANDOM.standard_normal((2, 1, 5, 8)).astype("float32")
    layer = RotaryEmbedding()
    products = [np.asarray(layer(query, offset=o)) @ np.asarray(layer(key, offset=o)).swapaxes(-1, -2) for o in (0, 1000)]
    np.testing.assert_allclose(*products, atol=1e-3)


def test_far_positions_in_half_precision():
    inputs = RANDOM.standard_normal((1, 2, 4)).astype("float32")
    found = RotaryEmbedding(dtype="mixed_float16")(inputs, offset=4001)
    np.testing.assert_allclose(found, RotaryEmbedding()(inputs, offset=4001), atol=4e-3)


def test_bad_arguments():
    with pytest.raises(ValueError, match="needs an even width to make pairs, got 5"):
        RotaryEmbedding()(np.zeros((1, 2, 3, 5)))
    with pytest.raises(ValueError, match=r"base must be at least 1.0, got 0.1"):
        RotaryEmbedding(0.1)
    with pytest.raises(ValueError, match="pairing must be one of 'interleaved', 'halves', got 'none'"):
        RotaryEmbedding(pairing="none")
    with pytest.raises(ValueError, match=r"\(batch, \[num_heads,\] steps, width\), got \(2, 4\)"):
        RotaryEmbedding()(np.zeros((2, 4)))
