import keras
import numpy as np
import pytest

from keras_canon.layers import TrainableSubsampling2D


def subsampled(x, coefficient, bias, window):
    """The layer by loops over windows, before the squashing function."""
    height, width = x.shape[1] // window[0], x.shape[2] // window[1]
    outputs = np.zeros((x.shape[0], height, width, x.shape[3]))
    for i in range(height):
        for j in range(width):
            patch = x[:, i * window[0] : (i + 1) * window[0], j * window[1] : (j + 1) * window[1]]
            outputs[:, i, j] = patch.sum(axis=(1, 2)) * coefficient + bias
    return outputs


@pytest.mark.parametrize("window", [(2, 2), (3, 2)])
def test_values_are_sum_times_coefficient_plus_bias_squashed(window):
    random = np.random.RandomState(0)
    x = random.standard_normal((2, 7, 6, 5)).astype("float32")
    coefficient, bias = random.standard_normal((2, 5)).astype("float32")
    layer = TrainableSubsampling2D(window)
    layer.build(x.shape)
    layer.set_weights([coefficient, bias])
    expected = 1.7159 * np.tanh(2 / 3 * subsampled(x, coefficient, bias, window))
    np.testing.assert_allclose(layer(x), expected, atol=1e-5)


def test_lenet5_counts():
    assert [
        TrainableSubsampling2D()(keras.Input((28, 28, 6))).shape[1:],
        TrainableSubsampling2D()(keras.Input((10, 10, 16))).shape[1:],
    ] == [
        (14, 14, 6),
        (5, 5, 16),
    ]
    for maps, parameters in ((6, 12), (16, 32)):
        layer = TrainableSubsampling2D()
        layer.build((None, 28, 28, maps))
        assert layer.count_params() == parameters


def test_start_follows_the_rule_of_the_paper():
    layer = TrainableSubsampling2D()
    layer.build((None, 4, 4, 4000))
    coefficient = np.asarray(layer.coefficient)
    assert 0.59 < np.max(np.abs(coefficient)) <= 2.4 / 4
    np.testing.assert_array_equal(layer.bias, np.zeros(4000))


def test_dynamic_sides_and_empty_batch():
    assert TrainableSubsampling2D()(keras.Input((None, None, 3))).shape == (None, None, None, 3)
    assert TrainableSubsampling2D().compute_output_shape((None, None, 7, 3)) == (None, None, 3, 3)
    assert TrainableSubsampling2D()(np.zeros((0, 4, 4, 3), "float32")).shape == (0, 2, 2, 3)


@pytest.mark.parametrize(
    ("arguments", "shape", "message"),
    [
        ({"pool_size": 0}, (None, 4, 4, 3), "pool_size must be an integer of at least 1, got 0"),
        ({"pool_size": (2, 2, 2)}, (None, 4, 4, 3), "pool_size must be an integer or 2 of them"),
        ({}, (None, 4, 3), r"expects input of shape \(batch, height, width, channels\)"),
        ({}, (None, 4, 4, None), "needs a known last axis"),
        ({"pool_size": 5}, (None, 8, 4, 3), r"pool_size must be at most the height and width of the input, got \(5, 5\)"),
    ],
)
def test_bad_arguments(arguments, shape, message):
    with pytest.raises(ValueError, match=message):
        TrainableSubsampling2D(**arguments).build(shape)
