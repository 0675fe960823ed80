"""The folder of a run: what lies in it, and when it may be written."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..zoo.errors import CanonError
from .recipe import recipe_toml
from .sections import Recipe

_FILES = (
    "recipe.toml",
    "history.csv",
    "metrics.json",
    "model.keras",
    "report.md",
    "curves.png",
    "confusion.png",
    "mistakes.png",
)
_FOLDERS = ("events", "checkpoints")


def check_folder(out: str | Path, *, overwrite: bool = False) -> None:
    """Refuse a folder that a run may not write to: one with a finished model, or one that is not empty and no run wrote.

    Args:
        out: the folder.
        overwrite: True to let an earlier run be replaced.

    Raises:
        CanonError: it says what would be lost and what to do instead.
    """
    folder = Path(out)
    if folder.exists() and not folder.is_dir():
        raise CanonError(f"{str(folder)!r} is a file: give the folder of a run another name with --out.")
    if not folder.is_dir() or not any(folder.iterdir()):
        return
    if not (folder / "recipe.toml").is_file():
        raise CanonError(f"{str(folder)!r} is not empty and no run wrote it: give another folder with --out.")
    if (folder / "model.keras").exists() and not overwrite:
        raise CanonError(f"{str(folder)!r} holds a run already: give another folder with --out, or replace it with --overwrite.")


def prepare_folder(out: str | Path, recipe: Recipe) -> Path:
    """Make the folder of a run, empty but for the resolved `recipe.toml`.

    What an earlier run left is removed; no other file is. Call `check_folder` first.

    Args:
        out: the folder.
        recipe: the resolved recipe.

    Raises:
        CanonError: when the folder cannot be made.
    """
    folder = Path(out)
    _clear(folder)
    try:
        (folder / "checkpoints").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CanonError(f"{str(folder)!r} cannot be made ({error.strerror}): give another folder with --out.") from error
    again = f"Run it again: canon train {folder / 'recipe.toml'} --out AGAIN"
    comment = f"The recipe {recipe.name} as it was run, with every change applied.\n{again}"
    write_text(folder / "recipe.toml", recipe_toml(recipe, comment))
    return folder


def _clear(folder: Path) -> None:
    for name in _FILES:
        (folder / name).unlink(missing_ok=True)
    for name in _FOLDERS:
        if (folder / name).is_dir():
            shutil.rmtree(folder / name)


def write_text(path: Path, text: str) -> None:
    """Write a file in one move, so that nobody ever reads half of it."""
    part = path.with_name(f"part.{path.name}")
    part.write_text(text, encoding="utf-8")
    part.replace(path)


def write_metrics(folder: Path, metrics: Mapping[str, Any]) -> None:
    """Write `metrics.json`."""
    write_text(folder / "metrics.json", json.dumps(metrics, indent=2) + "\n")
