"""What the phases of a fine-tuning leave behind: one table of epochs, and a journal to go on from."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import keras

from .writing import write_table, write_text

_JOURNAL = "phases.json"


@dataclass(frozen=True)
class PhaseRecord:
    """A phase that is done.

    Args:
        name: of the phase.
        parameters: how many were trained; 0 for a phase that was left out, since there was nothing to train.
        best: the monitored figure of its best epoch.
        best_epoch: number from 0 of that epoch, within the phase.
        seconds: how long it took.
        history: figures by name, one for each of its epochs.
    """

    name: str
    parameters: int
    best: float
    best_epoch: int
    seconds: float
    history: Mapping[str, list[float]]

    @property
    def epochs(self) -> int:
        """How many epochs were trained."""
        return len(self.history.get("loss", ()))


class PhaseHistory(keras.callbacks.Callback):
    """Write the figures of all epochs of all phases as one CSV file, anew after each epoch.

    Args:
        path: of the file.
        records: the phases before this one.
        name: of this phase.
        started: called at the first epoch, when this phase has a checkpoint of its own.
    """

    def __init__(self, path: Path, records: Sequence[PhaseRecord], name: str, started: Callable[[], None] | None = None):
        super().__init__()
        self.path, self.name, self.started = path, name, started
        self.earlier = [row for record in records for row in _rows(record)]
        self.rows: list[dict[str, Any]] = []

    def on_train_begin(self, logs=None):
        """Begin the phase."""
        self.rows = []

    def on_epoch_begin(self, epoch, logs=None):
        """Tell that the phase has begun."""
        if self.started is not None:
            self.started()

    def on_epoch_end(self, epoch, logs=None):
        """Write the file."""
        self.rows.append({"phase": self.name, **{name: float(value) for name, value in (logs or {}).items()}})
        write_table(self.path, [{"epoch": number, **row} for number, row in enumerate([*self.earlier, *self.rows])])


def _rows(record: PhaseRecord) -> list[dict[str, Any]]:
    return [{"phase": record.name, **{name: values[epoch] for name, values in record.history.items()}} for epoch in range(record.epochs)]


def joined(records: Sequence[PhaseRecord], sign: float) -> tuple[dict[str, list[float]], int]:
    """Return the figures of all phases as one history, and the number of the best epoch in it.

    Args:
        records: of the phases.
        sign: 1 where the monitored figure is to be low, -1 where it is to be high.
    """
    trained = [record for record in records if record.epochs]
    history = {name: [value for record in trained for value in record.history[name]] for name in trained[0].history}
    # the first of equal ones, as the phases themselves decide
    best = min(trained, key=lambda record: sign * record.best)
    return history, sum(record.epochs for record in trained[: trained.index(best)]) + best.best_epoch


def write_records(folder: Path, records: Sequence[PhaseRecord]) -> None:
    """Write the journal, in one move."""
    write_text(folder / _JOURNAL, json.dumps([asdict(record) for record in records]) + "\n", flush=True)


def read_records(folder: Path) -> list[PhaseRecord]:
    """Return the phases that are done; none where there is no journal."""
    try:
        found = json.loads((folder / _JOURNAL).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    return [PhaseRecord(**record) for record in found]
