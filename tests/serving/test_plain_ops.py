"""Rewritten ops compute what they computed before, and what cannot be rewritten is left alone."""

import numpy as np
import pytest
import tensorflow as tf

from keras_canon.serving.freezing import freeze
from keras_canon.serving.plain_ops import in_plain_ops


def rewritten(compute, x, litert=False):
    """Freeze a function, compare the answers of its core and of the core in plain ops, and return the ops of both."""
    function = tf.function(lambda value: [compute(value)], input_signature=[tf.TensorSpec([None] * x.ndim, x.dtype)])
    core = freeze(function.get_concrete_function())
    plain = in_plain_ops(core, litert=litert)
    (before,), (after,) = (one.to_function()(tf.constant(x)) for one in (core, plain))
    np.testing.assert_allclose(after, before, rtol=0, atol=1e-6)
    return [{node.op for node in one.graph.node} for one in (core, plain)]


@pytest.mark.parametrize(
    "compute",
    [
        lambda x: x[:, None],
        lambda x: x[None],
        lambda x: x[:, :, None],
        lambda x: x[..., None],
        lambda x: x[..., None, :],
        lambda x: x[:, None, :],
        lambda x: x[:, None, :, None],
        lambda x: x[:, None, None],
    ],
)
def test_a_new_axis_becomes_expand_dims(compute):
    before, after = rewritten(compute, np.array([[True, False, True], [False, False, True]]))
    assert "StridedSlice" in before
    assert "StridedSlice" not in after
    assert "ExpandDims" in after


@pytest.mark.parametrize(
    "compute", [lambda x: x[1:, None], lambda x: x[::-1, None], lambda x: x[0, None], lambda x: x[..., None, None], lambda x: x[:1]]
)
def test_other_slices_stay(compute):
    before, after = rewritten(compute, np.arange(6.0, dtype="float32").reshape(2, 3))
    assert before == after


def test_a_reshape_of_a_reshape_is_one():
    x = np.arange(24.0, dtype="float32").reshape(2, 12)
    before, after = rewritten(lambda x: tf.reshape(tf.reshape(tf.abs(x), (-1, 3)), (tf.shape(x)[0], 2, 6)), x)
    assert before == after
    spec = tf.TensorSpec((None, 12), "float32")
    core = freeze(tf.function(lambda x: [tf.reshape(tf.reshape(x, (-1, 3)), (-1, 6))], input_signature=[spec]).get_concrete_function())
    plain = in_plain_ops(core, litert=False)
    fed = plain.inputs[0].split(":")[0]
    assert [node.input[0] for node in plain.graph.node if node.op == "Reshape"] == [fed, fed]


def test_erfc_is_one_minus_erf_but_for_litert():
    x = np.linspace(-4, 4, 33, dtype="float32")
    before, after = rewritten(tf.math.erfc, x)
    assert "Erfc" in before
    assert {"Erf", "Sub"} <= after
    assert "Erfc" not in after
    assert "Erfc" in rewritten(tf.math.erfc, x, litert=True)[1]


@pytest.mark.parametrize("compute", [tf.square, lambda x: tf.math.squared_difference(x, tf.reduce_mean(x, 1, keepdims=True))])
def test_a_square_is_a_power_but_for_litert(compute):
    x = np.linspace(-4, 4, 32, dtype="float32").reshape(8, 4)
    before, after = rewritten(compute, x)
    square = {"Square", "SquaredDifference"}
    assert before & square
    assert "Pow" in after
    assert not after & square
    assert rewritten(compute, x, litert=True)[1] & square
