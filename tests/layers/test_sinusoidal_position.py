import keras
import numpy as np
import pytest

from keras_canon.layers import SinusoidalPositionEncoding


def encoding(length, width, base=10000.0):
    """The formulas of section 3.5, one number at a time."""
    table = np.zeros((length, width))
    for position, feature in np.ndindex(length, width):
        angle = position / base ** (2 * (feature // 2) / width)
        table[position, feature] = np.cos(angle) if feature % 2 else np.sin(angle)
    return table


@pytest.mark.parametrize("width", [1, 2, 7, 8])
def test_values_are_the_formulas_for_any_width(width):
    inputs = np.random.RandomState(0).standard_normal((2, 30, width)).astype("float32")
    np.testing.assert_allclose(SinusoidalPositionEncoding()(inputs), inputs + encoding(30, width), atol=1e-5)


def test_any_length_in_half_precision():
    """Positions above 2048 are not whole numbers in float16."""
    inputs = np.zeros((1, 4000, 6), "float32")
    found = SinusoidalPositionEncoding(dtype="mixed_float16")(inputs)
    np.testing.assert_allclose(found[0], encoding(4000, 6), atol=1e-3)


def test_offset_of_a_step_and_of_each_row():
    layer, inputs = SinusoidalPositionEncoding(base=100.0), np.zeros((2, 3, 5), "float32")
    table = encoding(9, 5, 100.0)
    np.testing.assert_allclose(layer(inputs, offset=4)[0], table[4:7], atol=1e-6)
    found = layer(inputs, offset=np.asarray([1, 6]))
    np.testing.assert_allclose(found, [table[1:4], table[6:9]], atol=1e-6)


def test_unknown_length():
    model = keras.Model(inputs := keras.Input((None, 5)), SinusoidalPositionEncoding()(inputs))
    np.testing.assert_allclose(model(np.zeros((1, 6, 5), "float32"))[0], encoding(6, 5), atol=1e-6)


def test_bad_arguments():
    with pytest.raises(ValueError, match=r"base must be at least 1.0, got 0"):
        SinusoidalPositionEncoding(base=0)
    with pytest.raises(ValueError, match=r"expects input of shape \(batch, steps, width\) \(3 axes\), got \(2, 3\)"):
        SinusoidalPositionEncoding()(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="offset must be at least 0, got -2"):
        SinusoidalPositionEncoding()(np.zeros((2, 3, 4)), offset=-2)
