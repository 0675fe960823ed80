"""Callbacks of a run; each is an ordinary Keras callback and works under `fit` as well."""

import math
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from .writing import write_table


class BestWeights(keras.callbacks.Callback):
    """Keep the weights of the best epoch in a file, and put them back when training ends, for whatever reason it ends.

    Args:
        path: of the file, ending in `.weights.h5`; it is replaced in one move, so it is never half written. None to keep them in
            memory only, as all workers but the chief do.
        monitor: a figure of the validation split, taken with the very weights that are kept. Figures of the training split are
            refused: they are averages over weights that moved.

    Raises:
        ValueError: for a monitor that does not start with `val_`, and at the end of an epoch without it.
    """

    def __init__(self, path: str | Path | None, monitor: str = "val_loss"):
        super().__init__()
        if not monitor.startswith("val_"):
            raise ValueError(f"monitor must be a figure of the validation split such as 'val_loss', got {monitor!r}.")
        self.path, self.monitor = None if path is None else Path(path), monitor
        self.sign = 1.0 if monitor.endswith("loss") else -1.0
        self.best: float | None = None
        self.best_epoch: int | None = None
        self._weights = None

    def on_train_begin(self, logs=None):
        """Forget earlier training."""
        self.best = self.best_epoch = self._weights = None

    def on_epoch_end(self, epoch, logs=None):
        """Keep the weights when they are better than all before; a figure that is not a number is never better."""
        value = (logs or {}).get(self.monitor)
        if value is None:
            raise ValueError(f"There is no {self.monitor!r} to choose the best weights by; there is {', '.join(logs or {}) or 'nothing'}.")
        if not math.isfinite(value) or (self.best is not None and self.sign * value >= self.sign * self.best):
            return
        if self.path is not None:
            part = self.path.with_name(f"part.{self.path.name}")
            self.model.save_weights(part)
            part.replace(self.path)
        self.best, self.best_epoch, self._weights = value, epoch, self.model.get_weights()

    def on_train_end(self, logs=None):
        """Put the best weights back."""
        if self._weights is not None:
            self.model.set_weights(self._weights)


class HistoryFile(keras.callbacks.Callback):
    """Write the figures of all epochs as a CSV file, anew after each epoch and in one move, so that it is never half written.

    Unlike Keras's `CSVLogger`, a run that is resumed neither loses rows nor has one twice.

    Args:
        path: of the file.
    """

    def __init__(self, path: str | Path):
        super().__init__()
        self.path = Path(path)
        self.rows: list[dict[str, float]] = []

    def on_train_begin(self, logs=None):
        """Forget earlier training."""
        self.rows = []

    def on_epoch_end(self, epoch, logs=None):
        """Write the file."""
        self.rows.append({"epoch": epoch, **{name: float(value) for name, value in (logs or {}).items()}})
        write_table(self.path, self.rows)


class LastGood(keras.callbacks.Callback):
    """Where the loss or a gradient is no longer a number, keep the batch that did it and the weights from before it.

    Our loop stops before such an update and then calls this; under `fit` it does nothing.

    Args:
        folder: where `offending_batch.npz` (the arrays `inputs` and `labels`) and `last_good.weights.h5` go.
    """

    def __init__(self, folder: str | Path):
        super().__init__()
        self.folder = Path(folder)

    def on_not_finite(self, epoch: int, step: int, inputs, labels) -> str:
        """Write both files and return what was written, as part of a sentence."""
        arrays = {f"inputs_{number}" if number else "inputs": value for number, value in enumerate(tf.nest.flatten(inputs))}
        arrays |= {f"labels_{number}" if number else "labels": value for number, value in enumerate(tf.nest.flatten(labels))}
        batch, weights = self.folder / "offending_batch.npz", self.folder / "last_good.weights.h5"
        save: Any = np.savez  # its annotation knows no table of arrays
        save(batch, **{name: np.asarray(value) for name, value in arrays.items()}, epoch=epoch, step=step)
        self.model.save_weights(weights)
        return f"the batch is in {batch}, the weights from before it in {weights}"


class Events(keras.callbacks.Callback):
    """Write the figures of each epoch for TensorBoard, as the two runs `train` and `validation`.

    Keras's own callback does work at every batch; this one leaves the steps alone.

    Args:
        folder: where the event files go.
    """

    def __init__(self, folder: str | Path):
        super().__init__()
        self.folder = Path(folder)
        self._writers: dict[str, tf.summary.SummaryWriter] = {}

    def on_epoch_end(self, epoch, logs=None):
        """Write one point for each figure."""
        for name, value in (logs or {}).items():
            run = "validation" if name.startswith("val_") else "train"
            if run not in self._writers:
                self._writers[run] = tf.summary.create_file_writer(str(self.folder / run))
            with self._writers[run].as_default():
                tf.summary.scalar(f"epoch/{name.removeprefix('val_')}", value, step=epoch + 1)
        for writer in self._writers.values():
            writer.flush()

    def on_train_end(self, logs=None):
        """Close the files."""
        for writer in self._writers.values():
            writer.close()
        self._writers = {}
