"""From a split to batches that a model takes."""

import numpy as np
import tensorflow as tf

from ..zoo.errors import CanonError
from ..zoo.preprocessing import apply_preprocessing
from ..zoo.records import Preprocessing
from .data import Dataset, Split, load
from .sections import DataSection


def load_data(section: DataSection) -> Dataset:
    """Load the data set of a recipe.

    Raises:
        CanonError: when it cannot be had.
    """
    try:
        return load(section.name, seed=section.seed, validation=section.validation)
    except CanonError:
        raise
    except ValueError as error:
        raise CanonError(str(error)) from error


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
