import keras
import numpy as np
import pytest
from checks.convolution import randomize, relu, unit

from keras_canon.layers import InceptionV3B, InceptionV3D

MAP = np.random.RandomState(0).standard_normal((1, 5, 6, 3)).astype("float32")


def run(x, *parts):
    for part in parts:
        x = relu(unit(part, x))
    return x


def max_pool(x):
    rows, columns = (x.shape[1] - 3) // 2 + 1, (x.shape[2] - 3) // 2 + 1
    return np.stack([np.stack([x[:, 2 * i : 2 * i + 3, 2 * j : 2 * j + 3].max((1, 2)) for j in range(columns)], 1) for i in range(rows)], 1)


def assert_branches(layer, branches, ends):
    layer.build(MAP.shape)
    randomize(layer)
    x = MAP.astype("float64")
    expected = [run(x, *(getattr(layer, name) for name in names)) for names in branches] + [max_pool(x)]
    found = np.asarray(layer(MAP))
    assert found.shape == (1, 2, 2, ends[-1] + 3)
    for one, other in zip(np.split(found, ends, axis=-1), expected, strict=True):
        np.testing.assert_allclose(one, other, atol=2e-5 * np.abs(other).max())


def test_b():
    assert_branches(InceptionV3B(), [["branch_3x3"], [f"branch_3x3_double_{i}" for i in (1, 2, 3)]], [384, 480])


def test_d():
    assert_branches(InceptionV3D(), [["branch_3x3_1", "branch_3x3_2"], [f"branch_7x7x3_{i}" for i in (1, 2, 3, 4)]], [320, 512])


@pytest.mark.parametrize(("cls", "count"), [(InceptionV3B, 4), (InceptionV3D, 6)])
def test_b15_epsilon_and_momentum_reach_every_normalization(cls, count):
    layer = cls(epsilon=2e-3, momentum=0.8)
    found = [item for item in layer._flatten_layers() if isinstance(item, keras.layers.BatchNormalization)]
    assert [(item.epsilon, item.momentum) for item in found] == [(2e-3, 0.8)] * count


@pytest.mark.parametrize("cls", [InceptionV3B, InceptionV3D])
def test_bad_arguments(cls):
    with pytest.raises(ValueError, match=r"momentum must be at least 0 and below 1, got 1.0"):
        cls(momentum=1.0)
    with pytest.raises(ValueError, match=rf"{cls.__name__} expects input of shape .* got \(2, 8\)"):
        cls()(np.ones((2, 8), "float32"))
    with pytest.raises(ValueError, match=r"got (height and width )?\(.*2, 5"):
        cls()(np.ones((1, 2, 5, 3), "float32"))
