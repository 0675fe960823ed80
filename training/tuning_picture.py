"""The picture of a search: an axis for each key, a line for each trial."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import colormaps

from .figures import new_figure
from .tune_section import Range
from .tuning_trials import Trial

_INK, _QUIET, _BEST = "#222222", "#9a9a9a", "#d1653a"
# on a light ground, so that they can be read over the lines
_TICK: dict[str, Any] = {
    "fontsize": 7.5,
    "va": "center",
    "color": _INK,
    "zorder": 5,
    "bbox": {"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.8},
}


def draw_trials(space: Mapping[str, Range], trials: Sequence[Trial], objective: str, path: str | Path, *, title: str = "") -> None:
    """Draw finished trials as lines through parallel axes, from value to value and on to the objective; the best one stands out.

    Args:
        space: the range of each key.
        trials: finished ones, the best first.
        objective: name of the last axis.
        path: the PNG file.
        title: above the axes.
    """
    keys = list(space)
    scores = np.array([trial.objective for trial in trials], "float64")
    low, high = float(scores.min()), float(scores.max())
    heights = np.array([[_height(space[key], trial.values[key]) for key in keys] for trial in trials])  # (trials, keys)
    last = (scores - low) / (high - low) if high > low else np.full(len(scores), 0.5)
    lines = np.concatenate([heights, last[:, None]], axis=1)
    figure = new_figure(1.9 * len(keys) + 3.4, 4.2)
    axes = figure.add_subplot()
    figure.suptitle(title, fontsize=11, color=_INK, parse_math=False)
    # the worst first, so that good ones lie on top
    for rank in range(len(trials) - 1, -1, -1):
        shade = colormaps["viridis"](0.9 * rank / max(len(trials) - 1, 1))
        style = {"color": _BEST, "linewidth": 2.6, "zorder": 4} if rank == 0 else {"color": shade, "linewidth": 1.1, "alpha": 0.75}
        axes.plot(range(len(keys) + 1), lines[rank], marker="o", markersize=3.5, **style)
    ends = [(0.0, f"{low:.4g}"), (1.0, f"{high:.4g}")] if high > low else [(0.5, f"{low:.4g}")]
    for column, ticks in enumerate([*(_ticks(space[key]) for key in keys), ends]):
        axes.axvline(column, color=_QUIET, linewidth=1.0, zorder=0)
        for height, name in ticks:
            axes.annotate(name, (column, height), xytext=(8, 0), textcoords="offset points", parse_math=False, **_TICK)
    axes.set_xticks(range(len(keys) + 1), [key.replace(".", ".\n") for key in keys] + [objective], fontsize=8, parse_math=False)
    axes.set_xlim(-0.15, len(keys) + 0.45)
    axes.set_ylim(-0.05, 1.05)
    axes.set_yticks([])
    axes.spines[:].set_visible(False)
    figure.savefig(Path(path))


def _height(kind: Range, value) -> float:
    """Return where a value lies on its axis, 0 to 1."""
    if kind.choices is not None:
        known = [list(item) if isinstance(item, tuple) else item for item in kind.choices]
        return known.index(value) / max(len(known) - 1, 1)
    low, high = kind.bounds
    if kind.sampling == "log":
        low, high, value = np.log(low), np.log(high), np.log(value)
    return float((value - low) / (high - low))


def _ticks(kind: Range) -> list[tuple[float, str]]:
    if kind.choices is not None:
        return [(index / max(len(kind.choices) - 1, 1), _short(value)) for index, value in enumerate(kind.choices)]
    return [(0.0, f"{kind.bounds[0]:g}"), (1.0, f"{kind.bounds[1]:g}")]


def _short(value) -> str:
    text = str(value)
    return text if len(text) <= 16 else f"{text[:15]}…"
