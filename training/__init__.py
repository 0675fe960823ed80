"""Training: recipes, data, the loop, its callbacks and reports.

Recipes can be listed and read without TensorFlow; everything else is loaded on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from .recipe import list_recipes, load_recipe, recipe_toml
from .sections import Recipe

if TYPE_CHECKING:
    from . import augmentation, averaging, callbacks, data, losses, schedules
    from .diagnosis import diagnose
    from .doctor import Finding
    from .evaluation import Evaluation, evaluate
    from .rate_range import RateRange, find_rate
    from .running import RunInterrupted, RunResult, run
    from .snapshots import ensemble_probabilities

__all__ = [
    "Evaluation",
    "Finding",
    "RateRange",
    "Recipe",
    "RunInterrupted",
    "RunResult",
    "augmentation",
    "averaging",
    "callbacks",
    "data",
    "diagnose",
    "ensemble_probabilities",
    "evaluate",
    "find_rate",
    "list_recipes",
    "load_recipe",
    "losses",
    "recipe_toml",
    "run",
    "schedules",
]

# a module may not be called like a function here: importing `run.py` would put the module in the function's place
_HOMES = {
    "Evaluation": "evaluation",
    "Finding": "doctor",
    "RateRange": "rate_range",
    "diagnose": "diagnosis",
    "ensemble_probabilities": "snapshots",
    "find_rate": "rate_range",
    "RunInterrupted": "running",
    "RunResult": "running",
    "evaluate": "evaluation",
    "run": "running",
}


def __getattr__(name: str):
    if name in _HOMES:
        return getattr(import_module(f".{_HOMES[name]}", __name__), name)
    if name in __all__:
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
