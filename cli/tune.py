"""`canon tune`: the best point in the space of a recipe."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from ..training.tune_section import METHODS
from .console import load_tensorflow, plain_console, stopped, without_workers
from .train import complete_recipe, parse_changes

if TYPE_CHECKING:
    from ..training.tuning import TuneResult

_SHOWN = 10


def tune(
    recipe: Annotated[str, typer.Argument(help="Name of a recipe with a section tune, or path.", autocompletion=complete_recipe)],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder of the search (default: runs/NAME_tune).", show_default=False)
    ] = None,
    max_trials: Annotated[int, typer.Option(help="How many points, at most; those of earlier calls count.")] = 20,
    method: Annotated[str, typer.Option(help=f"{', '.join(METHODS[:-1])} or {METHODS[-1]}.")] = "random",
    changes: Annotated[list[str] | None, typer.Option("--set", help="Change a key, such as train.epochs=3; repeatable.")] = None,
    seed: Annotated[int, typer.Option(help="Of the choice of points.")] = 0,
    smoke: Annotated[bool, typer.Option("--smoke", help="Shrink every run to seconds, to see that it works.")] = False,
    restart: Annotated[bool, typer.Option("--restart", help="Drop the trials of an earlier search in the folder.")] = False,
    workers: Annotated[int | None, typer.Option(help="Train in so many processes on this machine.")] = None,
) -> None:
    """Search the space in the section tune of a recipe: each trial is a run, and a search that was killed goes on.

    Example: canon tune own.toml --max-trials 20 --method bayesian --out runs/search
    """
    from ..training import tuning

    tuning.require_tuner()
    overrides = parse_changes(changes or [])
    # a mistake in the space is told before TensorFlow is loaded, which takes seconds
    found = tuning.recipe_to_search(recipe, overrides, smoke=smoke, method=method, max_trials=max_trials)
    if workers is not None:
        from ..training.tuning_workers import search_in_processes

        status = search_in_processes(without_workers(sys.argv[1:]), workers)
        if status:
            raise typer.Exit(status)
        _show(tuning.result_of(tuning.search_folder(found, out)))
        return
    load_tensorflow()
    try:
        result = tuning.tune(found, out, max_trials=max_trials, method=method, seed=seed, restart=restart)
    except tuning.SearchInterrupted as interrupt:
        raise stopped(interrupt) from interrupt
    except tuning.SearchFailed:
        # the chief tells it, when all workers are done
        if tuning.is_worker():
            return
        raise
    if not tuning.is_worker():
        _show(result)


def _show(result: "TuneResult") -> None:
    from ..training.tuning_report import ranked

    order, keys = ranked(result.trials, result.objective), list(result.best.values)
    console = plain_console()
    table = Table(
        box=None, pad_edge=False, title=f"the best {_SHOWN} of {len(order)}" if len(order) > _SHOWN else None, title_justify="left"
    )
    for name in ("trial", *keys, result.objective, "epochs", "seconds"):
        table.add_column(name.replace(".", ".\n"), justify="right", overflow="fold")
    for trial in order[:_SHOWN]:
        values = (str(trial.values[key]) for key in keys)
        table.add_row(str(trial.number), *values, f"{trial.objective:.4f}", str(trial.epochs or ""), f"{trial.seconds or 0.0:.0f}")
    console.print(table)
    for trial in result.failed:
        console.print(f"trial {trial.number} failed: {trial.reason}", highlight=False, soft_wrap=True)
    for name, path in (("report", "tuning.md"), ("best recipe", "best.toml")):
        console.print(f"{name:12} {result.folder / path}", highlight=False, soft_wrap=True)
