"""`compare`: runs side by side, from what their folders say; needs no TensorFlow."""

import csv
import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..zoo.errors import CanonError
from .figures import draw_overlay
from .recipe_changes import changed_keys, recipe_keys
from .report_blocks import Block, Code, Heading, Picture, Table, Text
from .report_markdown import markdown
from .writing import write_text

_UNSET = "-"


@dataclass(frozen=True)
class ComparedRun:
    """What the folder of one run says.

    Args:
        name: the shortest end of its path that no other run has.
        folder: of the run.
        status: "finished", "interrupted" or "unfinished".
        recipe: its values by dotted key.
        recipe_name: the name of the recipe.
        metrics: of `metrics.json`.
        history: of `history.csv`, by name, one figure for each epoch.
    """

    name: str
    folder: Path
    status: str
    recipe: Mapping[str, Any] = field(repr=False)
    recipe_name: str
    metrics: Mapping[str, Any] = field(repr=False)
    history: Mapping[str, Sequence[float]] = field(repr=False)

    def figure(self, *path: str) -> Any:
        """Return a figure of `metrics.json`, None where there is none."""
        found: Any = self.metrics
        for key in path:
            found = found.get(key) if isinstance(found, Mapping) else None
        return found


@dataclass(frozen=True)
class Comparison:
    """Runs side by side.

    Args:
        runs: in the order in which they were named.
        differing: the keys of their recipes in which not all are alike.
        notes: sentences on what cannot be compared.
    """

    runs: tuple[ComparedRun, ...]
    differing: tuple[str, ...]
    notes: tuple[str, ...]

    def rows(self) -> list[dict[str, str]]:
        """Return the table, one row for each run, figures as they are shown."""
        return [_row(run) for run in self.runs]

    def changes(self) -> list[tuple[str, ...]]:
        """Return a row for each key that differs: the key and its value in each run."""
        return [(key, *(str(run.recipe.get(key, _UNSET)) for run in self.runs)) for key in self.differing]

    def write(self, out: str | Path) -> Path:
        """Write `compare.md` and, where there are curves, `compare.png` into a folder, and return the path of the first.

        Raises:
            CanonError: when the folder cannot be made.
        """
        folder = Path(out)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise CanonError(f"{str(folder)!r} cannot be made ({error.strerror}): give another folder with --out.") from error
        curves = {run.name: run.history for run in self.runs if run.history}
        if curves:
            draw_overlay(curves, folder / "compare.png", title=" and ".join(dict.fromkeys(run.recipe_name for run in self.runs)))
        write_text(folder / "compare.md", markdown(self._blocks(picture=bool(curves))))
        return folder / "compare.md"

    def _blocks(self, *, picture: bool) -> list[Block]:
        rows = self.rows()
        blocks: list[Block] = [Heading(1, f"{len(self.runs)} runs"), *(Text(note) for note in self.notes)]
        blocks.append(Table(tuple(rows[0]), tuple(tuple(row.values()) for row in rows)))
        if picture:
            blocks += [Heading(2, "Curves"), Picture("compare.png", "Loss and accuracy of all runs by epoch")]
        blocks.append(Heading(2, "Recipes"))
        if self.differing:
            changes = tuple((Code(key), *values) for key, *values in self.changes())
            blocks.append(Table(("key", *(run.name for run in self.runs)), changes))
        else:
            blocks.append(Text("All runs have the same recipe."))
        return blocks


def compare(folders: Sequence[str | Path]) -> Comparison:
    """Compare runs by what their folders say: results, curves, and in which keys their recipes differ.

    Args:
        folders: of two or more runs, finished or not.

    Raises:
        CanonError: for fewer than two, one named twice, or a folder without a run.

    Example:
        >>> from keras_canon import training
        >>> training.compare(["runs/first", "runs/second"]).rows()  # doctest: +SKIP
    """
    paths = [Path(folder) for folder in folders]
    if len(paths) < 2:
        raise CanonError(f"A comparison needs two or more runs, got {len(paths)}: name their folders.")
    real = [path.resolve() for path in paths]
    if len(set(real)) < len(real):
        twice = next(path for index, path in enumerate(paths) if real[index] in real[:index])
        raise CanonError(f"The run {str(twice)!r} is named twice: name each run once.")
    runs = tuple(_read(path, name) for path, name in zip(paths, _names(real), strict=True))
    differing = dict.fromkeys(key for run in runs[1:] for key in changed_keys(runs[0].recipe, run.recipe))
    order = list(dict.fromkeys(key for run in runs for key in run.recipe))
    return Comparison(runs, tuple(sorted(differing, key=order.index)), tuple(_notes(runs)))


