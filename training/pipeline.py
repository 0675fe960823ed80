"""From a split to batches that a model takes."""

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from ..zoo.preprocessing import apply_preprocessing, preprocessing_for
from ..zoo.records import Preprocessing
from .augmentation import Augmentation
from .data import Dataset, SequenceDataset, Split, load, load_sequences
from .data.names import is_sequence
from .memory_batches import MemoryBatches
from .sections import DataSection

# float32 images of a whole split beyond this are prepared anew in each epoch
_MEMORY = 512 * 2**20


def load_data(section: DataSection) -> Dataset:
    """Load the data set of a recipe for pictures; a CanonError says why when it cannot be had."""
    return load(section.name, seed=section.seed, validation=section.validation)


def load_any(section: DataSection) -> Dataset | SequenceDataset:
    """Load the data set of a recipe, of pictures or of sequences; a CanonError says why when it cannot be had."""
    if is_sequence(section.name):
        return load_sequences(section.name, seed=section.seed, validation=section.validation)
    return load_data(section)


def epoch_order(examples: int, seed: int, epoch: int) -> np.ndarray:
    """Return the order of an epoch: a permutation of 0 to `examples - 1` that seed and epoch alone decide."""
    return np.random.default_rng((seed, epoch)).permutation(examples)


def batches(
    split: Split,
    preprocessing: Preprocessing,
    batch_size: int,
    order: np.ndarray | None = None,
    augmentation: Augmentation | None = None,
    epoch: int = 0,
) -> tf.data.Dataset:
    """Return prepared batches of a split, the last one short where the numbers do not divide.

    Args:
        split: where examples come from.
        preprocessing: the model's own.
        batch_size: examples a batch.
        order: positions in the split; None for all, ascending. Only these are read and prepared, so that an epoch can be
            entered in its middle at no cost with `order[done:]`.
        augmentation: changes of the pictures; None for none.
        epoch: number of the epoch from 0, which decides the changes.

    Returns:
        Elements (images, labels): float32 (B, height, width, channels) and int64 (B,), or shares of classes (B, classes) where
        labels are mixed.
    """
    # an element, not a constant of the graph: one trace serves all epochs
    numbers = tf.data.Dataset.from_tensors(tf.constant(epoch, "int64")).repeat()
    whole = split.store.image_shape is not None
    in_arrays = split.store.image_shape if split.store.reads_batches else None
    apply = functools.partial(apply_preprocessing, preprocessing=preprocessing)
    apply = apply if in_arrays is None else preprocessing_for(in_arrays, preprocessing)

    def prepare(images, index, epoch):
        return apply(images if augmentation is None else augmentation.pictures(images, index, epoch))

    def prepare_batch(example, epoch):
        return prepare(example["image"], example["index"], epoch), example["label"], example["index"]

    def prepare_one(example, epoch):
        return prepare(example["image"][None], example["index"][None], epoch)[0], example["label"], example["index"]

    elements = tf.data.Dataset.zip(split.dataset(order, batch_size) if whole else split.dataset(order), numbers)
    elements = elements.map(prepare_batch if whole else prepare_one, num_parallel_calls=tf.data.AUTOTUNE, deterministic=True)
    return _mixed(elements if whole else elements.batch(batch_size), numbers, augmentation)


def _mixed(elements: tf.data.Dataset, numbers: tf.data.Dataset, augmentation: Augmentation | None) -> tf.data.Dataset:
    """Return batches of images and labels, mixed where that is asked for, from those of images, labels and positions."""

    if augmentation is None:
        return elements.map(lambda images, labels, index: (images, labels)).prefetch(tf.data.AUTOTUNE)

    def mix(element, epoch):
        images, labels, index = element
        return augmentation.batch(images, labels, index, epoch)

    mixed = tf.data.Dataset.zip(elements, numbers).map(mix, num_parallel_calls=tf.data.AUTOTUNE, deterministic=True)
    return mixed.prefetch(tf.data.AUTOTUNE)


