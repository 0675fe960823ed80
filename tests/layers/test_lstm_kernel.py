"""The hand-written derivative of the LSTM kernel against differences, and both its loops against each other."""

import numpy as np
import pytest
import tensorflow as tf
from checks.recurrent import MASK, sequence

from keras_canon.layers.lstm_kernel import lstm_kernel
from keras_canon.layers.recurrent_kernel import scan


def parts(dtype):
    random = np.random.RandomState(5)
    weights = [tf.constant(0.5 * random.standard_normal(shape), dtype) for shape in ((4, 12), (3, 12), (12,))]
    states = [tf.constant(0.5 * random.standard_normal((6, 3)), dtype) for _ in range(2)]
    return tf.constant(sequence(), dtype), weights, states


def loss(mode, inputs, weights, states, mask, factors):
    outputs, final = scan(mode, lstm_kernel(*weights), inputs, states, mask)
    return tf.add_n([tf.reduce_sum(item * factor) for item, factor in zip([outputs, *final], factors, strict=True)])


@pytest.mark.parametrize("mask", [None, MASK], ids=["no_mask", "mask"])
def test_derivative_equals_differences_and_the_plain_loop(mask):
    inputs, weights, states = parts("float64")
    random = np.random.RandomState(6)
    factors = [tf.constant(random.standard_normal(shape)) for shape in ((6, 10, 3), (6, 3), (6, 3))]
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
            values.append(float(loss("loop", moved[0], moved[1:4], moved[4:], mask, factors)))
        assert (values[0] - values[1]) / 2e-5 == pytest.approx(float(tf.reduce_sum(fast * direction)), abs=1e-6)


def test_extreme_inputs_stay_finite():
    inputs, weights, states = parts("float32")
    for mode in ("xla", "loop"):
        with tf.GradientTape() as tape:
            tape.watch(weights)
            outputs, _ = scan(mode, lstm_kernel(*weights), inputs * 1e6, states)
            value = tf.reduce_sum(outputs)
        assert np.isfinite(outputs).all()
        assert all(np.isfinite(item).all() for item in tape.gradient(value, weights))
