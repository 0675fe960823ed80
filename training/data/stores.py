"""Where the pictures of a split lie: in memory, or in files that are read when asked for."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import tensorflow as tf

from ...zoo.decoding import compiled_decoder


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

    @property
    def channels(self) -> int:
        """1 or 3."""
        return self.images.shape[-1]

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
    channels = 3

    def __len__(self) -> int:
        return len(self.paths)

    @cached_property
    def _tensor(self) -> tf.Tensor:
        return _constant(self.paths)

    def read(self, rows: tf.Tensor) -> tf.Tensor:
        """Return the RGB picture (H, W, 3) of one row."""
        image = compiled_decoder()(tf.io.read_file(tf.gather(self._tensor, rows)))
        return image if self.image_shape is None else tf.ensure_shape(image, self.image_shape)


@dataclass(frozen=True, eq=False)
class EncodedStore:
    """Pictures of any shape, held in memory as the files that they were, and decoded one by one when asked for.

    Args:
        encoded: bytes objects, shape (N,).
        shape: (H, W, C), with None for what differs.
    """

    encoded: np.ndarray
    shape: tuple[int | None, int | None, int]
    reads_batches = False

    def __len__(self) -> int:
        return len(self.encoded)

    @property
    def image_shape(self) -> tuple[int, int, int] | None:
        """(H, W, C) where all pictures have the same, else None."""
        height, width, channels = self.shape
        return None if height is None or width is None else (height, width, channels)

    @property
    def channels(self) -> int:
        """1 or 3."""
        return self.shape[-1]

    @cached_property
    def _tensor(self) -> tf.Tensor:
        return _constant(self.encoded)

    def read(self, rows: tf.Tensor) -> tf.Tensor:
        """Return the picture (H, W, C) of one row; the channels of a grey one are equal, so that the first is all."""
        return tf.ensure_shape(compiled_decoder()(tf.gather(self._tensor, rows))[:, :, : self.channels], self.shape)


Store = ArrayStore | FileStore | EncodedStore
