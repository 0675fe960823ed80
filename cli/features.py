"""`canon features`: what a model sees in a data set, as numbers in a file."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from ..zoo.errors import CanonError
from .console import load_tensorflow, plain_console


def features(
    model: Annotated[str, typer.Argument(help="Folder of a run, a .keras file, or a model of the zoo (then with --weights).")],
    data: Annotated[str, typer.Option("--data", "-d", help="Data set, such as folder:photos.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="File to write, ending in .npz.")],
    layer: Annotated[str | None, typer.Option(help="Feature map to take (default: what enters the head).", show_default=False)] = None,
    weights: Annotated[str | None, typer.Option(help="For a model of the zoo: a tag or a weight file.", show_default=False)] = None,
    probe: Annotated[bool, typer.Option("--probe", help="Also print how good a linear probe and nearest neighbours are.")] = False,
) -> None:
    """Write the features of every picture of a data set to an .npz file.

    Example: canon features runs/lenet5_digits --data digits --out digits.npz --probe
    """
    from ..zoo.registry import create, list_models

    named = model in list_models()
    if named and weights is None:
        raise CanonError(f"{model!r} has random weights without --weights: name a tag or a weight file.")
    if weights is not None and not named:
        raise CanonError(f"--weights goes with a model of the zoo, and {model!r} is none: a run brings its own.")
    if out.suffix != ".npz":
        raise CanonError(f"--out must end in .npz, got {str(out)!r}.")
    load_tensorflow()
    from ..training.features import extract_features
    from ..training.probes import linear_probe, nearest_neighbours

    found = extract_features(create(model, weights=weights) if named else model, data, layer=layer)
    path = found.save(out)
    table = Table.grid(padding=(0, 2))
    counts = ", ".join(f"{len(labels):,} {split}" for split, labels in found.labels.items())
    table.add_row("features", f"{found.dimensions:,} numbers for each of {counts} examples")
    for result in (linear_probe(found), nearest_neighbours(found)) if probe else ():
        table.add_row(
            result.name, Text.assemble("test accuracy ", (f"{result.test_accuracy:.4f}", "bold"), f" (setting {result.setting:g})")
        )
    table.add_row("file", str(path))
    plain_console().print(table)
