"""Files that are written whole or not at all."""

import csv
import errno
import io
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ..zoo.errors import CanonError

if TYPE_CHECKING:
    import keras

_FULL = (errno.ENOSPC, errno.EDQUOT)


def write_text(path: Path, text: str, *, flush: bool = False) -> None:
    """Write a file in one move, so that nobody ever reads half of it.

    Args:
        path: of the file.
        text: its content.
        flush: True to wait until it is on the disk.
    """
    part = path.with_name(f"part.{path.name}")
    with part.open("w", encoding="utf-8", newline="") as file:
        file.write(text)
        if flush:
            file.flush()
            os.fsync(file.fileno())
    part.replace(path)


def write_table(path: Path, rows: Sequence[Mapping[str, float]]) -> None:
    """Write rows as a CSV file in one move; a column for each name that any row has."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(dict.fromkeys(name for row in rows for name in row)), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_text(path, text.getvalue())


def save_whole(model: "keras.Model", path: Path) -> None:
    """Save a model in one move, after it is on the disk."""
    part = path.with_name(f"part.{path.name}")
    model.save(part)
    with part.open("rb") as file:
        os.fsync(file.fileno())
    part.replace(path)


@contextmanager
def told_when_full(folder: Path) -> Iterator[None]:
    """Turn a full disk into one sentence.

    Raises:
        CanonError: it says that nothing is lost and how to go on.
    """
    try:
        yield
    except OSError as error:
        # HDF5 puts the number into its text
        if error.errno not in _FULL and os.strerror(errno.ENOSPC) not in str(error):
            raise
        raise CanonError(
            f"The disk of {str(folder)!r} is full: what was written before is kept, so make room and start the same command again."
        ) from error
