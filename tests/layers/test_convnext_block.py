import math

import keras
import numpy as np
import pytest
from checks.convolution import depthwise, randomize

from keras_canon.layers import ConvNeXtBlock

MAP = np.random.RandomState(0).standard_normal((2, 8, 6, 8)).astype("float32")


def gelu(x):
    return x * 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


def test_equation_1():
    layer = ConvNeXtBlock(8, expansion=3)
    layer.build(MAP.shape)
    randomize(layer)
    scale = np.asarray(layer.scale, "float64")
    d, db = (np.asarray(weight, "float64") for weight in layer.depthwise.get_weights())
    gamma, beta = (np.asarray(weight, "float64") for weight in layer.normalization.get_weights())
    w1, b1 = (np.asarray(weight, "float64") for weight in layer.expand.get_weights())
    w2, b2 = (np.asarray(weight, "float64") for weight in layer.contract.get_weights())
    h = depthwise(MAP.astype("float64"), d) + db
    h = (h - h.mean(-1, keepdims=True)) / np.sqrt(h.var(-1, keepdims=True) + 1e-6) * gamma + beta
    expected = MAP + scale * (gelu(h @ w1 + b1) @ w2 + b2)
    np.testing.assert_allclose(layer(MAP), expected, atol=1e-5 * np.abs(expected).max())


def test_starts_close_to_the_identity_with_the_paper_s_values():
    layer = ConvNeXtBlock(8)
    assert 0 < np.abs(np.asarray(layer(MAP)) - MAP).max() < 1e-4
    np.testing.assert_allclose(layer.scale, np.full(8, 1e-6), rtol=1e-6)
    assert layer.normalization.epsilon == 1e-6
    assert 0.015 < np.std(layer.expand.kernel) < 0.02
    assert ConvNeXtBlock(8, layer_scale=None).scale is None


def test_b07_layer_normalization_of_large_float16_values():
    layer = ConvNeXtBlock(8, layer_scale=1.0, kernel_initializer="zeros", dtype="mixed_float16")
    layer.build(MAP.shape)
    layer.depthwise.kernel.assign(np.pad(np.ones((1, 1, 8, 1)), [(3, 3), (3, 3), (0, 0), (0, 0)]))
    found = np.asarray(layer.normalization(layer.depthwise(60000 * np.sign(MAP))), "float32")
    assert np.all(np.isfinite(found))
    assert np.abs(found.mean(-1)).max() <= 1e-2


def test_b11_kernels_from_one_initializer_differ():
    layer = ConvNeXtBlock(8, expansion=1, kernel_initializer=keras.initializers.RandomNormal())
    layer.build(MAP.shape)
    assert not np.array_equal(layer.expand.kernel, layer.contract.kernel)


def test_stochastic_depth_drops_the_branch_by_sample():
    layer = ConvNeXtBlock(8, layer_scale=1.0, stochastic_depth=0.5, kernel_initializer="he_normal")
    x = np.repeat(MAP[:1], 64, axis=0)
    change = np.abs(np.asarray(layer(x, training=True)) - x).max((1, 2, 3))
    assert 15 < int((change == 0).sum()) < 49


def test_bad_arguments():
    with pytest.raises(ValueError, match="filters must be an integer of at least 1, got 0"):
        ConvNeXtBlock(0)
    with pytest.raises(ValueError, match="expansion must be an integer of at least 1, got 0"):
        ConvNeXtBlock(8, expansion=0)
    with pytest.raises(ValueError, match="kernel_size must be an integer of at least 1, got 0"):
        ConvNeXtBlock(8, kernel_size=0)
    with pytest.raises(ValueError, match="layer_scale must be a number, got 'big'"):
        ConvNeXtBlock(8, layer_scale="big")
    with pytest.raises(ValueError, match=r"epsilon must be at least 0.0, got -1"):
        ConvNeXtBlock(8, epsilon=-1)
    with pytest.raises(ValueError, match=r"rate must be at least 0 and below 1, got 1.0"):
        ConvNeXtBlock(8, stochastic_depth=1.0)
    with pytest.raises(ValueError, match=r"ConvNeXtBlock with filters=8 needs as many input channels, got \(2, 8, 6, 4\)"):
        ConvNeXtBlock(8)(MAP[..., :4])
