"""What reports are made of: one list of blocks, written as Markdown and as HTML."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Code:
    """A word of code in running text."""

    text: str


@dataclass(frozen=True)
class Strong:
    """Words that stand out."""

    text: str


@dataclass(frozen=True)
class Link:
    """An address, shown as it is."""

    url: str


Inline = str | int | Code | Strong | Link


@dataclass(frozen=True)
class Heading:
    """A heading; level 1 is the title."""

    level: int
    text: str


@dataclass(frozen=True, init=False)
class Text:
    """A paragraph."""

    parts: tuple[Inline, ...]

    def __init__(self, *parts: Inline):
        object.__setattr__(self, "parts", parts)


@dataclass(frozen=True)
class Bullets:
    """A list of lines."""

    lines: Sequence[Inline]


@dataclass(frozen=True)
class Table:
    """A table; every row is as long as the head."""

    head: Sequence[Inline]
    rows: Sequence[Sequence[Inline]]


@dataclass(frozen=True)
class Picture:
    """A picture beside the report.

    Args:
        file: its name, in the report's folder.
        alt: what it shows, for who cannot see it.
    """

    file: str
    alt: str


@dataclass(frozen=True)
class Preformatted:
    """Lines that are kept as they are.

    Args:
        text: the lines.
        language: of the code.
    """

    text: str
    language: str = ""


Block = Heading | Text | Bullets | Table | Picture | Preformatted
