import keras
import numpy as np
import pytest
from checks.convolution import convolve, randomize, relu, unit

from keras_canon.layers import InceptionModule

MAP = np.random.RandomState(0).standard_normal((2, 6, 5, 8)).astype("float32")
FILTERS = (2, 3, 4, 2, 3, 2)


def max_pool(x):
    padded = np.pad(x, [(0, 0), (1, 1), (1, 1), (0, 0)], constant_values=-np.inf)
    shifts = [padded[:, i : i + x.shape[1], j : j + x.shape[2]] for i in range(3) for j in range(3)]
    return np.max(shifts, axis=0)


@pytest.mark.parametrize(("size", "normalization"), [(5, None), (3, "batch")], ids=["2014", "batch"])
def test_equation_1(size, normalization):
    layer = InceptionModule(FILTERS, large_kernel_size=size, normalization=normalization)
    layer.build(MAP.shape)
    randomize(layer)
    assert layer.branch_large.convolution.kernel.shape[:2] == (size, size)

    def run(part, x):
        if normalization:
            return relu(unit(part, x))
        kernel, bias = (np.asarray(weight, "float64") for weight in part.get_weights())
        return relu(convolve(x, kernel) + bias)

    x = MAP.astype("float64")
    expected = [
        run(layer.branch_1x1, x),
        run(layer.branch_3x3, run(layer.branch_3x3_reduce, x)),
        run(layer.branch_large, run(layer.branch_large_reduce, x)),
        run(layer.branch_pool, max_pool(x)),
    ]
    np.testing.assert_allclose(layer(MAP), np.concatenate(expected, axis=-1), atol=1e-5 * max(item.max() for item in expected))


def test_parameters_of_inception_3a():
    layer = InceptionModule((64, 96, 128, 16, 32, 32))
    layer.build((None, 28, 28, 192))
    assert layer.count_params() == 163_696  # with biases; the paper's table 1 says 159K
    assert layer.compute_output_shape((None, 28, 28, 192)) == (None, 28, 28, 256)


def test_b15_epsilon_and_momentum_reach_every_normalization():
    layer = InceptionModule(FILTERS, normalization="batch", epsilon=2e-3, momentum=0.8)
    found = [item for item in layer._flatten_layers() if isinstance(item, keras.layers.BatchNormalization)]
    assert [(item.epsilon, item.momentum) for item in found] == [(2e-3, 0.8)] * 6


def test_bad_arguments():
    with pytest.raises(ValueError, match="filters must be six integers, got 64"):
        InceptionModule(64)
    with pytest.raises(ValueError, match=r"filters must be an integer or 6 of them, got \(1, 2\)"):
        InceptionModule((1, 2))
    with pytest.raises(ValueError, match="filters must be an integer of at least 1, got 0"):
        InceptionModule((1, 2, 3, 4, 5, 0))
    with pytest.raises(ValueError, match="large_kernel_size must be odd, got 4"):
        InceptionModule(FILTERS, large_kernel_size=4)
    with pytest.raises(ValueError, match="normalization must be one of 'batch', None, got 'layer'"):
        InceptionModule(FILTERS, normalization="layer")
    with pytest.raises(ValueError, match=r"InceptionModule expects input of shape .* got \(2, 8\)"):
        InceptionModule(FILTERS)(np.ones((2, 8), "float32"))
