"""`canon train`: a recipe becomes a run folder."""

import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from ..training.cluster import run_local_workers
from ..training.recipe import list_recipes
from ..training.sections import Recipe
from ..zoo.errors import CanonError
from .console import bold, load_tensorflow, plain_console, stopped, without_workers

if TYPE_CHECKING:
    from ..training.running import RunResult


def complete_recipe(incomplete: str) -> list[str]:
    """Names of recipes for tab completion."""
    return [name for name in list_recipes() if name.startswith(incomplete)]


def train(
    recipe: Annotated[str, typer.Argument(help="Name of a recipe, or path of a .toml file.", autocompletion=complete_recipe)],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Folder of the run (default: runs/NAME).", show_default=False)] = None,
    changes: Annotated[list[str] | None, typer.Option("--set", help="Change a key, such as train.epochs=3; repeatable.")] = None,
    seed: Annotated[int | None, typer.Option(help="Short for --set train.seed=N.")] = None,
    smoke: Annotated[bool, typer.Option("--smoke", help="Shrink the run to seconds, to see that it works.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a finished run, or one of another recipe.")] = False,
    workers: Annotated[int | None, typer.Option(help="Train in so many processes on this machine, to try a cluster out.")] = None,
    find_lr: Annotated[bool, typer.Option("--find-lr", help="Do not train: find out which learning rate suits, and draw it.")] = False,
) -> None:
    """Train the model of a recipe and write a run folder: weights, curves, report. A run that was killed goes on.

    Example: canon train lenet5_digits --set train.epochs=10 --out runs/first
    """
    overrides = parse_changes(changes or [])
    from ..training.recipe import load_recipe

    # a mistake in the recipe is told before TensorFlow is loaded, which takes seconds
    load_recipe(recipe, overrides if seed is None else {**overrides, "train.seed": seed}, smoke)
    if workers is not None:
        raise typer.Exit(run_local_workers(without_workers(sys.argv[1:]), workers))
    load_tensorflow()
    if find_lr:
        _find_lr(load_recipe(recipe, overrides if seed is None else {**overrides, "train.seed": seed}, smoke), out)
        return
    from ..training.running import RunInterrupted, run

    try:
        result = run(recipe, out, overrides=overrides, smoke=smoke, seed=seed, overwrite=overwrite)
    except RunInterrupted as interrupt:
        raise stopped(interrupt) from interrupt
    show_run(result)


def show_run(result: "RunResult") -> None:
    """Print what a finished run reached, and where it lies."""
    table = Table.grid(padding=(0, 2))
    table.add_row("test accuracy", bold(f"{result.test.accuracy:.4f}", f" of {len(result.test.truth):,} examples"))
    table.add_row("weights kept", f"epoch {result.best_epoch + 1} of {len(result.history['loss'])}")
    table.add_row("time", f"{result.seconds:.0f} s")
    table.add_row("report", str(result.folder / "report.md"))
    table.add_row("model", str(result.folder / "model.keras"))
    plain_console().print(table)


def _find_lr(recipe: Recipe, out: Path | None) -> None:
    """Do a learning-rate range test; the picture lies beside the folder of a run, not in it."""
    from ..training.figures import draw_rate_range
    from ..training.rate_range import find_rate

    path = out if out is not None and out.suffix == ".png" else (out or Path("runs")) / f"{recipe.name}_learning_rate.png"
    found = find_rate(recipe)
    path.parent.mkdir(parents=True, exist_ok=True)
    title = f"{recipe.name}: {recipe.optimizer.name}, batches of {recipe.train.batch_size}"
    draw_rate_range(found.rates, found.losses, found.smoothed, found.suggestion, path, title=title)
    table = Table.grid(padding=(0, 2))
    table.add_row("suggestion", bold(f"optimizer.learning_rate={found.suggestion:.2g}", ", where the loss falls fastest"))
    table.add_row("tried", f"{found.rates[0]:.1g} to {found.rates[-1]:.2g} in {len(found.rates)} updates")
    table.add_row("picture", str(path))
    plain_console().print(table)


def parse_changes(changes: list[str]) -> dict[str, Any]:
    """Return {"train.epochs": 3} for ["train.epochs=3"]; values are TOML, and whatever TOML cannot read is a string."""
    overrides = {}
    for change in changes:
        key, equals, value = change.partition("=")
        if not equals or not key.strip():
            raise CanonError(f"--set {change!r} must be KEY=VALUE, such as --set train.epochs=3.")
        try:
            overrides[key.strip()] = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            overrides[key.strip()] = value.strip()
    return overrides
