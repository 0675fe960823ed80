import json
from pathlib import Path

import numpy as np
import pytest

from keras_canon.layers import LocalResponseNormalization

GOLDEN = json.loads((Path(__file__).parents[1] / "golden/sequence/functions.json").read_text())
MAP = np.array(GOLDEN["inputs"]["map_nhwc"], "float32")


def test_golden():
    record = GOLDEN["outputs"]["local_response_norm_size5_alpha1e-4_beta0.75_k2"]
    expected = np.array(record["values"], "float32").reshape(record["shape"])
    found = LocalResponseNormalization(size=5, alpha=1e-4, beta=0.75, bias=2.0)(30 * MAP)
    assert np.max(np.abs(found - expected)) <= 1e-5


@pytest.mark.parametrize("size", [1, 2, 4, 5, 9])
def test_equation(size):
    x = MAP.astype("float64")
    energy = np.zeros_like(x)
    for i in range(6):
        for j in range(max(0, i - size // 2), min(5, i + (size - 1) // 2) + 1):
            energy[..., i] += x[..., j] ** 2
    found = LocalResponseNormalization(size, alpha=0.3, beta=0.6, bias=1.5)(MAP)
    np.testing.assert_allclose(found, x / (1.5 + 0.3 * energy) ** 0.6, atol=1e-5)


def test_b07_squares_of_large_float16_values():
    found = np.asarray(LocalResponseNormalization(dtype="mixed_float16")(np.full((1, 1, 1, 5), 60000.0, "float32")), "float32")
    expected = 60000.0 / (2.0 + 1e-4 * 60000.0**2 * np.array([3, 4, 5, 4, 3])) ** 0.75
    np.testing.assert_allclose(found[0, 0, 0], expected, rtol=2e-3)


def test_bad_arguments():
    with pytest.raises(ValueError, match="size must be an integer of at least 1, got 0"):
        LocalResponseNormalization(size=0)
    with pytest.raises(ValueError, match=r"alpha must be at least 0.0, got -1"):
        LocalResponseNormalization(alpha=-1)
    with pytest.raises(ValueError, match=r"beta must be at least 0.0, got -1"):
        LocalResponseNormalization(beta=-1)
    with pytest.raises(ValueError, match="bias must be above 0, got 0"):
        LocalResponseNormalization(bias=0)
    with pytest.raises(ValueError, match=r"LocalResponseNormalization expects input .* got \(2, 3\)"):
        LocalResponseNormalization()(np.ones((2, 3), "float32"))
