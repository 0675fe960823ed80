"""Running text as windows of characters for a language model."""

import ast
import hashlib
import os
import platform
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ...zoo.errors import CanonError
from .sequence_builder import SequenceSource

WINDOW = 128
_BLOCK = 10_000  # characters of a block, which goes into one split as a whole
_TEST_EVERY = 20
# not the library itself: tests, an editor and its games, and what was installed beside it
_LEFT_OUT = {"test", "tests", "idlelib", "lib2to3", "site-packages", "dist-packages", "turtledemo", "ensurepip", "__pycache__", "config"}


def text_source(argument: str) -> SequenceSource:
    """Return the text of a file or, for "", the documentation strings of Python's standard library.

    Raises:
        CanonError: when there is no such file, it is not UTF-8, or it is too short to be split.
    """
    if not argument:
        version = platform.python_version()
        return SequenceSource(
            f"documentation_python_{version}",
            f"Documentation strings of the standard library of Python {version}.",
            {"text": None},
            lambda: blocks(documentation(Path(sysconfig.get_paths()["stdlib"])), "the standard library"),
            origin=f"documentation strings of Python {version}",
        )
    text = _read(Path(argument))
    digest = hashlib.sha256(text.encode()).hexdigest()
    return SequenceSource(
        f"text_{digest[:16]}", f"The text of {Path(argument).name}.", {"text": None}, lambda: blocks(text, argument), origin=argument
    )


def _read(path: Path) -> str:
    if not path.is_file():
        raise CanonError(f"There is no text file {str(path)!r}: give the path of a UTF-8 file, as in text:book.txt.")
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise CanonError(f"{str(path)!r} is no UTF-8 text (byte {error.start}): convert it to UTF-8 first.") from error


def documentation(folder: Path) -> str:
    """Return the documentation strings of all modules below a folder, in the order of their paths and lines."""
    found = []
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in _LEFT_OUT and not name.startswith("config-"))
        for name in sorted(files):
            if name.endswith(".py"):
                found += _strings(Path(place) / name)
    return "\n\n".join(found)


def _strings(path: Path) -> Iterator[str]:
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (SyntaxError, UnicodeDecodeError):  # a file of examples for another version
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text:
                yield text


def blocks(text: str, what: str) -> dict[str, list[dict[str, str]]]:
    """Cut a text at ends of lines into blocks, every twentieth of which is for the test.

    Args:
        text: to be cut.
        what: it is the text of, for messages.

    Raises:
        CanonError: when it is too short for a window in each split.
    """
    size = min(_BLOCK, len(text) // (2 * _TEST_EVERY))
    if size < WINDOW:
        raise CanonError(f"The text of {what} has {len(text):,} characters: give at least {2 * _TEST_EVERY * WINDOW:,}.")
    found, start = [], 0
    while start < len(text):
        end = text.find("\n", start + size) + 1 or len(text)
        # a text without lines is cut anywhere
        end = min(end, start + 2 * size)
        found.append(text[start:end])
        start = end
    splits: dict[str, list[dict[str, str]]] = {"train": [], "test": []}
    for number, block in enumerate(found):
        splits["test" if number % _TEST_EVERY == _TEST_EVERY - 1 else "train"].append({"text": block})
    return splits


def windows(ids: np.ndarray, window: int) -> tuple[np.ndarray, np.ndarray]:
    """Return ids in rows of a window, and at each step the id that comes next, both (N, window); a rest shorter than that is left out."""
    number = max(len(ids) - 1, 0) // window
    return ids[: number * window].reshape(number, window), ids[1 : number * window + 1].reshape(number, window)
