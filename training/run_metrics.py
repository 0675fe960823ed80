"""The figures of a finished run, as `metrics.json` holds them."""

import dataclasses
from typing import Any

from .data import Dataset
from .report import Outcome


def metrics_of(outcome: Outcome) -> dict[str, Any]:
    """Return status, figures and environment of a run that has ended."""
    best = outcome.best_epoch
    names = ("loss", "accuracy")
    return {
        "status": "finished",
        "recipe": outcome.recipe.name,
        "seed": outcome.recipe.train.seed,
        "epochs": len(outcome.history["loss"]),
        "best_epoch": best + 1,
        "validation": {name: outcome.history[f"val_{name}"][best] for name in names},
        "test": outcome.test.metrics(),
        "classes": [dataclasses.asdict(row) for row in outcome.test.by_class()],
        "parameters": outcome.parameters,
        "seconds": outcome.seconds,
        f"{'images' if isinstance(outcome.data, Dataset) else 'sequences'}_per_second": outcome.examples_per_second,
        "environment": dict(outcome.environment),
    }
