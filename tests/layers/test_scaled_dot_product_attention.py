import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_canon.layers import scaled_dot_product_attention

RANDOM = np.random.RandomState(1)
QUERY = RANDOM.standard_normal((2, 3, 4, 6)).astype("float32")
KEY = RANDOM.standard_normal((2, 3, 5, 6)).astype("float32")
VALUE = RANDOM.standard_normal((2, 3, 5, 7)).astype("float32")
MASK = RANDOM.rand(2, 1, 4, 5) > 0.4
BIAS = RANDOM.standard_normal((1, 3, 4, 5)).astype("float32")


def loop(mask=None, bias=None, scale=6**-0.5):
    """Equation 1 for one query at a time."""
    mask = np.broadcast_to(True if mask is None else mask, (2, 3, 4, 5))
    bias = np.broadcast_to(0.0 if bias is None else bias, (2, 3, 4, 5))
    context, weights = np.zeros((2, 3, 4, 7)), np.zeros((2, 3, 4, 5))
    for index in np.ndindex(2, 3, 4):
        seen = np.flatnonzero(mask[index])
        if len(seen):
            scores = KEY[index[:2]][seen] @ QUERY[index] * scale + bias[index][seen]
            parts = np.exp(scores - scores.max())
            weights[index][seen] = parts / parts.sum()
        context[index] = weights[index] @ VALUE[index[:2]]
    return context, weights


@pytest.mark.parametrize("options", [{}, {"mask": MASK}, {"bias": BIAS}, {"mask": MASK, "bias": BIAS, "scale": 1.0}])
def test_values_are_equation_1(options):
    found = scaled_dot_product_attention(*map(tf.constant, (QUERY, KEY, VALUE)), **options, return_weights=True)
    for one, other in zip(found, loop(**options), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)


def test_agrees_with_keras():
    found = scaled_dot_product_attention(*map(tf.constant, (QUERY, KEY, VALUE)), mask=MASK)
    heads_last = [np.swapaxes(item, 1, 2) for item in (QUERY, KEY, VALUE)]
    expected = keras.ops.dot_product_attention(*heads_last, mask=MASK)
    np.testing.assert_allclose(np.swapaxes(found, 1, 2), expected, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_bias_of_minus_infinity_is_finite(dtype):
    bias = np.zeros((1, 1, 4, 5))
    bias[..., 2] = -np.inf
    bias[..., 1, :] = -np.inf
    tensors = [tf.constant(item, dtype) for item in (QUERY, KEY, VALUE, bias)]
    with tf.GradientTape() as tape:
        tape.watch(tensors[0])
        context, weights = scaled_dot_product_attention(*tensors[:3], bias=tensors[3], return_weights=True)
        loss = tf.reduce_sum(context)
    assert np.all(np.isfinite(context))
    assert np.all(np.isfinite(tape.gradient(loss, tensors[0])))
    assert np.all(weights.numpy()[:, :, [0, 2, 3], 2] == 0.0)


def test_dropout_drops_from_the_context_but_not_from_the_weights_returned():
    seed = keras.random.SeedGenerator(3)
    value = tf.eye(5, batch_shape=[2, 3])
    context, weights = scaled_dot_product_attention(
        tf.constant(QUERY), tf.constant(KEY), value, dropout=0.5, seed=seed, return_weights=True
    )
    np.testing.assert_allclose(tf.reduce_sum(weights, -1), np.ones((2, 3, 4)), atol=1e-6)
    kept = context.numpy() != 0.0
    assert 0.3 < kept.mean() < 0.7
    np.testing.assert_allclose(context.numpy()[kept], 2.0 * weights.numpy()[kept], rtol=1e-5)
