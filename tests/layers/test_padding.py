"""`SymmetricPadding2D` against NumPy, and before a max pooling."""

import keras
import numpy as np
import pytest

from keras_canon.layers import SymmetricPadding2D

IMAGES = np.random.RandomState(0).standard_normal((2, 7, 6, 3)).astype("float32")


@pytest.mark.parametrize(
    ("kernel_size", "dilation_rate", "margin"), [(3, 1, (1, 1)), ((3, 5), 2, (2, 4)), (1, 1, (0, 0)), (4, 1, (1, 1)), (2, 1, (0, 0))]
)
def test_pads_half_the_extent(kernel_size, dilation_rate, margin):
    layer = SymmetricPadding2D(kernel_size, dilation_rate)
    expected = np.pad(IMAGES, [(0, 0), (margin[0],) * 2, (margin[1],) * 2, (0, 0)])
    np.testing.assert_array_equal(layer(IMAGES), expected)
    assert layer.compute_output_shape(IMAGES.shape) == expected.shape
    assert layer.compute_output_shape((None, None, 6, 3)) == (None, None, 6 + 2 * margin[1], 3)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_a_border_of_minus_infinity_never_wins_a_maximum(dtype):
    images = -np.abs(IMAGES) - 1.0
    padded = SymmetricPadding2D(3, fill="minus_infinity", dtype=dtype)(images)
    found = np.asarray(keras.layers.MaxPooling2D(3, 2, data_format="channels_last", dtype=dtype)(padded), "float32")
    expected = np.full((2, 4, 3, 3), -np.inf)
    for row in range(4):
        for column in range(3):
            patch = images[:, max(2 * row - 1, 0) : 2 * row + 2, max(2 * column - 1, 0) : 2 * column + 2]
            expected[:, row, column] = patch.max((1, 2))
    np.testing.assert_allclose(found, expected, rtol=1e-3 if dtype == "float16" else 1e-6)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SymmetricPadding2D(0), "kernel_size must be an integer of at least 1, got 0"),
        (lambda: SymmetricPadding2D(3, 0), "dilation_rate must be an integer of at least 1, got 0"),
        (lambda: SymmetricPadding2D(3, fill="one"), "fill must be one of 'zero', 'minus_infinity', got 'one'"),
        (lambda: SymmetricPadding2D(3).build((2, 8, 3)), r"expects input of shape \(batch, height, width, channels\)"),
    ],
)
def test_bad_arguments(make, message):
    with pytest.raises(ValueError, match=message):
        make()
