"""A data set as the training loop reads it: three splits, each readable by position in any order."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import tensorflow as tf

from .stores import Store


@dataclass(frozen=True, eq=False)
class Split:
    """One of the three parts of a data set; its examples have the positions 0 to `len(split) - 1`.

    Args:
        name: `train`, `validation` or `test`.
        labels: class number of every example, int64, shape (N,).
        ids: a string for every example that no other example of the data set has, in whichever split, shape (N,).
        rows: where each example lies in `store`, int64, shape (N,).
        store: the pictures.
    """

    name: str
    labels: np.ndarray = field(repr=False)
    ids: np.ndarray = field(repr=False)
    rows: np.ndarray = field(repr=False)
    store: Store = field(repr=False)

    def __len__(self) -> int:
        return len(self.labels)

    def dataset(self, order: np.ndarray | None = None, batch_size: int | None = None) -> tf.data.Dataset:
        """Return a finite tf.data pipeline over the examples at the positions in `order`, in that order.

        Nothing is shuffled, repeated or cached here, so that `order` alone decides what is read: a resumed epoch passes
        `order[done:]` and no skipped picture is ever decoded.

        Args:
            order: positions, integers from 0 to `len(self) - 1`, in any order and any number; None means all, ascending.
            batch_size: when given, elements are batches (the last may be short); possible where all pictures have one shape.
                Much faster than `.dataset(order).batch(n)` for sets held in memory: one gather per batch.

        Returns:
            Elements `{"image": uint8 (H, W, C), "label": int64 (), "index": int64 ()}`, where `index` is the position;
            with `batch_size` each has a leading batch axis.

        Raises:
            ValueError: a position outside the split, or a batch size for pictures of different shapes.
        """
        if batch_size is not None and self.store.image_shape is None:
            raise ValueError(
                f"The pictures of {self.name} differ in shape and cannot be batched before they are resized, got batch_size={batch_size}."
            )
        with tf.device("CPU:0"):
            positions = tf.data.Dataset.from_tensor_slices(self._checked(order))
            rows, labels = tf.constant(self.rows), tf.constant(self.labels)

        def read(index: tf.Tensor) -> dict[str, tf.Tensor]:
            return {"image": self.store.read(tf.gather(rows, index)), "label": tf.gather(labels, index), "index": index}

        if batch_size is not None and self.store.reads_batches:
            return positions.batch(batch_size).map(read, num_parallel_calls=tf.data.AUTOTUNE, deterministic=True)
        examples = positions.map(read, num_parallel_calls=tf.data.AUTOTUNE, deterministic=True)
        return examples if batch_size is None else examples.batch(batch_size)

    def _checked(self, order: np.ndarray | None) -> np.ndarray:
        if order is None:
            return np.arange(len(self), dtype=np.int64)
        order = np.asarray(order)
        if order.ndim != 1 or (order.size and not np.issubdtype(order.dtype, np.integer)):
            raise ValueError(f"order must be a vector of integers, got {order.dtype} of shape {order.shape}.")
        if order.size and not 0 <= order.min() <= order.max() < len(self):
            raise ValueError(f"order must hold positions from 0 to {len(self) - 1} of {self.name}, got {order.min()} to {order.max()}.")
        return order.astype(np.int64)

    def image(self, position: int) -> np.ndarray:
        """Return the picture at `position` as uint8 of shape (H, W, C)."""
        row = self.rows[self._checked(np.array([position]))[0]]
        with tf.device("CPU:0"):
            return self.store.read(tf.constant(row)).numpy()  # without a pipeline, whose making takes longer than the picture


@dataclass(frozen=True, eq=False)
class Dataset:
    """Three disjoint splits, with what travels with them.

    Args:
        name: the name it was loaded by.
        class_names: name of each class, by class number.
        image_shape: (H, W, C) of every stored picture, or None where they differ in height or width.
        channels: 1 (grey) or 3 (RGB); known where `image_shape` is None too.
        train: examples to fit.
        validation: examples for early stopping and the choice between models.
        test: examples to look at once, at the end.
        facts: for reports; plain values that JSON can hold: `source`, `version`, `seed`, `counts` ({split: {class name: count}}).
    """

    name: str
    class_names: tuple[str, ...]
    image_shape: tuple[int, int, int] | None
    channels: int
    train: Split
    validation: Split
    test: Split
    facts: Mapping[str, Any]

    @property
    def num_classes(self) -> int:
        """How many classes there are, with or without examples in a given split."""
        return len(self.class_names)

    @cached_property
    def splits(self) -> Mapping[str, Split]:
        """The splits by name, in the order train, validation, test."""
        return {split.name: split for split in (self.train, self.validation, self.test)}


def dataset_of(name: str, class_names: tuple[str, ...], splits: tuple[Split, ...], facts: Mapping[str, Any]) -> Dataset:
    """Return a data set of a train, a validation and a test split, with their counts among its facts."""
    counts = {
        split.name: dict(zip(class_names, np.bincount(split.labels, minlength=len(class_names)).tolist(), strict=True)) for split in splits
    }
    train, validation, test = splits
    store = train.store
    return Dataset(name, class_names, store.image_shape, store.channels, train, validation, test, facts={**facts, "counts": counts})
