"""Filters of logits and the draw."""

import numpy as np
import pytest
import tensorflow as tf

from keras_canon import zoo
from keras_canon.zoo import sampling

LOGITS = tf.math.log([[0.5, 0.25, 0.15, 0.1], [0.1, 0.15, 0.25, 0.5]])


def kept(logits):
    return np.isfinite(logits).tolist()


def test_temperature_sharpens():
    np.testing.assert_allclose(tf.nn.softmax(sampling.temperature(LOGITS, 0.5))[0], np.array([25, 6.25, 2.25, 1]) / 34.5, atol=1e-6)


def test_top_k_keeps_the_largest():
    assert kept(sampling.top_k(LOGITS, 2)) == [[True, True, False, False], [False, False, True, True]]
    assert np.all(kept(sampling.top_k(LOGITS, 9)))


@pytest.mark.parametrize(("share", "count"), [(1e-6, 1), (0.5, 1), (0.6, 2), (0.75, 2), (0.8, 3), (1.0, 4)])
def test_top_p_keeps_the_fewest_that_reach_the_share(share, count):
    assert np.sum(kept(sampling.top_p(LOGITS, share)), axis=1).tolist() == [count, count]


def test_repetition_penalty_lowers_what_was_said():
    logits = tf.constant([[2.0, -2.0, 1.0]])
    np.testing.assert_allclose(sampling.repetition_penalty(logits, [[0, 1]], 2.0), [[1.0, -4.0, 1.0]])
    np.testing.assert_allclose(sampling.repetition_penalty(logits, [[0, 1]], 2.0, mask=[[False, True]]), [[2.0, -4.0, 1.0]])


def test_repetition_penalty_is_that_of_a_table_of_all_ids():
    random = np.random.default_rng(0)
    logits = tf.constant(random.normal(size=(3, 7)), tf.float32)
    ids, mask = random.integers(-1, 7, (3, 5)), random.random((3, 5)) < 0.6
    for given in (None, mask):
        used = ((ids[..., None] == np.arange(7)) & (True if given is None else given[..., None])).any(axis=1)
        wanted = np.where(used, np.where(logits > 0, logits / 1.3, logits * 1.3), logits)
        np.testing.assert_allclose(sampling.repetition_penalty(logits, ids, 1.3, given), wanted, rtol=1e-6)
    traced = tf.function(lambda ids: sampling.repetition_penalty(logits, ids, 1.3), input_signature=[tf.TensorSpec((None, None), tf.int64)])
    tensors = [tensor for operation in traced.get_concrete_function().graph.get_operations() for tensor in operation.outputs]
    assert not any(tensor.dtype == tf.bool and tensor.shape.rank == 3 for tensor in tensors), "a row of the vocabulary for each id"


def test_a_seed_for_each_row_draws_what_the_row_draws_alone():
    logits = tf.constant(np.random.default_rng(0).normal(size=(3, 40)), tf.float32)
    found = sampling.sample(logits, tf.constant([[7, 8, 7], [0, 1, 2]]))
    alone = [sampling.sample(logits[row : row + 1], seed)[0] for row, seed in enumerate([(7, 0), (8, 1), (7, 2)])]
    assert found.numpy().tolist() == [int(token) for token in alone]


def test_draws_follow_the_probabilities_and_the_seed():
    many = tf.repeat(LOGITS[:1], 20000, axis=0)
    drawn = sampling.sample(many, (1, 2))
    np.testing.assert_allclose(np.bincount(drawn, minlength=4) / 20000, [0.5, 0.25, 0.15, 0.1], atol=0.015)
    np.testing.assert_array_equal(drawn, sampling.sample(many, (1, 2)))
    assert np.any(drawn != sampling.sample(many, (1, 3)))
    assert set(np.asarray(sampling.sample(sampling.top_k(many, 2), (4, 4)))) == {0, 1}


def test_filters_run_in_a_graph():
    @tf.function
    def draw(logits, value):
        return sampling.sample(sampling.top_p(sampling.temperature(logits, value), 0.9), (1, 2))

    assert draw(LOGITS, tf.constant(0.7)).shape == (2,)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sampling.temperature(LOGITS, 0.0), "temperature must be above 0"),
        (lambda: sampling.top_k(LOGITS, 0), "top_k must be"),
        (lambda: sampling.top_p(LOGITS, 1.5), "above 0 and at most 1"),
        (lambda: sampling.repetition_penalty(LOGITS, [[0], [0]], -1.0), "repetition_penalty must be above 0"),
    ],
)
def test_errors(call, message):
    with pytest.raises(zoo.CanonError, match=message):
        call()


@pytest.mark.parametrize("value", [1e-7, 1e-37, 1e-45])
def test_next_to_no_temperature_is_the_likeliest(value):
    logits = tf.constant([[1.0, 3.0, 2.0], [1.0, 2.0, 90.0]])
    for filtered in (sampling.temperature(logits, value), sampling.top_p(sampling.temperature(logits, value), 0.9)):
        np.testing.assert_array_equal(sampling.sample(filtered, (0, 0)), [1, 2])
