"""Blocks of a report as one HTML file that needs nothing else: pictures are inside, and a browser asks nobody for anything."""

import base64
from collections.abc import Sequence
from html import escape
from pathlib import Path

from .report_blocks import Block, Bullets, Code, Heading, Inline, Link, Picture, Preformatted, Strong, Table, Text

_STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; color: #222; background: #fff; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.7rem; } h2 { font-size: 1.2rem; margin-top: 2.2rem; border-bottom: 1px solid #ddd; padding-bottom: .2rem; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; display: block; overflow-x: auto; }
th, td { padding: .25rem .7rem; border-bottom: 1px solid #e4e4e4; text-align: left; vertical-align: top; }
th { color: #555; font-weight: 600; } td.number { text-align: right; }
img { max-width: 100%; height: auto; }
pre { background: #f5f5f5; padding: .8rem 1rem; overflow-x: auto; font-size: .85rem; } code { font-family: ui-monospace, monospace; }
"""
# belt and braces: even a mistake of ours in escaping could load or run nothing
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"


def html(blocks: Sequence[Block], folder: Path) -> str:
    """Return a report as an HTML file.

    Args:
        blocks: the report.
        folder: where its pictures lie, PNG files.
    """
    title = next((block.text for block in blocks if isinstance(block, Heading)), "")
    head = [
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>",
    ]
    return "\n".join([*head, *(_block(block, folder) for block in blocks), "</body>\n</html>\n"])


def _block(block: Block, folder: Path) -> str:
    if isinstance(block, Heading):
        return f"<h{block.level}>{escape(block.text)}</h{block.level}>"
    if isinstance(block, Text):
        return f"<p>{''.join(map(_inline, block.parts))}</p>"
    if isinstance(block, Bullets):
        return "<ul>\n" + "\n".join(f"<li>{_inline(line)}</li>" for line in block.lines) + "\n</ul>"
    if isinstance(block, Table):
        head = "".join(f'<th scope="col">{_inline(cell)}</th>' for cell in block.head)
        rows = "\n".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in block.rows)
        return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table>"
    if isinstance(block, Picture):
        data = base64.b64encode((folder / block.file).read_bytes()).decode("ascii")
        return f'<p><img alt="{escape(block.alt)}" src="data:image/png;base64,{data}"></p>'
    assert isinstance(block, Preformatted)
    return f"<pre><code>{escape(block.text)}</code></pre>"


def _cell(cell: Inline) -> str:
    return f'<td class="number">{_inline(cell)}</td>' if _is_number(cell) else f"<td>{_inline(cell)}</td>"


def _is_number(cell: Inline) -> bool:
    text = cell.text if isinstance(cell, Strong) else str(cell)
    try:
        float(text.replace(",", ""))
    except ValueError:
        return text == "-"
    return True


def _inline(part: Inline) -> str:
    if isinstance(part, Code):
        return f"<code>{escape(part.text)}</code>"
    if isinstance(part, Strong):
        return f"<strong>{escape(part.text)}</strong>"
    if isinstance(part, Link):
        # only what a browser may open: a recipe could name anything
        safe = part.url.startswith(("https://", "http://"))
        return f'<a href="{escape(part.url)}" rel="noreferrer">{escape(part.url)}</a>' if safe else escape(part.url)
    return escape(str(part))
