"""Batches of examples in memory: the part of a data set's interface that the training loop uses."""

import dataclasses
import threading

import numpy as np
import pytest
import tensorflow as tf

from keras_canon.training.memory_batches import MemoryBatches


@pytest.fixture
def batches():
    spec = tf.TensorSpec((None, 1, 1, 1)), tf.TensorSpec((None,), "int64")
    return MemoryBatches(pictures_and_labels, spec, np.array([10, 3, 5, 0, 7, 1, 2]), batch_size=3)


def pictures_and_labels(index):
    return tf.reshape(tf.cast(index, "float32"), (-1, 1, 1, 1)), index


def rows(batches):
    return [labels.numpy().tolist() for _, labels in batches]


def test_batches_follow_the_order_and_the_last_is_short(batches):
    assert rows(batches) == [[10, 3, 5], [0, 7, 1], [2]]
    assert all((images[:, 0, 0, 0] == tf.cast(labels, "float32")).numpy().all() for images, labels in batches)


@pytest.mark.parametrize("together", [1, 12, 24, 10**6])
def test_batches_are_the_same_however_many_are_taken_at_once(batches, together, monkeypatch):
    monkeypatch.setattr("keras_canon.training.memory_batches._TOGETHER", together)
    assert rows(batches) == [[10, 3, 5], [0, 7, 1], [2]]
    assert rows(batches.take(2)) == [[10, 3, 5], [0, 7, 1]]


@pytest.mark.parametrize("count", range(5))
def test_take_and_skip_are_those_of_a_data_set(batches, count):
    peer = tf.data.Dataset.from_tensor_slices(batches.order).batch(3)
    for ours, theirs in ((batches.take(count), peer.take(count)), (batches.skip(count), peer.skip(count))):
        assert rows(ours) == [index.numpy().tolist() for index in theirs]
        assert len(ours) == ours.cardinality() == int(theirs.cardinality())
    assert rows(batches.take(2).skip(1)) == rows(batches.skip(1).take(1)) == [[0, 7, 1]]


def test_signature_fits_every_batch(batches):
    for element in batches:
        assert all(spec.is_compatible_with(value) for spec, value in zip(batches.element_spec, element, strict=True))


def test_each_batch_is_mixed_by_itself(batches):
    def mix(images, labels, index):
        return images + tf.cast(index[0], "float32"), labels + index

    mixed = dataclasses.replace(batches, mix=mix)
    assert rows(mixed) == [[20, 6, 10], [0, 14, 2], [4]]
    assert [images[:, 0, 0, 0].numpy().tolist() for images, _ in mixed.skip(1)] == [[0, 7, 1], [4]]


def test_batches_made_ahead_are_the_same(batches):
    def mix(images, labels, index):
        return images + tf.cast(index[0], "float32"), labels + index

    for one in (batches, dataclasses.replace(batches, mix=mix), batches.take(2), batches.skip(2)):
        ahead = dataclasses.replace(one, ahead=True)
        assert rows(ahead) == rows(one)
        for (images, _), (others, _) in zip(ahead, one, strict=True):
            np.testing.assert_array_equal(images, others)


def test_an_error_ahead_comes_where_the_batch_would_and_leaves_no_thread(batches, monkeypatch):
    monkeypatch.setattr("keras_canon.training.memory_batches._TOGETHER", 12)

    def broken(index):
        if 0 in index.numpy():
            raise ValueError("cannot be read")
        return pictures_and_labels(index)

    left = iter(dataclasses.replace(batches, rows=broken, ahead=True))
    assert next(left)[1].numpy().tolist() == [10, 3, 5]
    with pytest.raises(ValueError, match="cannot be read"):
        next(left)
    # a loop that is left early ends the thread too
    for _ in dataclasses.replace(batches, ahead=True):
        break
    assert not [thread.name for thread in threading.enumerate() if thread.name.startswith("batches")]
