"""Training: recipes, data, the loop, its callbacks and reports.

Recipes can be listed and read without TensorFlow; everything else is loaded on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from .recipe import list_recipes, load_recipe, recipe_toml
from .sections import Recipe

if TYPE_CHECKING:
    from . import callbacks, data, losses, schedules
    from .evaluation import Evaluation, evaluate
    from .running import RunInterrupted, RunResult, run

__all__ = [
    "Evaluation",
    "Recipe",
    "RunInterrupted",
    "RunResult",
    "callbacks",
    "data",
    "evaluate",
    "list_recipes",
    "load_recipe",
    "losses",
    "recipe_toml",
    "run",
    "schedules",
]

# a module may not be called like a function here: importing `run.py` would put the module in the function's place
_HOMES = {"Evaluation": "evaluation", "RunInterrupted": "running", "RunResult": "running", "evaluate": "evaluation", "run": "running"}


def __getattr__(name: str):
    if name in _HOMES:
        return getattr(import_module(f".{_HOMES[name]}", __name__), name)
    if name in __all__:
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