def reader(
    split: Split,
    preprocessing: Preprocessing,
    batch_size: int,
    augmentation: Augmentation | None = None,
    *,
    memory: int = _MEMORY,
) -> Callable[..., Any]:
    """Return `batches` as a function of the order, and of the epoch where pictures change from one to the next, for many passes.

    A split whose prepared images fit in memory, and do not change, is prepared once: resizing costs as much as a small network's
    update, and the two would share the processor. Pictures that change are prepared one batch ahead of the update, on one thread, where
    they lie in memory and no accelerator makes the updates. The batches are the same, bit for bit.

    Args:
        split, preprocessing, batch_size, augmentation: as `batches` takes them.
        memory: bytes that prepared images may take; 0 for a `tf.data.Dataset` in any case.

    Returns:
        a function `read(order, epoch=0)` whose result gives the batches; it is a `tf.data.Dataset` or `MemoryBatches`.
    """
    shape = (*preprocessing.size, preprocessing.channels)
    changes = augmentation is not None and augmentation.section.changes_pictures
    mixes = augmentation is not None and augmentation.section.mixes_labels
    # an accelerator is not kept waiting for work that processor cores can do beside it
    beside = (changes or mixes) and any(device.device_type != "CPU" for device in tf.config.list_logical_devices())
    if not memory or beside or ((changes or not _fits(split, shape, memory)) and not split.store.reads_batches):
        return lambda order, epoch=0: batches(split, preprocessing, batch_size, order, augmentation, epoch)
    keep = not changes and _fits(split, shape, memory)
    rows = _kept_rows(split, preprocessing) if keep else _changed_rows(split, preprocessing, augmentation if changes else None)
    mixer = augmentation if mixes else None
    label = tf.TensorSpec((None,), "int64") if mixer is None else tf.TensorSpec((None, mixer.classes), "float32")
    spec = tf.TensorSpec((None, *shape), "float32"), label

    def read(order: np.ndarray | None, epoch: int = 0) -> MemoryBatches:
        order = np.arange(len(split)) if order is None else order
        number = tf.constant(epoch, "int64")
        mix = None if mixer is None else functools.partial(mixer.batch, epoch=number)
        return MemoryBatches(lambda index: rows(index, number), spec, order, batch_size, mix, ahead=changes or mixes)

    return read


def _fits(split: Split, shape: tuple[int, int, int], memory: int) -> bool:
    return len(split) * math.prod(shape) * 4 <= memory


def _kept_rows(split: Split, preprocessing: Preprocessing) -> Callable[[tf.Tensor, tf.Tensor], tuple[tf.Tensor, tf.Tensor]]:
    """Return a function that takes prepared images, and their labels, out of memory."""
    # all lies where the model is, and nothing is sent to an accelerator again
    images = tf.concat([images for images, _ in batches(split, preprocessing, 256)], axis=0)
    labels = tf.constant(split.labels)
    return lambda index, epoch: (tf.gather(images, index), tf.gather(labels, index))


def _changed_rows(
    split: Split, preprocessing: Preprocessing, augmentation: Augmentation | None
) -> Callable[[tf.Tensor, tf.Tensor], tuple[tf.Tensor, tf.Tensor]]:
    """Return a compiled function that changes and prepares pictures that lie in memory."""
    where, labels = tf.constant(split.rows), tf.constant(split.labels)
    assert split.store.image_shape is not None
    apply = preprocessing_for(split.store.image_shape, preprocessing)

    @tf.function(autograph=False, input_signature=[tf.TensorSpec((None,), "int64"), tf.TensorSpec((), "int64")])
    def rows(index, epoch):
        pictures = split.store.read(tf.gather(where, index))
        return apply(pictures if augmentation is None else augmentation.pictures(pictures, index, epoch)), tf.gather(labels, index)

    return rows
