import json
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from keras_canon.layers import LpPooling2D

GOLDEN = json.loads((Path(__file__).parents[1] / "golden/sequence/functions.json").read_text())


def test_golden():
    record = GOLDEN["outputs"]["lp_pool_2_window2_stride2"]
    expected = np.array(record["values"], "float32").reshape(record["shape"])
    found = LpPooling2D(norm=2, pool_size=2, strides=2)(np.array(GOLDEN["inputs"]["map_nhwc"], "float32"))
    assert np.max(np.abs(found - expected)) <= 1e-5


@pytest.mark.parametrize("norm", [1.0, 2.0, 3.0, 2.5, 8.0])
def test_equation(norm):
    x = np.random.RandomState(0).standard_normal((2, 7, 6, 3)).astype("float32")
    layer = LpPooling2D(norm, (3, 2), (2, 1))
    expected = np.zeros(layer.compute_output_shape(x.shape))
    for i in range(expected.shape[1]):
        for j in range(expected.shape[2]):
            window = np.abs(x[:, 2 * i : 2 * i + 3, j : j + 2].astype("float64"))
            expected[:, i, j] = (window**norm).sum(axis=(1, 2)) ** (1 / norm)
    np.testing.assert_allclose(layer(x), expected, rtol=1e-5)


@pytest.mark.parametrize("norm", [1.0, 2.0, 3.0])
def test_window_of_zeros_has_value_and_gradient_zero(norm):
    x = tf.zeros((1, 2, 2, 1))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = LpPooling2D(norm)(x)
    assert np.all(y == 0.0)
    assert np.all(tape.gradient(y, x) == 0.0)


def test_b07_squares_of_large_float16_values():
    found = LpPooling2D(2, dtype="mixed_float16")(np.full((1, 2, 2, 1), 30000.0, "float32"))
    assert float(found[0, 0, 0, 0]) == 60000.0


def test_bad_arguments():
    with pytest.raises(ValueError, match=r"norm must be at least 1.0, got 0.5"):
        LpPooling2D(0.5)
    with pytest.raises(ValueError, match="pool_size must be an integer of at least 1, got 0"):
        LpPooling2D(2, 0)
    with pytest.raises(ValueError, match="strides must be an integer of at least 1, got 0"):
        LpPooling2D(2, 2, 0)
    with pytest.raises(ValueError, match=r"pool_size must be at most .* got \(3, 3\) for input \(1, 2, 5, 1\)"):
        LpPooling2D(2, 3)(np.ones((1, 2, 5, 1), "float32"))
    with pytest.raises(ValueError, match=r"LpPooling2D expects input .* got \(2, 3, 4\)"):
        LpPooling2D()(np.ones((2, 3, 4), "float32"))
