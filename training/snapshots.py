"""Snapshot ensembles: the weights at the end of each cycle of the learning rate, answering together."""

from collections.abc import Sequence
from pathlib import Path

import keras
import numpy as np

from ..zoo.errors import CanonError


class Snapshots(keras.callbacks.Callback):
    """Keep the weights of the last epoch of every cycle, `snapshot_01.weights.h5` and so on, in a folder.

    Args:
        folder: where; it is made.
        last_epochs: numbers from 0 of the epochs whose end is the end of a cycle.

    Raises:
        ValueError: when there are none.

    Reference:
        Huang et al., 2017, "Snapshot Ensembles: Train 1, Get M for Free", section 3, arXiv:1704.00109.
    """

    def __init__(self, folder: str | Path, last_epochs: Sequence[int]):
        super().__init__()
        if not last_epochs:
            raise ValueError("There is no cycle that ends within the run, and so no snapshot to take.")
        self.folder = Path(folder)
        self.numbers = {int(epoch): number for number, epoch in enumerate(last_epochs, 1)}

    def on_epoch_end(self, epoch, logs=None):
        """Write the weights where a cycle ends, in one move, so that no file is half written."""
        if epoch not in self.numbers:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        name = f"snapshot_{self.numbers[epoch]:02d}.weights.h5"
        part = self.folder / f"part.{name}"
        self.model.save_weights(part)
        part.replace(self.folder / name)


def cycle_ends(cycle_epochs: float, growth: int, epochs: int, warmup_epochs: float = 0.0) -> tuple[int, ...]:
    """Return the epochs, from 0, at whose end a cycle of `CosineRestarts` ends.

    Raises:
        CanonError: when a cycle would end within an epoch, where no snapshot is taken.
    """
    if cycle_epochs != round(cycle_epochs) or warmup_epochs != round(warmup_epochs):
        raise CanonError(
            f"Snapshots need whole epochs in schedule.cycle_epochs and schedule.warmup_epochs, got {cycle_epochs} and {warmup_epochs}."
        )
    ends, end, length = [], round(warmup_epochs), round(cycle_epochs)
    while end + length <= epochs:
        end, length = end + length, length * growth
        ends.append(end - 1)
    if not ends:
        raise CanonError(f"No cycle of {cycle_epochs:g} epochs ends within the {epochs} of the run: lower schedule.cycle_epochs.")
    return tuple(ends)


def ensemble_probabilities(model: keras.Model, folder: str | Path, images, *, last: int | None = None, batch_size: int = 256) -> np.ndarray:
    """Return the mean of the softmax answers of a model with each snapshot's weights; its own weights are put back.

    Args:
        model: of the architecture that was trained, with logits as outputs.
        folder: the snapshots of a run.
        images: prepared inputs (N, ...).
        last: use the last so many snapshots only, as the paper advises; None for all.
        batch_size: examples at a time.

    Returns:
        (N, classes).

    Raises:
        CanonError: when the folder has no snapshots.
    """
    paths = sorted(Path(folder).glob("snapshot_*.weights.h5"))
    if not paths:
        raise CanonError(f"There are no snapshots in {folder}: train with train.snapshots = true.")
    own, answers = model.get_weights(), []
    try:
        for path in paths[-last:] if last else paths:
            model.load_weights(path)
            logits = np.asarray(model.predict(images, batch_size=batch_size, verbose=0), "float64")
            powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
            answers.append(powers / powers.sum(axis=-1, keepdims=True))
    finally:
        model.set_weights(own)
    return np.mean(answers, axis=0)
