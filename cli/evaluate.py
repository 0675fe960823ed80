"""`canon evaluate`: how good a trained model is, class by class."""

import json
import math
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from .console import bold, load_tensorflow, plain_console


def evaluate(
    model: Annotated[Path, typer.Argument(help="Folder of a run, or a .keras file.")],
    data: Annotated[str | None, typer.Option("--data", "-d", help="Data set (default: the run's own).", show_default=False)] = None,
    split: Annotated[str, typer.Option(help="train, validation or test.")] = "test",
    batch_size: Annotated[int, typer.Option(min=1, help="Examples at a time; changes the speed only.")] = 256,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Evaluate a trained model on one split of a data set.

    Example: canon evaluate runs/lenet5_digits --split validation
    """
    load_tensorflow()
    from ..training.evaluation import evaluate as evaluate_split

    result = evaluate_split(model, data, split, batch_size=batch_size)
    if as_json:
        print(json.dumps({**result.metrics(), "classes": [asdict(row) for row in result.by_class()]}, indent=2))
        return
    console = plain_console()
    accuracy = bold(f"{result.accuracy:.4f}", f" of {len(result.truth):,} examples")
    console.print(f"{result.data}, {result.split} split: accuracy", accuracy)
    table = Table(box=None, pad_edge=False)
    for title in ("class", "precision", "recall", "F1", "examples"):
        table.add_column(title, justify="left" if title == "class" else "right")
    for row in result.by_class():
        shares = ("-" if math.isnan(value) else f"{value:.4f}" for value in (row.precision, row.recall, row.f1))
        table.add_row(row.name, *shares, f"{row.examples:,}")
    console.print(table)
