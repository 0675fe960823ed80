"""What became of the trials of a search: one `trial.json` in the folder of each."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from .writing import write_text

TRIALS = "trials"


@dataclass(frozen=True)
class Trial:
    """One point of the space, and what came of it.

    Args:
        number: from 1, in the order in which trials were started.
        values: by key of the recipe.
        status: "finished", "failed", or "unfinished" where the search was stopped.
        objective: the figure that is searched for, of the weights that were kept.
        reason: why it failed.
        epochs: trained.
        best_epoch: number from 1 of the epoch whose weights were kept.
        parameters: trainable ones.
        seconds: of training.
    """

    number: int
    values: Mapping[str, Any] = field(default_factory=dict)
    status: Literal["finished", "failed", "unfinished"] = "unfinished"
    objective: float | None = None
    reason: str = ""
    epochs: int | None = None
    best_epoch: int | None = None
    parameters: int | None = None
    seconds: float | None = None


def trial_folder(search: Path, number: int) -> Path:
    """Return the folder of a trial."""
    return search / TRIALS / f"{number:03d}"


def write_trial(search: Path, trial: Trial) -> None:
    """Write how a trial ended, in one move."""
    folder = trial_folder(search, trial.number)
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / "trial.json", json.dumps(asdict(trial), indent=2) + "\n", flush=True)


def read_trial(search: Path, number: int) -> Trial | None:
    """Return how a trial ended, None where it has not."""
    path = trial_folder(search, number) / "trial.json"
    return Trial(**json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else None
