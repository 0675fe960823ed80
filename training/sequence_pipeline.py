"""From a split of sequences to padded batches that a model takes."""

from collections.abc import Callable, Iterator
from typing import Any, cast

import numpy as np
import tensorflow as tf

from .data.sequences import Column, Ragged, SequenceSplit

BUCKET = 8  # batches are as long as the next multiple of so many steps, so that few shapes occur
_POOL = 50  # batches among which examples are sorted by length


def bucketed(order: np.ndarray, lengths: np.ndarray, batch_size: int, seed: int, epoch: int) -> np.ndarray:
    """Return an order whose batches hold examples of nearly one length; the same arguments give the same order.

    The order is cut into pools of 50 batches. Each pool is sorted by length and cut into batches, and the batches of the epoch are
    shuffled. Examples of one length keep their order, and the short last batch stays the last.

    Args:
        order: positions, in the order of the epoch.
        lengths: number of steps by position.
        batch_size: examples a batch.
        seed, epoch: decide the order of the batches.
    """
    whole = len(order) // batch_size * batch_size
    if len(np.unique(lengths)) < 2 or not whole:
        return order
    pools = [order[start : min(start + _POOL * batch_size, whole)] for start in range(0, whole, _POOL * batch_size)]
    batches = np.concatenate([pool[np.argsort(lengths[pool], kind="stable")] for pool in pools]).reshape(-1, batch_size)
    shuffled = np.random.default_rng((seed, epoch, 1)).permutation(len(batches))
    return np.concatenate([batches[shuffled].reshape(-1), order[whole:]])


def sequence_reader(
    split: SequenceSplit, batch_size: int, bucket: int = BUCKET, seed: int = 0, limit: int | None = None
) -> Callable[..., tf.data.Dataset]:
    """Return a function from an order of positions (None for all, ascending) and an epoch to batches (inputs, labels).

    Every column of a batch is as long as its longest example needs, rounded up to a multiple of `bucket` but not beyond the stored
    array or `limit`; 0 fills up. No example is cut. A model with one input is given a tensor, one with several a mapping by name.
    Epochs differ in what is masked alone, and only in a split that has a masking.

    Args:
        split: where examples come from.
        batch_size: examples a batch.
        bucket: 1 pads to the longest example alone.
        seed: of the masks.
        limit: how many steps a model has positions for, as `sequence_lengths.step_limit` says; None for any number.
    """
    plain = _batches(split, bucket, limit) if split.masking is None else None

    def read(order: np.ndarray | None, epoch: int = 0) -> tf.data.Dataset:
        positions = np.arange(len(split)) if order is None else order
        batch = plain or _batches(split.masked(seed, epoch), bucket, limit)
        with tf.device("CPU:0"):
            return tf.data.Dataset.from_tensor_slices(positions).batch(batch_size).map(batch).prefetch(2)

    return read


def _batches(split: SequenceSplit, bucket: int, limit: int | None) -> Callable[[tf.Tensor], tuple[Any, tf.Tensor]]:
    """Return a function from the positions of a batch to its inputs and labels."""
    with tf.device("CPU:0"):
        takes = {name: _taker(column, split, bucket, limit) for name, column in split.inputs.items()}
        take_labels = _taker(split.labels, split, bucket, limit)

    def batch(index: tf.Tensor):
        inputs = {name: take(index) for name, take in takes.items()}
        return inputs if len(inputs) > 1 else next(iter(inputs.values())), take_labels(index)

    return batch


def _taker(column: Column, split: SequenceSplit, bucket: int, limit: int | None) -> Callable[[tf.Tensor], tf.Tensor]:
    """Return what takes the rows of a batch out of a column."""
    if isinstance(column, Ragged):
        rows = cast(Any, tf.RaggedTensor).from_row_splits(tf.constant(column.values), tf.constant(column.starts))

        def take_ragged(index: tf.Tensor) -> tf.Tensor:
            values = tf.gather(rows, index).to_tensor(0)  # (B, longest)
            missing = _padded(tf.shape(values)[1], bucket, limit) - tf.shape(values)[1]
            return tf.ensure_shape(tf.pad(values, tf.stack([[0, 0], [0, missing]])), (None, None))

        return take_ragged
    if column.ndim == 4:
        return _take_pictures(column, split, bucket)
    values = tf.constant(column)
    longest = column.shape[1] if column.ndim > 1 else 1
    if column.ndim < 2 or longest == 1 or split.lengths.min() == longest:
        return lambda index: tf.gather(values, index)
    lengths = tf.constant(split.lengths)

    def take_front(index: tf.Tensor) -> tf.Tensor:
        steps = tf.reduce_max(tf.gather(lengths, index))
        steps = tf.minimum(_padded(steps, bucket, limit), longest)
        return tf.ensure_shape(tf.gather(values, index)[:, :steps], (None, None, *column.shape[2:]))

    return take_front


def _padded(steps: tf.Tensor, bucket: int, limit: int | None) -> tf.Tensor:
    """Return how many steps a batch has whose longest example has so many."""
    rounded = (steps + bucket - 1) // bucket * bucket
    return rounded if limit is None else tf.maximum(steps, tf.minimum(rounded, limit))


def _take_pictures(column: np.ndarray, split: SequenceSplit, bucket: int) -> Callable[[tf.Tensor], tf.Tensor]:
    """Return what takes pictures of lines, grey values from 0 to 1, as wide as the widest of a batch needs."""
    values, widths = tf.constant(column), tf.constant(split.lengths)

    def take(index: tf.Tensor) -> tf.Tensor:
        widest = tf.cast(tf.reduce_max(tf.gather(widths, index)), "int32")
        widest = tf.minimum(_padded(widest, bucket, None), column.shape[2])
        pictures = tf.cast(tf.gather(values, index)[:, :, :widest], "float32") / 255.0
        return tf.ensure_shape(pictures, (None, column.shape[1], None, column.shape[3]))

    return take


def in_order(
    split: SequenceSplit, batch_size: int, order: np.ndarray | None = None, limit: int | None = None
) -> Iterator[tuple[np.ndarray, object, tf.Tensor]]:
    """Yield (positions, inputs, labels) of a whole split, in an order or sorted by length so that little is padded.

    Args:
        split, batch_size, limit: as for `sequence_reader`.
        order: positions; None sorts.
    """
    order = np.argsort(split.lengths, kind="stable") if order is None else order
    starts = range(0, len(order), batch_size)
    for start, (inputs, labels) in zip(starts, sequence_reader(split, batch_size, limit=limit)(order), strict=True):
        yield order[start : start + batch_size], inputs, labels
