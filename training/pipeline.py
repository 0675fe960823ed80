"""From a split to batches that a model takes."""

import math
from collections.abc import Callable

import numpy as np
import tensorflow as tf

from ..zoo.preprocessing import apply_preprocessing
from ..zoo.records import Preprocessing
from .data import Dataset, Split, load
from .sections import DataSection

# float32 images of a whole split beyond this are prepared anew in each epoch
_MEMORY = 512 * 2**20


def load_data(section: DataSection) -> Dataset:
    """Load the data set of a recipe; a CanonError says why when it cannot be had."""
    return load(section.name, seed=section.seed, validation=section.validation)


def epoch_order(examples: int, seed: int, epoch: int) -> np.ndarray:
    """Return the order of an epoch: a permutation of 0 to `examples - 1` that seed and epoch alone decide."""
    return np.random.default_rng((seed, epoch)).permutation(examples)


def batches(split: Split, preprocessing: Preprocessing, batch_size: int, order: np.ndarray | None = None) -> tf.data.Dataset:
    """Return prepared batches of a split, the last one short where the numbers do not divide.

    Args:
        split: where examples come from.
        preprocessing: the model's own.
        batch_size: examples a batch.
        order: positions in the split; None for all, ascending. Only these are read and prepared, so that an epoch can be
            entered in its middle at no cost with `order[done:]`.

    Returns:
        Elements (images, labels): float32 (B, height, width, channels) and int64 (B,).
    """

    def prepare(example):
        return apply_preprocessing(example["image"], preprocessing), example["label"]

    if split.store.image_shape is not None:
        return split.dataset(order, batch_size).map(prepare, num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)
    examples = split.dataset(order).map(prepare, num_parallel_calls=tf.data.AUTOTUNE)
    return examples.batch(batch_size).prefetch(tf.data.AUTOTUNE)


def reader(split: Split, preprocessing: Preprocessing, batch_size: int) -> Callable[[np.ndarray | None], tf.data.Dataset]:
    """Return `batches` as a function of the order alone, for many passes over one split.

    A split whose prepared images fit in memory is prepared once: resizing costs as much as a small network's update, and the
    two would share the processor. The batches are the same, bit for bit.
    """
    shape = (*preprocessing.size, preprocessing.channels)
    if len(split) * math.prod(shape) * 4 > _MEMORY:
        return lambda order: batches(split, preprocessing, batch_size, order)
    with tf.device("CPU:0"):
        images = tf.concat([images for images, _ in batches(split, preprocessing, 256)], axis=0)
        labels = tf.constant(split.labels)

    def read(order: np.ndarray | None) -> tf.data.Dataset:
        positions = tf.data.Dataset.from_tensor_slices(np.arange(len(split)) if order is None else order)
        gather = positions.batch(batch_size).map(lambda index: (tf.gather(images, index), tf.gather(labels, index)))
        return gather.prefetch(tf.data.AUTOTUNE)

    return read
