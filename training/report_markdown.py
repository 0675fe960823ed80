"""Blocks of a report as Markdown."""

import re
from collections.abc import Sequence

from .report_blocks import Block, Bullets, Code, Heading, Inline, Link, Picture, Preformatted, Strong, Table, Text

# an underscore within a word is one in Markdown too
_SIGNS = re.compile(r"[\\`*\[\]<]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")


def markdown(blocks: Sequence[Block]) -> str:
    """Return a report as a Markdown file; names that hold signs of Markdown or HTML stay what they are."""
    return "\n\n".join(map(_block, blocks)) + "\n"


def _block(block: Block) -> str:
    if isinstance(block, Heading):
        return f"{'#' * block.level} {_plain(block.text)}"
    if isinstance(block, Text):
        return "".join(map(_inline, block.parts))
    if isinstance(block, Bullets):
        return "\n".join(f"- {_inline(line)}" for line in block.lines)
    if isinstance(block, Table):
        return "\n".join([_line(block.head), "|" + " --- |" * len(block.head), *map(_line, block.rows)])
    if isinstance(block, Picture):
        return f"![{_plain(block.alt)}]({block.file})"
    assert isinstance(block, Preformatted)
    # longer than any fence in the text
    fence = "`" * (1 + max((len(run) for run in re.findall("``+", block.text)), default=2))
    return f"{fence}{block.language}\n{block.text}\n{fence}"


def _line(cells: Sequence[Inline]) -> str:
    return "| " + " | ".join(_inline(cell).replace("|", "\\|") for cell in cells) + " |"


def _inline(part: Inline) -> str:
    if isinstance(part, Code):
        text = " ".join(part.text.split("\n"))
        return f"`` {text} ``" if "`" in text else f"`{text}`"
    if isinstance(part, Strong):
        return f"**{_plain(part.text)}**"
    if isinstance(part, Link):
        return f"<{part.url}>"
    return _plain(str(part))


def _plain(text: str) -> str:
    return _SIGNS.sub(r"\\\g<0>", text.replace("\n", " "))
