"""Where the pictures of a split lie: in memory, or in files that are read when asked for."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import tensorflow as tf

from ...zoo.preprocessing import decode_image


def _constant(values: np.ndarray) -> tf.Tensor:
    # Outside of any graph being traced, so that the pipeline refers to it instead of holding a copy; on the CPU, where
    # input pipelines run: from an accelerator it would be fetched back for every batch.
    with tf.init_scope(), tf.device("CPU:0"):
        return tf.constant(values)


@dataclass(frozen=True, eq=False)
class ArrayStore:
    """Small pictures of one shape, held in memory.

    Args:
        images: uint8, shape (N, H, W, C).
    """

    images: np.ndarray
    reads_batches = True

    def __len__(self) -> int:
        return len(self.images)

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """(H, W, C)."""
        return self.images.shape[1:]

    @cached_property
    def _tensor(self) -> tf.Tensor:
        return _constant(self.images)

    def read(self, rows: tf.Tensor) -> tf.Tensor:
        """Return the picture (H, W, C) of one row, or the pictures (B, H, W, C) of a vector of rows."""
        return tf.gather(self._tensor, rows)


@dataclass(frozen=True, eq=False)
class FileStore:
    """Picture files of any shape, read and decoded one by one when asked for.

    Args:
        paths: absolute paths as bytes (file names need not be valid text), shape (N,).
        image_shape: (H, W, C) where all pictures have the same, else None.
    """

    paths: np.ndarray
    image_shape: tuple[int, int, int] | None
    reads_batches = False

    def __len__(self) -> int:
        return len(self.paths)

    @cached_property
    def _tensor(self) -> tf.Tensor:
        return _constant(self.paths)

    def read(self, rows: tf.Tensor) -> tf.Tensor:
        """Return the RGB picture (H, W, 3) of one row."""
        image = decode_image(tf.io.read_file(tf.gather(self._tensor, rows)))
        return image if self.image_shape is None else tf.ensure_shape(image, self.image_shape)
