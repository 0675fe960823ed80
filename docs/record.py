"""Write what a finished run measured into its recipe, and the tables of the README from all recipes.

usage: python docs/record.py [--figure NAME] [RUN ...]

Each RUN is a folder that `canon train` wrote; without one, only the tables are written. The time goes into the recipe's header as
measured: where the run had fewer cores than the header says, or stood still, write there what is to be expected. `--figure` names
figures of the test split that a recipe is told by in place of its accuracy, as in `metrics.json`. A run of another recipe than the one
that stands is refused.
"""

import argparse
import dataclasses
import datetime
import json
import re
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

from keras_canon import training
from keras_canon.training.sections import ExpectSection, Recipe

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
RECIPES = ROOT / "training" / "recipes"

_MEASURED = re.compile(r"\n\[expect\.measured\]\n(?:[^\[\n].*\n)*")
_TIME = re.compile(r"^# Time: .*(?:\n#  {10,}.*)*$", re.MULTILINE)
_ROW = "| `"


def recorded(text: str, metrics: dict, date: datetime.date, figures: Sequence[str] = ()) -> str:
    """Return the text of a recipe with what a run measured.

    Args:
        text: of the recipe's file.
        metrics: of the run, as in its `metrics.json`.
        date: day of the run.
        figures: names of figures of the test split that tell more than the accuracy.

    Raises:
        KeyError: for a figure that the run has not.
    """
    test = metrics["test"]
    lines = [
        "[expect.measured]",
        f"test_accuracy = {test.get('accuracy', test.get('token_accuracy', 0.0)):.4f}",
        f"parameters = {metrics['parameters']}",
        f"date = {date.isoformat()}",
        f"seed = {metrics['seed']}",
        f"epochs = {metrics['epochs']}",
        f"seconds = {round(metrics['seconds'])}",
        f'hardware = "{_hardware(metrics["environment"])}"',
        *([f"figures = {{ {', '.join(f'{name} = {test[name]:.4g}' for name in figures)} }}"] if figures else []),
    ]
    text = _MEASURED.sub("", text)
    head, expect, rest = text.partition("[expect]\n")
    kept, blank, below = rest.partition("\n\n")
    minutes = max(1, round(metrics["seconds"] / 60))
    head = _TIME.sub(f"# Time:     about {minutes} minute{'s' * (minutes > 1)}", head)
    return "".join((head, expect, kept.rstrip("\n"), "\n\n", "\n".join(lines), blank or "\n", below))


def _hardware(environment: dict[str, str]) -> str:
    cards = environment["accelerators"]
    cores = environment["cores"]
    return cards if cards != "none" else f"{cores} CPU core{'s' * (cores != '1')} ({environment['processor']})"


def readme_tables() -> tuple[list[str], list[str]]:
    """Return the rows of the README's tables: results told by the accuracy of classes, and those told by a figure of their own."""
    rows, others = [], []
    for name, recipe in _recipes():
        measured = recipe.expect.measured
        if measured is None:
            continue
        told = [f"{measured.test_accuracy:.4f}"]
        if measured.figures:
            figure, value = next(iter(measured.figures.items()))
            told = [figure.replace("_", " "), f"{value:.4f}"]
        cells = [
            f"`{name}`",
            recipe.data.name,
            *told,
            f"{measured.parameters:,}",
            str(measured.epochs),
            f"{measured.seconds / 60:.1f}",
            str(measured.seed),
            measured.date.isoformat(),
        ]
        (others if measured.figures else rows).append(f"| {' | '.join(cells)} |")
    return rows, others


def _recipes() -> Iterator[tuple[str, Recipe]]:
    # the files themselves: those that stand in the package may be older
    for name in sorted(path.stem for path in RECIPES.glob("*.toml")):
        yield name, training.load_recipe(RECIPES / f"{name}.toml")


def with_tables(text: str) -> str:
    """Return the README with the tables of what the recipes measured."""
    tables, lines, inside = iter(readme_tables()), [], False
    for line in text.splitlines():
        if line.startswith(_ROW) and not inside:
            lines.extend(next(tables))
        if not line.startswith(_ROW):
            lines.append(line)
        inside = line.startswith(_ROW)
    return "\n".join(lines) + "\n"


def record(run: Path, figures: Sequence[str]) -> None:
    """Write the figures of a run into its recipe."""
    metrics = json.loads((run / "metrics.json").read_text(encoding="utf-8"))
    path = RECIPES / f"{metrics['recipe']}.toml"
    text = path.read_text(encoding="utf-8")
    if _without_expectation(training.load_recipe(run / "recipe.toml")) != _without_expectation(training.load_recipe(path)):
        raise SystemExit(f"{run} was run with another recipe than {path.name} as it stands: train it again, or take back the change.")
    date = datetime.date.fromtimestamp((run / "metrics.json").stat().st_mtime)
    try:
        text = recorded(text, metrics, date, figures)
    except KeyError as error:
        raise SystemExit(f"{run} has no figure {error} of the test split: name some of {', '.join(metrics['test'])}.") from error
    tomllib.loads(text)
    path.write_text(text, encoding="utf-8")


def _without_expectation(recipe: Recipe) -> Recipe:
    return dataclasses.replace(recipe, expect=ExpectSection())


def main() -> None:
    """Record the runs that the command line names, and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="*", type=Path, metavar="RUN")
    parser.add_argument("--figure", action="append", default=[], metavar="NAME")
    given = parser.parse_args()
    for run in given.runs:
        record(run, given.figure)
    README.write_text(with_tables(README.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
