"""The King James Bible that Debian ships, one verse a line."""

import re
import shutil
import subprocess

from ...zoo.errors import CanonError
from .sequence_builder import SequenceSource
from .text import blocks

_ALL = "gen1:1-rev22:21"
_SECONDS = 60


def bible_source() -> SequenceSource:
    """Return the source of the King James Version, which is in the public domain, without numbers of verses.

    It is read once, by the program of Debian's package `bible-kjv`, out of `bible-kjv-text`; when prepared, neither is needed.
    """
    return SequenceSource(
        "bible_kjv",
        "The King James Version of the Bible, one verse a line.",
        {"text": None},
        lambda: blocks(verses(), "the Bible"),
        origin="the King James Version in Debian's package bible-kjv-text",
    )


def verses(name: str = "bible") -> str:
    """Return all verses in their order, each on a line of its own.

    Args:
        name: of the data set that asks, for the error.

    Raises:
        CanonError: where the packages are not installed.
    """
    return re.sub(r"(?m)^\S+ ", "", numbered_verses(name))


def numbered_verses(name: str) -> str:
    """Return all verses in their order, each on a line of its own behind its number, as in `Ge1:1 In the beginning`.

    Args:
        name: of the data set that asks, for the error.

    Raises:
        CanonError: where the packages are not installed.
    """
    program = shutil.which("bible")
    found = None
    if program:
        # -f turns the pretty-printing off
        found = subprocess.run([program, "-f", _ALL], capture_output=True, text=True, encoding="utf-8", check=False, timeout=_SECONDS)
    if found is None or found.returncode or not found.stdout:
        raise CanonError(
            f"The data set {name!r} needs Debian's package bible-kjv-text: install it (apt install bible-kjv-text), or take 'text', "
            "the documentation strings of Python."
        )
    return found.stdout
