import time

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_canon.layers import masked_softmax


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_b01_extreme_scores_next_to_a_masked_one(dtype):
    weights = masked_softmax(tf.constant([-60000.0, -60000.0, 3.0], dtype), tf.constant([True, True, False]))
    assert keras.backend.standardize_dtype(weights.dtype) == dtype
    assert tf.cast(weights, "float32").numpy().tolist() == [0.5, 0.5, 0.0]


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_b01_row_without_any_entry_is_zero_and_so_is_its_gradient(dtype):
    scores = tf.constant([[1.0, 2.0, 3.0], [4.0, -60000.0, 60000.0]], dtype)
    with tf.GradientTape() as tape:
        tape.watch(scores)
        weights = masked_softmax(scores, tf.constant([[True, False, True], [False, False, False]]))
        loss = tf.reduce_sum(weights * tf.constant([[1.0, 2.0, 3.0]], dtype))
    gradient = tape.gradient(loss, scores).numpy()
    assert weights.numpy()[1].tolist() == [0.0, 0.0, 0.0]
    assert weights.numpy()[0, 1] == 0.0
    assert np.all(np.isfinite(gradient))
    assert np.all(gradient[1] == 0.0)
    assert gradient[0, 1] == 0.0
    assert gradient[0, 0] != 0.0


def test_values_are_the_equation():
    random = np.random.RandomState(0)
    scores, mask = random.standard_normal((2, 3, 4, 5)), random.rand(2, 1, 4, 5) > 0.3
    mask[0, 0, 1] = False
    parts = np.exp(scores) * mask
    total = parts.sum(-1, keepdims=True)
    expected = np.divide(parts, total, out=np.zeros_like(parts), where=total > 0)
    np.testing.assert_allclose(masked_softmax(scores.astype("float32"), mask), expected, atol=1e-6)
    plain = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
    np.testing.assert_allclose(masked_softmax(scores.astype("float32")), plain, atol=1e-6)


def test_a_causal_mask_does_not_meet_the_slow_fused_kernel():
    """TensorFlow's fused (product, scale, sum) takes a thousand times longer for a term of shape (1, 1, T, S)."""
    query, key = tf.random.normal((2, 4, 128, 32)), tf.random.normal((2, 4, 32, 128))
    mask = tf.constant(np.tril(np.ones((1, 1, 128, 128), bool)))
    masked = tf.function(lambda: masked_softmax(tf.matmul(query * 0.5, key), mask))
    plain = tf.function(lambda: masked_softmax(tf.matmul(query * 0.5, key)))
    seconds = {}
    for name, function in (("masked", masked), ("plain", plain)):
        function()
        runs = []
        for _ in range(5):
            start = time.perf_counter()
            function()
            runs.append(time.perf_counter() - start)
        seconds[name] = min(runs)
    assert seconds["masked"] < 30 * seconds["plain"] + 0.02


def test_one_entry():
    """A sequence of one step is no mistake, so no warning is given."""
    assert masked_softmax(np.float32([[3.0], [-2.0]])).numpy().tolist() == [[1.0], [1.0]]
    assert masked_softmax(np.float32([[3.0], [-2.0]]), np.array([[True], [False]])).numpy().tolist() == [[1.0], [0.0]]
