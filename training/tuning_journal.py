"""The journal of a search: which points were drawn and how their trials ended, in that order.

It is all that a search needs to go on: the points are drawn by a fixed seed, so that a new oracle that is told the same story is in
the same state. (keras-tuner's own files are written in place, so that a kill can leave half of one, and they lack the state of the
Bayesian method's generator.)
"""

import contextlib
import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ..zoo.errors import CanonError
from .recipe import recipe_toml
from .recipe_changes import changed_keys, recipe_keys
from .run_lock import locked
from .sections import Recipe
from .tuning_trials import TRIALS
from .writing import write_text

_NAME = "search.json"
_FILES = (_NAME, "recipe.toml", "best.toml", "trials.csv", "tuning.md", "tuning.png")


@dataclass
class Journal:
    """A search as it is on the disk.

    Args:
        folder: of the search.
        method: how points are chosen.
        seed: of the choice.
        recipe: the recipe as TOML, with its space.
        events: {"event": "start", "trial": 1, "values": {...}} and {"event": "end", "trial": 1, "status": ..., "score": ...}.
    """

    folder: Path
    method: str
    seed: int
    recipe: str
    events: list[dict[str, Any]] = field(default_factory=list)

    def add(self, event: str, trial: int, facts: Mapping[str, Any]) -> None:
        """Write down what happened; it is on the disk when this returns."""
        self.events.append({"event": event, "trial": trial, **facts})
        self.write()

    def write(self) -> None:
        """Write the file in one move."""
        record = {key: value for key, value in asdict(self).items() if key != "folder"}
        write_text(self.folder / _NAME, json.dumps(record, indent=1) + "\n", flush=True)

    @property
    def started(self) -> int:
        """How many trials were started."""
        return sum(event["event"] == "start" for event in self.events)


def read_journal(folder: Path) -> Journal | None:
    """Return the journal of a folder, None where there is none.

    Raises:
        CanonError: for a file that is no journal.
    """
    path = folder / _NAME
    if not path.is_file():
        return None
    try:
        return Journal(folder=folder, **json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError) as error:
        raise CanonError(f"{str(path)!r} is no journal of a search: start anew with --restart, or give another folder.") from error


@contextlib.contextmanager
def open_search(out: Path, recipe: Recipe, method: str, seed: int, *, restart: bool = False) -> Iterator[Journal]:
    """Own the folder of a search while the context lasts, and give its journal: a new one, or that of the search to go on with.

    Args:
        out: the folder.
        recipe: with its space.
        method: how points are chosen.
        seed: of the choice.
        restart: True to drop what an earlier search left.

    Raises:
        CanonError: for a folder that no search wrote, that of a search of something else, or one that a live search owns.
    """
    _refuse_foreign(out)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CanonError(f"{str(out)!r} cannot be made ({error.strerror}): give another folder with --out.") from error
    with locked(out):
        if restart:
            _clear(out)
        journal = read_journal(out)
        if journal is None:
            journal = Journal(out, method, seed, recipe_toml(recipe))
            journal.write()
        else:
            _refuse_changes(journal, recipe, method, seed)
        again = f"The recipe {recipe.name} as it is searched, with every change applied."
        write_text(out / "recipe.toml", recipe_toml(recipe, again))
        yield journal


def _refuse_foreign(out: Path) -> None:
    if out.exists() and not out.is_dir():
        raise CanonError(f"{str(out)!r} is a file: give the folder of a search another name with --out.")
    ours = {_NAME, "run.lock", f"part.{_NAME}"}
    if out.is_dir() and any(out.iterdir()) and not any((out / name).exists() for name in ours):
        raise CanonError(f"{str(out)!r} is not empty and no search wrote it: give another folder with --out.")
    if not (out / _NAME).exists() and (out / "metrics.json").exists():
        raise CanonError(f"{str(out)!r} holds a run and no search: give another folder with --out.")


def _refuse_changes(journal: Journal, recipe: Recipe, method: str, seed: int) -> None:
    changed = changed_keys(recipe_keys(journal.recipe), recipe_keys(recipe_toml(recipe)))
    changed += ["method"] if method != journal.method else []
    changed += ["seed"] if seed != journal.seed else []
    if changed:
        raise CanonError(
            f"{str(journal.folder)!r} holds a search of something else ({', '.join(changed)} changed): go on with what it began with, give "
            "another folder with --out, or start anew with --restart, which drops its trials."
        )


def _clear(out: Path) -> None:
    for name in _FILES:
        (out / name).unlink(missing_ok=True)
    shutil.rmtree(out / TRIALS, ignore_errors=True)
