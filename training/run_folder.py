"""The folder of a run: what lies in it, and when it may be written."""

import contextlib
import dataclasses
import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..zoo.errors import CanonError
from .checkpoints import has_checkpoint
from .recipe import load_recipe, recipe_toml
from .run_lock import locked
from .sections import Recipe
from .writing import write_text

_FILES = (
    "recipe.toml",
    "history.csv",
    "gradient_norms.csv",
    "metrics.json",
    "model.keras",
    "report.md",
    "report.html",
    "curves.png",
    "confusion.png",
    "mistakes.png",
    "vocabulary.json",
    "tokenizer.json",
)
_FOLDERS = ("events", "checkpoints", "snapshots")

# what may change while a run is unfinished: it does not decide the result
_HARMLESS = ("train.checkpoint_seconds", "train.checkpoint_steps", "train.strategy")


def check_folder(out: str | Path, recipe: Recipe, *, overwrite: bool = False) -> bool:
    """Say whether a run goes on with what lies in a folder, and refuse a folder that it may not write to.

    Args:
        out: the folder.
        recipe: the resolved recipe.
        overwrite: True to let a finished run, or one of another recipe, be replaced.

    Returns:
        True for an unfinished run of the same recipe, False for a new run.

    Raises:
        CanonError: for a finished run, an unfinished one of another recipe, or a folder that no run wrote; it says what would be
            lost and what to do instead.
    """
    folder = Path(out)
    if folder.exists() and not folder.is_dir():
        raise CanonError(f"{str(folder)!r} is a file: give the folder of a run another name with --out.")
    if not folder.is_dir() or not any(path.name != "run.lock" for path in folder.iterdir()):
        return False
    if not (folder / "recipe.toml").is_file():
        raise CanonError(f"{str(folder)!r} is not empty and no run wrote it: give another folder with --out.")
    finished, changed = _is_finished(folder), _changes(folder, recipe)
    if overwrite:
        # an unfinished run of this very recipe would end with the same weights anyway, so that it may as well go on
        return not finished and not changed
    if finished:
        raise CanonError(
            f"{str(folder)!r} holds a finished run, so nothing is done: give another folder with --out, or replace it with --overwrite."
        )
    if changed:
        raise CanonError(
            f"{str(folder)!r} holds an unfinished run of another recipe ({', '.join(changed)} changed): start it with the recipe it began "
            "with, give another folder with --out, or replace it with --overwrite."
        )
    return True


def _is_finished(folder: Path) -> bool:
    try:
        if json.loads((folder / "metrics.json").read_text(encoding="utf-8")).get("status") == "finished":
            return True
    except (OSError, ValueError, AttributeError):
        pass
    # a model and nothing to go on from
    return (folder / "model.keras").exists() and not has_checkpoint(folder / "checkpoints")


def _changes(folder: Path, recipe: Recipe) -> list[str]:
    """Return the keys in which a recipe differs from the one that a run began with."""
    try:
        before = dataclasses.asdict(load_recipe(folder / "recipe.toml"))
    except CanonError:
        return ["recipe.toml"]
    changed = []
    for section, values in dataclasses.asdict(recipe).items():
        if section in ("tune", "expect", "smoke", "name", "summary") or values == before[section]:
            continue
        changed += [f"{section}.{key}" for key in values if values[key] != before[section][key] and f"{section}.{key}" not in _HARMLESS]
    return changed


@contextlib.contextmanager
def open_folder(out: str | Path, recipe: Recipe, *, overwrite: bool = False) -> Iterator[Path]:
    """Own the folder of a run while the context lasts: empty but for the resolved `recipe.toml`, or as an unfinished run left it.

    What an earlier run left is removed; no other file is. Call `check_folder` first.

    Args:
        out: the folder.
        recipe: the resolved recipe.
        overwrite: True to replace an earlier run.

    Raises:
        CanonError: when the folder cannot be made, or another live run owns it.
    """
    folder = Path(out)
    try:
        (folder / "checkpoints").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CanonError(f"{str(folder)!r} cannot be made ({error.strerror}): give another folder with --out.") from error
    with locked(folder):
        goes_on = (folder / "recipe.toml").is_file() and check_folder(folder, recipe, overwrite=overwrite)
        if not goes_on:
            _clear(folder)
            (folder / "checkpoints").mkdir(exist_ok=True)
            again = f"Run it again: canon train {folder / 'recipe.toml'} --out AGAIN"
            comment = f"The recipe {recipe.name} as it was run, with every change applied.\n{again}"
            write_text(folder / "recipe.toml", recipe_toml(recipe, comment))
        yield folder


def _clear(folder: Path) -> None:
    for name in _FILES:
        (folder / name).unlink(missing_ok=True)
    for name in _FOLDERS:
        if (folder / name).is_dir():
            shutil.rmtree(folder / name)


def write_metrics(folder: Path, metrics: Mapping[str, Any]) -> None:
    """Write `metrics.json`."""
    write_text(folder / "metrics.json", json.dumps(metrics, indent=2) + "\n", flush=True)
