"""`canon predict`: what a trained model sees in image files."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from .console import load_tensorflow, plain_console


def predict(
    model: Annotated[Path, typer.Argument(help="Folder of a run, or a .keras file.")],
    images: Annotated[list[Path], typer.Argument(help="Image files: JPEG, PNG, GIF, BMP or WebP.")],
    top: Annotated[int, typer.Option(min=1, help="Classes to show for each image.")] = 3,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Classify image files with a trained model.

    Example: canon predict runs/lenet5_digits digit.png --top 5
    """
    load_tensorflow()
    from ..training.auxiliary import main_output
    from ..training.evaluation import load_trained
    from ..zoo.labels import decode
    from ..zoo.preprocessing import preprocess

    trained, _ = load_trained(model)
    logits = main_output(trained.predict(preprocess(images, trained), verbose=0))
    answers = decode(logits, trained, top=top)
    if as_json:
        rows = [{"image": str(path), "classes": dict(row)} for path, row in zip(images, answers, strict=True)]
        print(json.dumps(rows, indent=2))
        return
    table = Table(box=None, pad_edge=False)
    for title in ("image", "class", "probability"):
        table.add_column(title, justify="right" if title == "probability" else "left", overflow="fold")
    for path, row in zip(images, answers, strict=True):
        for position, (label, probability) in enumerate(row):
            table.add_row(str(path) if position == 0 else "", label, f"{probability:.4f}")
    plain_console().print(table)
