"""Points of a space: from what keras-tuner draws to values by key of a recipe."""

import math
from collections.abc import Mapping
from typing import Any

from .tune_section import Range

# how many epochs Hyperband gives a trial
EPOCHS = "tuner/epochs"
_DIGITS = 4


def point(space: Mapping[str, Range], drawn: Mapping[str, Any]) -> dict[str, Any]:
    """Return values by key of a recipe, as drawn by keras-tuner; numbers are rounded to four digits, so that they can be read."""
    return {key: _value(kind, drawn[key]) for key, kind in space.items()}


def _value(kind: Range, drawn: Any) -> Any:
    if kind.choices is not None:
        value = kind.choices[int(drawn)]
        return list(value) if isinstance(value, tuple) else value
    if kind.integers is not None:
        return int(drawn)
    low, high = kind.bounds
    return min(max(_rounded(float(drawn)), low), high)


def _rounded(value: float) -> float:
    return round(value, _DIGITS - 1 - math.floor(math.log10(abs(value)))) if value else value
