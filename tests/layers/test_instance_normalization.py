import json
from pathlib import Path

import numpy as np
import pytest

from keras_canon.layers import GroupNormalization, InstanceNormalization

GOLDEN = json.loads((Path(__file__).parents[1] / "golden/sequence/functions.json").read_text())
MAP = np.array(GOLDEN["inputs"]["map_nhwc"], "float32")


def test_golden():
    record = GOLDEN["outputs"]["instance_norm_eps1e-5"]
    expected = np.array(record["values"], "float32").reshape(record["shape"])
    assert np.max(np.abs(InstanceNormalization(epsilon=1e-5)(MAP) - expected)) <= 1e-5


def test_equation_with_weights():
    layer = InstanceNormalization(epsilon=1e-2)
    layer.build(MAP.shape)
    gamma, beta = np.random.RandomState(0).standard_normal((2, 6)).astype("float32")
    layer.set_weights([gamma, beta])
    mean, variance = MAP.mean((1, 2), keepdims=True), MAP.var((1, 2), keepdims=True)
    np.testing.assert_allclose(layer(MAP), (MAP - mean) / np.sqrt(variance + 1e-2) * gamma + beta, atol=1e-5)


def test_is_group_normalization_with_a_group_per_channel():
    np.testing.assert_allclose(InstanceNormalization()(MAP), GroupNormalization(groups=6)(MAP), atol=1e-6)


@pytest.mark.parametrize("dtype", ["mixed_float16", "mixed_bfloat16"])
def test_b07_values_above_the_range_of_float16(dtype):
    x = np.random.RandomState(0).uniform(60000, 70000, (2, 16, 16, 4)).astype("float32")
    found = np.asarray(InstanceNormalization(dtype=dtype)(x), "float32")
    assert np.all(np.isfinite(found))
    assert np.max(np.abs(found.mean(axis=(1, 2)))) <= 1e-2
    assert np.max(np.abs(found.var(axis=(1, 2)) - 1.0)) <= 1e-2


def test_bad_arguments():
    with pytest.raises(ValueError, match=r"epsilon must be at least 0.0, got -1"):
        InstanceNormalization(epsilon=-1)
    with pytest.raises(ValueError, match=r"at least 3 axes and known channels, got \(2, 3\)"):
        InstanceNormalization()(np.ones((2, 3), "float32"))
