"""What a search writes: `trials.csv`, `tuning.md` with `tuning.png`, and `best.toml`."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from .recipe import change_recipe, recipe_toml
from .report_blocks import Block, Code, Heading, Picture, Preformatted, Table, Text
from .report_markdown import markdown
from .sections import ExpectSection, Recipe
from .tune_section import Range, TuneSection
from .tuning_journal import Journal
from .tuning_picture import draw_trials
from .tuning_points import point
from .tuning_trials import Trial, read_trial
from .writing import write_table, write_text

_FACTS = ("epochs", "best_epoch", "parameters", "seconds")


def read_trials(folder: Path, journal: Journal, recipe: Recipe) -> list[Trial]:
    """Return all trials that were started, in that order."""
    trials = []
    for event in journal.events:
        if event["event"] == "start":
            number = event["trial"]
            trials.append(read_trial(folder, number) or Trial(number, point(recipe.tune.space, event["values"])))
    return trials


def ranked(trials: Sequence[Trial], objective: str) -> list[Trial]:
    """Return the finished trials, the best first; of equal ones, the first that was started."""
    sign = 1.0 if objective.endswith("loss") else -1.0
    finished = [(sign * trial.objective, trial.number, trial) for trial in trials if trial.objective is not None]
    return [trial for *_, trial in sorted(finished, key=lambda item: item[:2])]


def write_search(
    folder: Path, recipe: Recipe, journal: Journal, trials: Sequence[Trial], objective: str, *, write: bool = True
) -> Trial | None:
    """Write the reports of a search.

    Args:
        folder: of the search.
        recipe: what was searched.
        journal: how.
        trials: that were started.
        objective: the figure that decides.
        write: False to write nothing.

    Returns:
        the best trial, None when none was finished.
    """
    order = ranked(trials, objective)
    best = order[0] if order else None
    if write:
        write_table(folder / "trials.csv", [_row(trial, objective) for trial in trials])
        if best is not None:
            write_text(folder / "best.toml", _best(recipe, best, objective))
            draw_trials(recipe.tune.space, order, objective, folder / "tuning.png", title=f"{recipe.name}: {len(order)} trials")
        write_text(folder / "tuning.md", markdown(_blocks(folder, recipe, journal, trials, order, objective)))
    return best


def _row(trial: Trial, objective: str) -> dict[str, Any]:
    values = {key: value if isinstance(value, int | float | str) else json.dumps(value) for key, value in trial.values.items()}
    facts = {key: getattr(trial, key) for key in _FACTS}
    return {"trial": trial.number, "status": trial.status, **values, objective: trial.objective, **facts, "reason": trial.reason}


def _best(recipe: Recipe, best: Trial, objective: str) -> str:
    found = change_recipe(recipe, best.values)
    text = f"The best of a search over {recipe.name}: trial {best.number}, {objective} {best.objective:.6g}.\nRun it: canon train best.toml"
    return recipe_toml(_without_space(found), text)


def _without_space(recipe: Recipe) -> Recipe:
    return replace(recipe, tune=TuneSection(), expect=ExpectSection(), name=f"{recipe.name}_best")


def _blocks(folder: Path, recipe: Recipe, journal: Journal, trials: Sequence[Trial], order: Sequence[Trial], objective: str) -> list[Block]:
    keys = list(recipe.tune.space)
    failed = [trial for trial in trials if trial.status == "failed"]
    unfinished = [trial for trial in trials if trial.status == "unfinished"]
    blocks: list[Block] = [
        Heading(1, f"Search over {recipe.name}"),
        Text(
            f"{len(trials)} trials, of which {len(order)} finished, {len(failed)} failed and {len(unfinished)} are unfinished; the "
            f"points are of the method {journal.method} with seed {journal.seed}. The best has the {_word(objective)} {objective}, "
            "taken on the validation split with the weights that were kept. The test split takes no part: look at it once, with the "
            "best recipe."
        ),
        Heading(2, "Space"),
        Table(("key", "range"), tuple((Code(key), _range(kind)) for key, kind in recipe.tune.space.items())),
    ]
    if order:
        best = order[0]
        blocks += [
            Heading(2, "Best"),
            Text(f"Trial {best.number}, {objective} {best.objective:.6g}. ", Code("best.toml"), " is the recipe with its values:"),
            Preformatted(f"canon train {folder / 'best.toml'}", "shell"),
            Heading(2, "Trials"),
            Picture("tuning.png", "A line for each trial through its values to its objective"),
            Table(
                ("trial", *keys, objective, "epochs", "parameters", "seconds"),
                tuple((trial.number, *_values(trial, keys), f"{trial.objective:.6g}", *_facts(trial)) for trial in order),
            ),
        ]
    if failed:
        rows = tuple((trial.number, *_values(trial, keys), trial.reason) for trial in failed)
        blocks += [Heading(2, "Failed"), Table(("trial", *keys, "reason"), rows)]
    if unfinished:
        rows = tuple((trial.number, *_values(trial, keys)) for trial in unfinished)
        blocks += [Heading(2, "Unfinished"), Table(("trial", *keys), rows)]
    if journal.method == "hyperband":
        blocks.append(
            Text("Hyperband: a point that is tried again with more epochs is trained from the start, so that its schedule fits them.")
        )
    return blocks


def _word(objective: str) -> str:
    return "lowest" if objective.endswith("loss") else "highest"


def _values(trial: Trial, keys: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"{trial.values[key]}" for key in keys)


def _facts(trial: Trial) -> tuple[str, str, str]:
    seconds = "" if trial.seconds is None else f"{trial.seconds:.0f}"
    return f"{trial.epochs or ''}", f"{trial.parameters:,}" if trial.parameters else "", seconds


def _range(kind: Range) -> str:
    if kind.choices is not None:
        return ", ".join(map(str, kind.choices))
    low, high = kind.bounds
    numbers = "whole numbers" if kind.integers is not None else "numbers"
    step = f", step {kind.step}" if kind.step is not None else ""
    return f"{numbers} from {low:g} to {high:g}, {kind.sampling or 'linear'}{step}"
