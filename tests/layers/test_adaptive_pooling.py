import json
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_canon.layers import AdaptiveAveragePooling2D, AdaptiveMaxPooling2D

GOLDEN = json.loads((Path(__file__).parents[1] / "golden/sequence/functions.json").read_text())
BOTH = [(AdaptiveAveragePooling2D, np.mean), (AdaptiveMaxPooling2D, np.max)]


def golden(name):
    record = GOLDEN["outputs"][name]
    return np.array(record["values"], "float32").reshape(record["shape"])


def by_loops(x, size, reduce):
    batch, height, width, channels = x.shape
    out = np.zeros((batch, *size, channels), "float32")
    for i in range(size[0]):
        for j in range(size[1]):
            rows = slice(i * height // size[0], -(-(i + 1) * height // size[0]))
            columns = slice(j * width // size[1], -(-(j + 1) * width // size[1]))
            out[:, i, j] = reduce(x[:, rows, columns], axis=(1, 2))
    return out


@pytest.mark.parametrize(
    ("cls", "name"), [(AdaptiveAveragePooling2D, "adaptive_average_pool_3x2"), (AdaptiveMaxPooling2D, "adaptive_max_pool_3x2")]
)
def test_golden(cls, name):
    found = cls((3, 2))(np.array(GOLDEN["inputs"]["map_nhwc"], "float32"))
    assert np.max(np.abs(found - golden(name))) <= 1e-5


@pytest.mark.parametrize(("cls", "reduce"), BOTH)
def test_any_target_with_known_and_unknown_size(cls, reduce):
    random = np.random.RandomState(0)
    for height, width, size in [
        (7, 5, (3, 2)),
        (7, 5, (5, 4)),
        (6, 4, (3, 2)),
        (3, 2, (7, 5)),
        (13, 1, (6, 3)),
        (7, 5, (3, 1)),
        (5, 7, (1, 3)),
        (1, 1, (2, 2)),
        (8, 8, (1, 1)),
        (5, 7, (5, 7)),
    ]:
        x = random.standard_normal((2, height, width, 3)).astype("float32")
        layer = cls(size)
        expected = by_loops(x, size, reduce)
        np.testing.assert_allclose(layer(x), expected, atol=1e-6)
        unknown = tf.function(layer, input_signature=[tf.TensorSpec((None, None, None, 3))])
        np.testing.assert_allclose(unknown(x), expected, atol=1e-6)


@pytest.mark.parametrize(("cls", "reduce"), BOTH)
def test_gradient_with_unknown_size_equals_that_with_known_size(cls, reduce):
    layer = cls((3, 2))
    x = tf.constant(np.random.RandomState(0).standard_normal((2, 7, 5, 3)).astype("float32"))
    weights = np.random.RandomState(1).standard_normal((2, 3, 2, 3)).astype("float32")

    def gradient(value):
        with tf.GradientTape() as tape:
            tape.watch(value)
            loss = tf.reduce_sum(layer(value) * weights)
        return tape.gradient(loss, value)

    unknown = tf.function(gradient, input_signature=[tf.TensorSpec((None, None, None, 3))], autograph=False)
    np.testing.assert_allclose(unknown(x), gradient(x), atol=1e-6)


@pytest.mark.parametrize("cls", [AdaptiveAveragePooling2D, AdaptiveMaxPooling2D])
def test_functional_model_of_unknown_size_and_empty_batch(cls):
    inputs = keras.Input((None, None, 3))
    model = keras.Model(inputs, cls(2)(inputs))
    assert model.output_shape == (None, 2, 2, 3)
    assert model.predict(np.ones((1, 9, 4, 3), "float32"), verbose=0).shape == (1, 2, 2, 3)
    assert cls(2)(np.ones((0, 9, 4, 3), "float32")).shape == (0, 2, 2, 3)


def test_b07_average_of_large_float16_values():
    layer = AdaptiveAveragePooling2D(2, dtype="mixed_float16")
    x = np.full((1, 8, 6, 1), 60000.0, "float32")
    np.testing.assert_array_equal(np.asarray(layer(x), "float32"), np.full((1, 2, 2, 1), np.float16(60000.0)))
    unknown = tf.function(layer, input_signature=[tf.TensorSpec((None, None, None, 1))])
    np.testing.assert_array_equal(np.asarray(unknown(x), "float32"), np.full((1, 2, 2, 1), np.float16(60000.0)))


@pytest.mark.parametrize("cls", [AdaptiveAveragePooling2D, AdaptiveMaxPooling2D])
def test_bad_arguments(cls):
    with pytest.raises(ValueError, match="output_size must be an integer of at least 1, got 0"):
        cls(0)
    with pytest.raises(ValueError, match=r"output_size must be an integer or 2 of them, got \(1, 2, 3\)"):
        cls((1, 2, 3))
    with pytest.raises(ValueError, match=r"expects input of shape \(batch, height, width, channels\) \(4 axes\), got \(2, 3, 4\)"):
        cls(1)(np.ones((2, 3, 4), "float32"))
