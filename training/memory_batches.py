"""Batches of examples that lie in memory, taken when they are asked for."""

import dataclasses
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import cast

import numpy as np
import tensorflow as tf

_TOGETHER = 4 * 2**20  # bytes of prepared pictures that are taken at once

Rows = Callable[[tf.Tensor], tuple[tf.Tensor, tf.Tensor]]
Mix = Callable[[tf.Tensor, tf.Tensor, tf.Tensor], tuple[tf.Tensor, tf.Tensor]]


@dataclasses.dataclass(frozen=True, eq=False)
class MemoryBatches:
    """The batches of an epoch, read like those of a `tf.data.Dataset` of which the training loop knows no more than this.

    The rows of many batches are taken at once and cut, so that little lies between one update and the next. A pipeline does its work on
    threads of its own, which is worth it where an accelerator makes the updates or files must be read. On processor cores that the
    updates need themselves it costs 15 ms to begin an epoch and 0.2 to 0.4 ms to hand over a batch, where an update of LeNet-5 takes
    4 ms, and its threads stop the updates' in the middle of an operation.

    Args:
        rows: gives images and labels of positions, which are int64 (n,).
        element_spec: shapes and types of a batch's images and labels, for batches of any size.
        order: positions of the epoch, (examples,).
        batch_size: examples a batch; the last one is short where the numbers do not divide.
        mix: gives images and labels of a batch from its own ones and its positions; None where they stay as they are.
        steps: most batches; None for all.
        ahead: whether a thread prepares the next batch while one is in use, which an update's moments of little work leave room for. The
            batches are the same.

    Example:
        >>> import numpy as np, tensorflow as tf
        >>> from keras_canon.training.memory_batches import MemoryBatches
        >>> spec = tf.TensorSpec((None, 2, 2, 1)), tf.TensorSpec((None,), "int64")
        >>> rows = lambda index: (tf.zeros((len(index), 2, 2, 1)), index)
        >>> batches = MemoryBatches(rows, spec, np.array([4, 2, 0]), batch_size=2)
        >>> [labels.numpy().tolist() for images, labels in batches]
        [[4, 2], [0]]
    """

    rows: Rows
    element_spec: tuple[tf.TensorSpec, tf.TensorSpec]
    order: np.ndarray
    batch_size: int
    mix: Mix | None = None
    steps: int | None = None
    ahead: bool = False

    def cardinality(self) -> int:
        """Return the number of batches."""
        batches = -(-len(self.order) // self.batch_size)
        return batches if self.steps is None else min(batches, self.steps)

    def __len__(self) -> int:
        return self.cardinality()

    def take(self, count: int) -> "MemoryBatches":
        """Return the first `count` batches."""
        return dataclasses.replace(self, steps=min(count, self.cardinality()))

    def skip(self, count: int) -> "MemoryBatches":
        """Return all but the first `count` batches."""
        steps = max(self.cardinality() - count, 0)
        return dataclasses.replace(self, order=self.order[count * self.batch_size :], steps=steps)

    def __iter__(self) -> Iterator[tuple[tf.Tensor, tf.Tensor]]:
        return _ahead(self._batches()) if self.ahead else self._batches()

    def _batches(self) -> Iterator[tuple[tf.Tensor, tf.Tensor]]:
        order = self.order if self.steps is None else self.order[: self.steps * self.batch_size]
        image = self.element_spec[0]
        batch_bytes = self.batch_size * cast(int, image.shape[1:].num_elements()) * image.dtype.size
        together = self.batch_size * max(_TOGETHER // batch_bytes, 1)
        for start in range(0, len(order), together):
            some = tf.convert_to_tensor(order[start : start + together])
            sizes = [min(self.batch_size, len(some) - first) for first in range(0, len(some), self.batch_size)]
            images, labels = (tf.split(values, sizes) for values in self.rows(some))
            if self.mix is None:
                yield from zip(images, labels, strict=True)
            else:
                yield from map(self.mix, images, labels, tf.split(some, sizes))


def _ahead(batches: Iterator[tuple[tf.Tensor, tf.Tensor]]) -> Iterator[tuple[tf.Tensor, tf.Tensor]]:
    """Give what `batches` gives, the next one being made on a thread; an error there is raised here, in its place."""
    with ThreadPoolExecutor(1, thread_name_prefix="batches") as thread:
        coming = thread.submit(next, batches, None)
        while (batch := coming.result()) is not None:
            coming = thread.submit(next, batches, None)
            yield batch
