import keras
import numpy as np
import pytest
from checks.convolution import convolve, randomize, relu, unit

from keras_canon.layers import AuxiliaryHead

MAP = np.random.RandomState(0).standard_normal((2, 9, 8, 6)).astype("float32")


def average_5_by_3(x):
    rows, columns = (x.shape[1] - 5) // 3 + 1, (x.shape[2] - 5) // 3 + 1
    return np.stack(
        [np.stack([x[:, 3 * i : 3 * i + 5, 3 * j : 3 * j + 5].mean((1, 2)) for j in range(columns)], 1) for i in range(rows)], 1
    )


def adaptive_4(x):
    out = np.zeros((len(x), 4, 4, x.shape[-1]))
    for i in range(4):
        for j in range(4):
            rows = slice(i * x.shape[1] // 4, -(-(i + 1) * x.shape[1] // 4))
            out[:, i, j] = x[:, rows, j * x.shape[2] // 4 : -(-(j + 1) * x.shape[2] // 4)].mean((1, 2))
    return out


@pytest.mark.parametrize(("pooling", "normalization"), [("average", None), ("adaptive", "batch")])
def test_equation_1(pooling, normalization):
    layer = AuxiliaryHead(3, pooling, filters=4, hidden_units=5, normalization=normalization)
    layer.build(MAP.shape)
    randomize(layer)
    x = (average_5_by_3 if pooling == "average" else adaptive_4)(MAP.astype("float64"))
    if normalization:
        x = relu(unit(layer.convolution, x))
    else:
        kernel, bias = (np.asarray(weight, "float64") for weight in layer.convolution.get_weights())
        x = relu(convolve(x, kernel) + bias)
    (wh, bh), (wl, bl) = layer.hidden.get_weights(), layer.logits.get_weights()
    expected = relu(x.reshape(2, -1) @ wh + bh) @ wl + bl
    np.testing.assert_allclose(layer(MAP), expected, atol=1e-5 * max(1, np.abs(expected).max()))


def test_sizes_of_the_paper():
    layer = AuxiliaryHead(1000)
    layer.build((None, 14, 14, 512))
    assert layer.hidden.kernel.shape == (4 * 4 * 128, 1024)
    assert layer.logits.kernel.shape == (1024, 1000)


def test_dropout_acts_in_training_only():
    layer = AuxiliaryHead(3, filters=4, hidden_units=50)
    assert np.abs(layer(MAP, training=True) - layer(MAP)).max() > 0
    np.testing.assert_array_equal(layer(MAP), layer(MAP))


def test_adaptive_takes_unknown_sizes():
    inputs = keras.Input((None, None, 6))
    model = keras.Model(inputs, AuxiliaryHead(3, "adaptive", filters=4, hidden_units=5)(inputs))
    assert model(MAP).shape == (2, 3)


def test_bad_arguments():
    for name in ("units", "filters", "hidden_units"):
        with pytest.raises(ValueError, match=f"{name} must be an integer of at least 1, got 0"):
            AuxiliaryHead(**{"units": 3, name: 0})
    with pytest.raises(ValueError, match="pooling must be one of 'average', 'adaptive', got 'max'"):
        AuxiliaryHead(3, "max")
    with pytest.raises(ValueError, match=r"dropout must be at least 0 and below 1, got 1.0"):
        AuxiliaryHead(3, dropout=1.0)
    with pytest.raises(ValueError, match="normalization must be one of 'batch', None, got 'layer'"):
        AuxiliaryHead(3, normalization="layer")
    with pytest.raises(ValueError, match=r"needs a known height and width, got \(None, None, 14, 6\)"):
        AuxiliaryHead(3).build((None, None, 14, 6))
    with pytest.raises(ValueError, match=r"pool_size must be at most .* got \(5, 5\) for input \(None, 4, 14, 6\)"):
        AuxiliaryHead(3).build((None, 4, 14, 6))
    with pytest.raises(ValueError, match=r"AuxiliaryHead expects input of shape .* got \(2, 8\)"):
        AuxiliaryHead(3)(np.ones((2, 8), "float32"))
