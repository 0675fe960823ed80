"""The command line of a run, for its report."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .recipe import toml_value
from .sections import Recipe


def command_line(recipe: str | Path | Recipe, out: str | Path | None, changes: Mapping[str, Any], smoke: bool) -> str:
    """Return the command line that does what was asked for."""
    words = ["canon", "train", "recipe.toml" if isinstance(recipe, Recipe) else str(recipe)]
    words += ["--smoke"] if smoke else []
    words += [word for key, value in changes.items() for word in ("--set", f"{key}={toml_value(value)}")]
    words += ["--out", str(out)] if out is not None else []
    return shlex.join(words)
