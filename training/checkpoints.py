"""Checkpoints: the whole state of a run in one file, which is whole or not there."""

import contextlib
import hashlib
import json
import os
import re
import time
import warnings
import zipfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..zoo.errors import CanonError
from .run_state import RunState
from .state import Arrays

_FORMAT = 1
_KEPT = 2
_DIGITS = 16
_NAME = re.compile(rf"epoch-(\d+)-step-(\d+)-([0-9a-f]{{{_DIGITS}}})\.npz")


@dataclass
class Position:
    """How far a run has come.

    Args:
        epoch: number from 0 of the epoch that is being trained.
        step: its batches that are done.
        rate: learning rate of the last update; None before the first.
        seconds: time that the updates of this epoch took.
        total_seconds: time that the run took, all its processes together.
        stopped: True when a callback has ended training.
    """

    epoch: int = 0
    step: int = 0
    rate: float | None = None
    seconds: float = 0.0
    total_seconds: float = 0.0
    stopped: bool = False


Checkpoint = tuple[Position, Arrays, dict[str, Any]]


class Checkpoints:
    """Writes and reads the checkpoints of a run; the newest two are kept.

    A file is written under another name, flushed to the disk and renamed, and its name holds the hash of its content: what a
    crash leaves behind is never taken for a checkpoint.

    Args:
        folder: where they lie.
        steps: write one after so many updates; None for never.
        seconds: write one when the last is so old, at the next update; None for never. One is written at the end of each epoch
            in any case.
        writes: False in processes that only read, such as all workers but the chief.
    """

    def __init__(self, folder: str | Path, *, steps: int | None = None, seconds: float | None = 600.0, writes: bool = True):
        self.folder = Path(folder)
        self.steps, self.seconds, self.writes = steps, seconds, writes
        self.position = Position()
        self._state: RunState | None = None
        self._since = 0
        self._written = time.monotonic()

    def attach(self, state: RunState) -> None:
        """Say what is to be written."""
        self._state = state

    def due(self) -> bool:
        """Count an update, and say whether it is time for a checkpoint."""
        self._since += 1
        if not self.writes:
            return False
        by_steps = self.steps is not None and self._since >= self.steps
        return by_steps or (self.seconds is not None and time.monotonic() - self._written >= self.seconds)

    def write(self, position: Position) -> None:
        """Write a checkpoint and remove all but the newest two.

        Raises:
            CanonError: when the disk takes no more; the checkpoints before are kept.
        """
        self.position = position
        if not self.writes or self._state is None:
            return
        arrays, values = self._state.save()
        document = json.dumps({"format": _FORMAT, "position": asdict(position), **values})
        arrays["document"] = np.frombuffer(document.encode(), "uint8")
        part = self.folder / "part.checkpoint.npz"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            digest = _write_flushed(part, arrays)
            path = self.folder / f"epoch-{position.epoch:06d}-step-{position.step:09d}-{digest}.npz"
            part.replace(path)
            _flush_folder(self.folder)
        except OSError as error:
            with contextlib.suppress(OSError):
                part.unlink(missing_ok=True)
            raise CanonError(
                f"No checkpoint can be written to {str(self.folder)!r} ({error.strerror or error}): what was there before is kept, so "
                "make room and start the same command again."
            ) from error
        self._since, self._written = 0, time.monotonic()
        others = [file for file in self._files() if file != path]
        for old in others[_KEPT - 1 :]:
            old.unlink(missing_ok=True)

    def newest(self) -> Checkpoint | None:
        """Return the newest checkpoint that is undamaged, or None where there is none; a damaged one gives a warning."""
        files = self._files()
        for path in files:
            found = _read(path)
            if found is not None:
                return found
            then = "there is none before it, and the run starts anew" if path is files[-1] else "the one before it is used"
            warnings.warn(f"The checkpoint {path} is damaged; {then}.", stacklevel=2)
        return None

    def clear(self) -> None:
        """Remove all checkpoints: the run has come to its end."""
        for path in [*self._files(), self.folder / "part.checkpoint.npz"]:
            path.unlink(missing_ok=True)

    def _files(self) -> list[Path]:
        """Return checkpoints, the newest first."""
        if not self.folder.is_dir():
            return []
        matches = [(match, path) for path in self.folder.iterdir() if (match := _NAME.fullmatch(path.name))]
        # two of one position can lie there after a crash between writing and removing: any of them will do
        return [path for _, path in sorted(matches, key=lambda item: (int(item[0][1]), int(item[0][2]), item[1].name), reverse=True)]


def has_checkpoint(folder: Path) -> bool:
    """Whether a folder, or one of its folders for phases of a fine-tuning, holds checkpoints, damaged or not."""
    return any(Checkpoints(path, writes=False)._files() for path in (folder, *folder.glob("phase-*")))


def _write_flushed(path: Path, arrays: Arrays) -> str:
    """Write a file, wait until it is on the disk, and return the first digits of its hash."""
    with path.open("w+b") as file:
        save: Any = np.savez  # its annotation knows no table of arrays
        save(file, **arrays)
        file.flush()
        os.fsync(file.fileno())
        file.seek(0)
        return hashlib.file_digest(file, "sha256").hexdigest()[:_DIGITS]


def _flush_folder(folder: Path) -> None:
    """Make a rename last: it is a change of the folder."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _read(path: Path) -> Checkpoint | None:
    match = _NAME.fullmatch(path.name)
    try:
        with path.open("rb") as file:
            if match is None or hashlib.file_digest(file, "sha256").hexdigest()[:_DIGITS] != match[3]:
                return None
            file.seek(0)
            with np.load(file, allow_pickle=False) as stored:
                arrays = {name: stored[name] for name in stored.files}
    except (OSError, ValueError, zipfile.BadZipFile):
        return None
    document = json.loads(arrays.pop("document").tobytes())
    if document["format"] != _FORMAT:
        raise CanonError(f"{path} was written by another version of keras-canon: start anew with --overwrite.")
    return Position(**document.pop("position")), arrays, document
