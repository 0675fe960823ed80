import itertools
import math

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_canon.layers import SpatialPooling2D


def by_loops(x, method, pool, stride, before, ceil_mode, count_padding):
    """Equation 1 window by window, with the window count and the divisor written out."""
    rounding = math.ceil if ceil_mode else math.floor
    counts = []
    for size, z, s, p in zip(x.shape[1:3], pool, stride, before, strict=True):
        count = rounding((size + 2 * p - z) / s) + 1
        counts.append(count - 1 if ceil_mode and (count - 1) * s >= size + p else count)
    out = np.zeros((x.shape[0], *counts, x.shape[3]), "float32")
    for i, j in itertools.product(*map(range, counts)):
        real, padded = [], []
        for index, size, z, s, p in zip((i, j), x.shape[1:3], pool, stride, before, strict=True):
            start = index * s - p
            real.append(slice(max(start, 0), min(start + z, size)))
            padded.append(min(start + z, size + p) - start)
        window = x[:, real[0], real[1]]
        if method == "max":
            out[:, i, j] = window.max(axis=(1, 2))
        else:
            divisor = padded[0] * padded[1] if count_padding else window.shape[1] * window.shape[2]
            out[:, i, j] = window.sum(axis=(1, 2)) / divisor
    return out


@pytest.mark.parametrize("padding", ["valid", "symmetric"])
@pytest.mark.parametrize("ceil_mode", [False, True])
def test_against_loops_with_known_and_unknown_size(padding, ceil_mode):
    random = np.random.RandomState(0)
    for size, pool, stride in [((7, 6), (3, 3), (2, 2)), ((8, 5), (3, 2), (3, 2)), ((5, 5), (2, 5), (3, 4)), ((6, 9), (3, 3), (1, 1))]:
        x = random.standard_normal((2, *size, 3)).astype("float32") - 3.0
        before = [(z - 1) // 2 if padding == "symmetric" else 0 for z in pool]
        for method, count_padding in [("max", False), ("average", False)] + ([("average", True)] if padding == "symmetric" else []):
            layer = SpatialPooling2D(method, pool, stride, padding, ceil_mode, count_padding)
            expected = by_loops(x, method, pool, stride, before, ceil_mode, count_padding)
            assert layer.compute_output_shape(x.shape) == expected.shape
            np.testing.assert_allclose(layer(x), expected, atol=1e-5)
            unknown = tf.function(layer, input_signature=[tf.TensorSpec((None, None, None, 3))])
            np.testing.assert_allclose(unknown(x), expected, atol=1e-5)


@pytest.mark.parametrize(("method", "theirs"), [("max", keras.layers.MaxPooling2D), ("average", keras.layers.AveragePooling2D)])
@pytest.mark.parametrize("padding", ["valid", "same"])
def test_equals_keras(method, theirs, padding):
    x = np.random.RandomState(0).standard_normal((2, 8, 7, 3)).astype("float32")
    for pool, stride in [(3, 2), (2, None), (3, 1)]:
        found = SpatialPooling2D(method, pool, stride, padding)(x)
        np.testing.assert_array_equal(found, theirs(pool, stride, padding, data_format="channels_last")(x))


def test_sizes_of_the_papers():
    shape = SpatialPooling2D("max", 3, 2).compute_output_shape
    assert [shape((None, n, n, 1))[1] for n in (55, 27, 13)] == [27, 13, 6]  # AlexNet
    shape = SpatialPooling2D("max", 3, 2, ceil_mode=True).compute_output_shape
    assert [shape((None, n, n, 1))[1] for n in (112, 56, 28, 109)] == [56, 28, 14, 54]  # GoogLeNet; SqueezeNet 1.1's first


def test_window_of_ceil_mode_never_starts_beyond_the_input():
    layer = SpatialPooling2D("max", 2, 3, ceil_mode=True)
    assert layer.compute_output_shape((1, 3, 4, 1)) == (1, 1, 2, 1)
    assert np.all(np.isfinite(layer(np.ones((1, 3, 4, 1), "float32"))))


def test_b07_average_of_large_float16_values():
    layer = SpatialPooling2D("average", 3, 1, "symmetric", dtype="mixed_float16")
    found = np.asarray(layer(np.full((1, 5, 5, 1), 60000.0, "float32")), "float32")
    np.testing.assert_array_equal(found, np.full((1, 5, 5, 1), np.float16(60000.0)))


@pytest.mark.parametrize("method", ["max", "average"])
def test_map_under_one_window_gives_an_error_or_nothing_but_no_crash(method):
    layer = SpatialPooling2D(method, 3, 2)
    layer(np.ones((1, 8, 8, 1), "float32"))
    with pytest.raises(ValueError, match=r"pool_size must be at most .* got \(3, 3\) for input \(1, 2, 5, 1\)"):
        layer(np.ones((1, 2, 5, 1), "float32"))
    unknown = tf.function(layer, input_signature=[tf.TensorSpec((None, None, None, 1))])
    assert unknown(np.ones((1, 2, 5, 1), "float32")).shape == (1, 0, 2, 1)


def test_empty_batch():
    assert SpatialPooling2D("average", 3, 2, "symmetric", True)(np.ones((0, 7, 5, 6), "float32")).shape == (0, 4, 3, 6)


def test_bad_arguments():
    with pytest.raises(ValueError, match="method must be one of 'max', 'average', got 'min'"):
        SpatialPooling2D("min", 2)
    with pytest.raises(ValueError, match="pool_size must be an integer of at least 1, got 0"):
        SpatialPooling2D("max", 0)
    with pytest.raises(ValueError, match="strides must be an integer of at least 1, got -1"):
        SpatialPooling2D("max", 2, -1)
    with pytest.raises(ValueError, match="padding must be one of 'valid', 'same', 'symmetric', got 'full'"):
        SpatialPooling2D("max", 2, padding="full")
    with pytest.raises(ValueError, match="ceil_mode must be False with padding 'same'"):
        SpatialPooling2D("max", 2, padding="same", ceil_mode=True)
    with pytest.raises(ValueError, match="count_padding must be False unless"):
        SpatialPooling2D("max", 3, padding="symmetric", count_padding=True)
    with pytest.raises(ValueError, match=r"pool_size must be at most .* got \(3, 3\) for input \(1, 2, 5, 1\)"):
        SpatialPooling2D("max", 3)(np.ones((1, 2, 5, 1), "float32"))
    with pytest.raises(ValueError, match=r"SpatialPooling2D expects input of shape .* got \(2, 3, 4\)"):
        SpatialPooling2D("max", 2)(np.ones((2, 3, 4), "float32"))
