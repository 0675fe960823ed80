"""`canon doctor`: sanity checks of a recipe before it is run."""

import json
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from .console import load_tensorflow, plain_console
from .train import complete_recipe, parse_changes

_COLOURS = ("ok", "green"), ("warning", "yellow"), ("error", "red")


def doctor(
    recipe: Annotated[str, typer.Argument(help="Name of a recipe, or path of a .toml file.", autocompletion=complete_recipe)],
    changes: Annotated[list[str] | None, typer.Option("--set", help="Change a key, such as train.epochs=3; repeatable.")] = None,
    smoke: Annotated[bool, typer.Option("--smoke", help="Check the recipe's small version.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Check a recipe before it is run: labels, inputs, loss at start, gradients, one batch learnt by heart, speed.

    The exit status is 1 when something is wrong.

    Example: canon doctor lenet5_digits
    """
    overrides = parse_changes(changes or [])
    from ..training.recipe import load_recipe

    # a mistake in the recipe is told before TensorFlow is loaded, which takes seconds
    load_recipe(recipe, overrides, smoke)
    load_tensorflow()
    from ..training.diagnosis import diagnose

    findings = diagnose(recipe, overrides, smoke)
    if as_json:
        print(json.dumps([vars(finding) for finding in findings], indent=2))
    else:
        table, colours = Table.grid(padding=(0, 2)), dict(_COLOURS)
        for finding in findings:
            table.add_row(finding.check, Text(finding.verdict, colours[finding.verdict]), finding.sentence)
        plain_console().print(table)
    if any(finding.verdict != "ok" for finding in findings):
        raise typer.Exit(1)
