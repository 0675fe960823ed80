import keras
import numpy as np
import pytest
from checks.convolution import randomize, relu, unit

from keras_canon.layers import InceptionV3A, InceptionV3C, InceptionV3E

MAP = np.random.RandomState(0).standard_normal((1, 3, 4, 3)).astype("float32")


def run(x, *parts):
    for part in parts:
        x = relu(unit(part, x))
    return x


def average_pool(x, count_padding):
    def total(values):
        padded = np.pad(values, [(0, 0), (1, 1), (1, 1), (0, 0)])
        return sum(padded[:, i : i + x.shape[1], j : j + x.shape[2]] for i in range(3) for j in range(3))

    return total(x) / (9 if count_padding else total(np.ones_like(x)))


def prepared(layer, shape=MAP.shape):
    layer.build(shape)
    randomize(layer)
    return layer


@pytest.mark.parametrize("count_padding", [False, True])
def test_a(count_padding):
    layer = prepared(InceptionV3A(pool_filters=5, count_padding=count_padding))
    x = MAP.astype("float64")
    expected = [
        run(x, layer.branch_1x1),
        run(x, layer.branch_5x5_1, layer.branch_5x5_2),
        run(x, layer.branch_3x3_double_1, layer.branch_3x3_double_2, layer.branch_3x3_double_3),
        run(average_pool(x, count_padding), layer.branch_pool),
    ]
    for found, one in zip(np.split(np.asarray(layer(MAP)), [64, 128, 224], axis=-1), expected, strict=True):
        np.testing.assert_allclose(found, one, atol=2e-5 * one.max())


@pytest.mark.parametrize("count_padding", [False, True])
def test_c(count_padding):
    layer = prepared(InceptionV3C(width=4, count_padding=count_padding))
    x = MAP.astype("float64")
    double = [getattr(layer, f"branch_7x7_double_{i}") for i in range(1, 6)]
    assert [part.window.kernel_size for part in double] == [(1, 1), (7, 1), (1, 7), (7, 1), (1, 7)]
    expected = [
        run(x, layer.branch_1x1),
        run(x, layer.branch_7x7_1, layer.branch_7x7_2, layer.branch_7x7_3),
        run(x, *double),
        run(average_pool(x, count_padding), layer.branch_pool),
    ]
    for found, one in zip(np.split(np.asarray(layer(MAP)), 4, axis=-1), expected, strict=True):
        np.testing.assert_allclose(found, one, atol=2e-5 * one.max())


@pytest.mark.parametrize("count_padding", [False, True])
def test_e(count_padding):
    x = MAP[:, :2, :2].astype("float64")
    layer = prepared(InceptionV3E(count_padding=count_padding), x.shape)
    single = run(x, layer.branch_3x3_1)
    double = run(x, layer.branch_3x3_double_1, layer.branch_3x3_double_2)
    expected = [
        run(x, layer.branch_1x1),
        run(single, layer.branch_3x3_2a),
        run(single, layer.branch_3x3_2b),
        run(double, layer.branch_3x3_double_3a),
        run(double, layer.branch_3x3_double_3b),
        run(average_pool(x, count_padding), layer.branch_pool),
    ]
    ends = np.cumsum([320, 384, 384, 384, 384])
    for found, one in zip(np.split(np.asarray(layer(x.astype("float32"))), ends, axis=-1), expected, strict=True):
        np.testing.assert_allclose(found, one, atol=2e-5 * one.max())


@pytest.mark.parametrize("cls", [InceptionV3A, InceptionV3C, InceptionV3E])
def test_b15_epsilon_and_momentum_reach_every_normalization(cls):
    layer = cls(epsilon=2e-3, momentum=0.8)
    found = [item for item in layer._flatten_layers() if isinstance(item, keras.layers.BatchNormalization)]
    assert {(item.epsilon, item.momentum) for item in found} == {(2e-3, 0.8)}
    assert len(found) == {InceptionV3A: 7, InceptionV3C: 10, InceptionV3E: 9}[cls]


def test_bad_arguments():
    with pytest.raises(ValueError, match="pool_filters must be an integer of at least 1, got 0"):
        InceptionV3A(pool_filters=0)
    with pytest.raises(ValueError, match="width must be an integer of at least 1, got 0"):
        InceptionV3C(width=0)
    with pytest.raises(ValueError, match="count_padding must be one of True, False, got None"):
        InceptionV3E(count_padding=None)
    for cls in (InceptionV3A, InceptionV3C, InceptionV3E):
        with pytest.raises(ValueError, match=rf"{cls.__name__} expects input of shape .* got \(2, 8\)"):
            cls()(np.ones((2, 8), "float32"))