def _names(paths: Sequence[Path]) -> list[str]:
    """Return the ends of paths, as short as they can be told apart."""
    longest = max(len(path.parts) for path in paths)
    for length in range(1, longest + 1):
        names = ["/".join(path.parts[-length:]) for path in paths]
        if len(set(names)) == len(names):
            return names
    return [str(path) for path in paths]


def _read(folder: Path, name: str) -> ComparedRun:
    path = folder / "recipe.toml"
    if not path.is_file():
        raise CanonError(f"There is no run in {str(folder)!r}, which has no recipe.toml: give the folder of a run.")
    text = path.read_text(encoding="utf-8")
    try:
        metrics = json.loads((folder / "metrics.json").read_text(encoding="utf-8")) if (folder / "metrics.json").is_file() else {}
        recipe, recipe_name = recipe_keys(text), tomllib.loads(text).get("name", folder.name)
        history = _history(folder / "history.csv")
    except ValueError as error:
        raise CanonError(f"The run in {str(folder)!r} cannot be read: {error}") from error
    status = metrics.get("status", "unfinished")
    return ComparedRun(name, folder, status, recipe, recipe_name, metrics, history)


def _history(path: Path) -> dict[str, list[float]]:
    if not path.is_file():
        return {}
    rows = list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))
    # a fine-tuning has a column of words, and what one of its phases did not measure is empty
    names = [name for name in rows[0] if name not in ("epoch", "phase")] if rows else []
    return {name: [float(row[name] or "nan") for row in rows] for name in names}


def _notes(runs: Sequence[ComparedRun]) -> list[str]:
    """Return what a reader should know before drawing conclusions."""
    notes = []
    for run in runs:
        epochs = len(run.history.get("loss", ()))
        if run.status != "finished":
            notes.append(
                f"{run.name} is {run.status} after {epochs} of {run.recipe.get('train.epochs', '?')} epochs, so it has no test figures."
            )
    data = {(run.recipe.get("data.name"), run.recipe.get("data.seed"), run.recipe.get("data.validation")) for run in runs}
    if len(data) > 1:
        notes.append("The runs have different data or splits: their figures belong to different examples.")
    losses = [key for key in ("train.loss", "train.l1", "train.l2") if len({str(run.recipe.get(key)) for run in runs}) > 1]
    losses += ["train.loss_options"] if len({str(_part(run.recipe, "train.loss_options.")) for run in runs}) > 1 else []
    if losses:
        notes.append(f"The runs differ in {' and '.join(losses)}: their losses do not mean the same; compare accuracies.")
    machines = {json.dumps(run.figure("environment", "processor")) for run in runs if run.status == "finished"}
    if len(machines) > 1:
        notes.append("The runs are of different machines: their times do not tell which recipe is faster.")
    return notes


def _part(recipe: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    return {key: value for key, value in recipe.items() if key.startswith(prefix)}


def _row(run: ComparedRun) -> dict[str, str]:
    epochs, planned = len(run.history.get("loss", ())), run.recipe.get("train.epochs")
    best = run.figure("best_epoch")
    shown = {
        "run": run.name,
        "recipe": run.recipe_name,
        "parameters": _shown(run.figure("parameters"), ",.0f"),
        "epochs": f"{epochs} of {planned}",
        "best epoch": _shown(best, "d"),
        "val loss": _shown(_validation(run, "loss"), ".4f"),
        "val accuracy": _shown(_validation(run, "accuracy"), ".4f"),
        "test accuracy": _shown(run.figure("test", "accuracy"), ".4f"),
        "test loss": _shown(run.figure("test", "cross_entropy"), ".4f"),
        "seconds": _shown(run.figure("seconds"), ".0f"),
        "examples/s": _shown(_speed(run), ",.0f"),
    }
    return {key: str(value) for key, value in shown.items()}


def _validation(run: ComparedRun, name: str) -> float | None:
    """Return a figure of the kept weights; of a run that has not ended, the newest."""
    figures = run.history.get(f"val_{name}", ())
    return run.figure("validation", name) if run.status == "finished" else figures[-1] if figures else None


def _speed(run: ComparedRun) -> float | None:
    images = run.figure("images_per_second")
    return run.figure("sequences_per_second") if images is None else images


def _shown(value: Any, form: str) -> str:
    return _UNSET if value is None else format(value, form)
