"""`canon compare`: runs side by side."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from .console import plain_console


def compare(
    runs: Annotated[list[Path], typer.Argument(help="Folders of two or more runs.")],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write compare.md and compare.png into this folder.")] = None,
) -> None:
    """Compare runs: results, speed, and in which keys their recipes differ; with --out their curves too.

    Example: canon compare runs/first runs/second --out runs/comparison
    """
    from ..training.comparison import compare as compare_runs

    found = compare_runs(runs)
    console = plain_console()
    for note in found.notes:
        console.print(note, highlight=False, soft_wrap=True)
    # a run in a column: many figures then fit on 80 columns
    table = Table(box=None, pad_edge=False)
    table.add_column("run", overflow="fold")
    rows = found.rows()
    for row in rows:
        table.add_column(row["run"], justify="right", overflow="fold")
    for key in list(rows[0])[1:]:
        table.add_row(key, *(row[key] for row in rows))
    if found.differing:
        table.add_section()
    for key, *values in found.changes():
        table.add_row(key, *values)
    console.print(table)
    if out is not None:
        console.print(f"written: {found.write(out)}", highlight=False, soft_wrap=True)
