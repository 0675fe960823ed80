"""The hand-written derivative of the GRU kernel against differences, and both its loops against each other."""

import numpy as np
import pytest
import tensorflow as tf
from checks.recurrent import MASK, sequence

from keras_canon.layers.gru_kernel import gru_kernel, gru_reset_before_kernel
from keras_canon.layers.recurrent_kernel import scan


def parts(dtype):
    random = np.random.RandomState(5)
    weights = [tf.constant(0.5 * random.standard_normal(shape), dtype) for shape in ((4, 9), (3, 9), (9,), (9,))]
    return tf.constant(sequence(), dtype), weights, [tf.constant(0.5 * random.standard_normal((6, 3)), dtype)]


def loss(mode, inputs, weights, states, mask, factors):
    outputs, final = scan(mode, gru_kernel(*weights), inputs, states, mask)
    return tf.reduce_sum(outputs * factors[0]) + tf.reduce_sum(final[0] * factors[1])


@pytest.mark.parametrize("mask", [None, MASK], ids=["no_mask", "mask"])
def test_derivative_equals_differences_and_the_plain_loop(mask):
    inputs, weights, states = parts("float64")
    random = np.random.RandomState(6)
    factors = [tf.constant(random.standard_normal(shape)) for shape in ((6, 10, 3), (6, 3))]
    sources = [inputs, *weights, *states]
    found = {}
    for mode in ("xla", "loop"):
        with tf.GradientTape() as tape:
            tape.watch(sources)
            value = loss(mode, inputs, weights, states, mask, factors)
        found[mode] = tape.gradient(value, sources)
    for index, (fast, plain) in enumerate(zip(found["xla"], found["loop"], strict=True)):
        np.testing.assert_allclose(fast, plain, atol=1e-10)
        direction = tf.constant(random.standard_normal(fast.shape))
        values = []
        for sign in (1, -1):
            moved = [item + sign * 1e-5 * direction if place == index else item for place, item in enumerate(sources)]
            values.append(float(loss("loop", moved[0], moved[1:5], moved[5:], mask, factors)))
        assert (values[0] - values[1]) / 2e-5 == pytest.approx(float(tf.reduce_sum(fast * direction)), abs=1e-6)


def test_reset_before_is_another_function_with_a_plain_loop_only():
    inputs, (kernel, recurrent_kernel, bias, _), states = parts("float32")
    before = gru_reset_before_kernel(kernel, recurrent_kernel, bias)
    assert before.trainable is None
    assert before.cudnn_parameters is None
    outputs, _ = scan("loop", before, inputs, states)
    after, _ = scan("loop", gru_kernel(kernel, recurrent_kernel, bias, tf.zeros_like(bias)), inputs, states)
    assert np.max(np.abs(outputs - after)) > 1e-3
