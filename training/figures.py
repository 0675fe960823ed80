"""Pictures of a run: curves, confusion matrix, contact sheet. Drawn without pyplot, which keeps state for the whole process."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib import colormaps
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

_TRAIN, _VALIDATION, _INK, _QUIET = "#3b6fb6", "#d1653a", "#222222", "#8a8a8a"
# parse_math=False: names are shown as they are, and a $ in one is no formula


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure, in inches."""
    figure = Figure(figsize=(width, height), dpi=120, layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    return figure


def draw_curves(history: Mapping[str, Sequence[float]], path: str | Path, *, title: str = "", best_epoch: int | None = None) -> None:
    """Draw loss, accuracy and learning rate over epochs, training and validation in one panel.

    Args:
        history: figures by name, one value for each epoch, as `loop.train` returns them.
        path: the PNG file.
        title: above the panels.
        best_epoch: number from 0 of the epoch whose weights were kept.
    """
    names = [name for name in ("loss", "accuracy", "learning_rate") if name in history]
    figure = new_figure(4.2 * max(len(names), 1), 3.6)
    figure.suptitle(title, color=_INK, fontsize=12, parse_math=False)
    for column, name in enumerate(names):
        axes = figure.add_subplot(1, len(names), column + 1)
        epochs = np.arange(1, len(history[name]) + 1)
        style = {"linewidth": 1.8, "marker": "o", "markersize": 3.5 if len(epochs) <= 40 else 0.0}
        is_rate = name == "learning_rate"
        axes.plot(epochs, history[name], color=_INK if is_rate else _TRAIN, label="training", **style)
        if f"val_{name}" in history:
            axes.plot(epochs, history[f"val_{name}"], color=_VALIDATION, label="validation", **style)
        if best_epoch is not None and not is_rate:
            axes.axvline(best_epoch + 1, color=_QUIET, linestyle=":", linewidth=1.2, label="weights kept")
        if name == "loss" and min(history[name]) > 0.0 and max(history[name]) > 20.0 * min(history[name]):
            axes.set_yscale("log")
        axes.set_title(name.replace("_", " "), fontsize=10.5)
        axes.set_xlabel("epoch", fontsize=9)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=8))
        axes.tick_params(labelsize=8)
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
        if not is_rate:
            axes.legend(fontsize=8, frameon=False)
    figure.savefig(Path(path))


def draw_overlay(histories: Mapping[str, Mapping[str, Sequence[float]]], path: str | Path, *, title: str = "") -> None:
    """Draw loss and accuracy of several runs over epochs: a colour for each run, training dashed, validation in full.

    Args:
        histories: figures by name, by run.
        path: the PNG file.
        title: above the panels.
    """
    figure = new_figure(11.0, 4.2 + 0.18 * len(histories))
    figure.suptitle(title, color=_INK, fontsize=12, parse_math=False)
    for column, name in enumerate(("loss", "accuracy")):
        axes = figure.add_subplot(1, 2, column + 1)
        for number, history in enumerate(histories.values()):
            colour = colormaps["tab10" if len(histories) <= 10 else "tab20"](number % 20)
            for key, style in ((name, {"linestyle": "--", "alpha": 0.6}), (f"val_{name}", {"marker": "o", "markersize": 3.0})):
                values = history.get(key, ())
                axes.plot(np.arange(1, len(values) + 1), values, color=colour, linewidth=1.6, **style)
        axes.set_title(f"{name}, training dashed", fontsize=10.5)
        axes.set_xlabel("epoch", fontsize=9)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=8))
        axes.tick_params(labelsize=8)
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
    # the lines of the last panel, two for each run
    legend = figure.legend(axes.get_lines()[1::2], list(histories), loc="outside lower center", ncols=3, fontsize=8, frameon=False)
    for label in legend.get_texts():
        label.set_parse_math(False)
    figure.savefig(Path(path))


def draw_confusion(counts: np.ndarray, class_names: Sequence[str], path: str | Path, *, title: str = "") -> None:
    """Draw a confusion matrix: rows are right classes, columns are predictions, shades are shares of the row.

    Args:
        counts: (classes, classes).
        class_names: by class number.
        path: the PNG file.
        title: above the matrix.
    """
    classes = len(class_names)
    totals = counts.sum(axis=1, keepdims=True)
    shares = counts / np.maximum(totals, 1)
    side = float(np.clip(0.55 * classes + 2.4, 4.2, 16.0))
    figure = new_figure(side + 0.8, side)
    axes = figure.add_subplot()
    image = axes.imshow(shares, cmap="Blues", vmin=0.0, vmax=1.0)
    axes.set_title(title, fontsize=11, color=_INK, parse_math=False)
    axes.set_xlabel("predicted", fontsize=9.5)
    axes.set_ylabel("right class", fontsize=9.5)
    if classes <= 60:
        axes.set_xticks(range(classes), class_names, fontsize=8, parse_math=False)
        axes.set_yticks(range(classes), class_names, fontsize=8, parse_math=False)
        if max(map(len, class_names)) > 2:
            for label in axes.get_xticklabels():
                label.set(rotation=45, ha="right", rotation_mode="anchor")
    if classes <= 25:
        for row, column in zip(*np.nonzero(counts), strict=True):
            ink = "white" if shares[row, column] > 0.55 else _INK
            axes.text(column, row, f"{counts[row, column]}", ha="center", va="center", fontsize=7.5, color=ink)
    bar = figure.colorbar(image, ax=axes, shrink=0.75)
    bar.set_label("share of the right class", fontsize=8.5)
    bar.ax.tick_params(labelsize=8)
    figure.savefig(Path(path))


def draw_contact_sheet(images: Sequence[np.ndarray], captions: Sequence[str], path: str | Path, *, title: str = "") -> None:
    """Draw pictures in rows, each over its caption.

    Args:
        images: uint8 arrays (H, W, 1 or 3), of any sizes.
        captions: one each, of a few short lines.
        path: the PNG file.
        title: above the sheet.
    """
    columns = min(8, max(len(images), 4))
    rows = math.ceil(len(images) / columns)
    lines = max(caption.count("\n") + 1 for caption in captions)
    figure = new_figure(1.5 * columns, rows * (1.3 + 0.2 * lines) + 0.6)
    figure.suptitle(title, fontsize=11, color=_INK, parse_math=False)
    for position, (image, caption) in enumerate(zip(images, captions, strict=True)):
        axes = figure.add_subplot(rows, columns, position + 1)
        # nearest: the pixels that the model saw, not smoothed ones
        shown = image[..., 0] if image.shape[-1] == 1 else image
        axes.imshow(shown, cmap="gray", vmin=0, vmax=255, interpolation="nearest")
        axes.set_xlabel(caption, fontsize=7.5, color=_INK, labelpad=3, parse_math=False)
        axes.set_xticks([])
        axes.set_yticks([])
        axes.spines[:].set_color("#cccccc")
    figure.savefig(Path(path))


def draw_rate_range(
    rates: np.ndarray, losses: np.ndarray, smoothed: np.ndarray, suggestion: float, path: str | Path, *, title: str = ""
) -> None:
    """Draw the losses of a learning-rate range test over the rate.

    Args:
        rates: of each update, ascending.
        losses: of each update.
        smoothed: the losses, smoothed.
        suggestion: the rate to mark.
        path: the PNG file.
        title: above the panel.
    """
    figure = new_figure(6.4, 4.0)
    axes = figure.add_subplot()
    axes.set_title(title, fontsize=11, color=_INK, parse_math=False)
    axes.plot(rates, losses, color=_TRAIN, alpha=0.3, linewidth=1.0, label="loss of each batch")
    axes.plot(rates, smoothed, color=_TRAIN, linewidth=2.0, label="smoothed")
    axes.axvline(suggestion, color=_VALIDATION, linestyle="--", linewidth=1.4, label=f"suggestion {suggestion:.2g}")
    axes.set_xscale("log")
    # a few batches at the end may be far above all others and would flatten what matters
    low, high = smoothed.min(), smoothed[0]
    margin = 0.25 * (high - low) or 0.1
    axes.set_ylim(low - margin, high + 2.0 * margin)
    axes.set_xlabel("learning rate", fontsize=9)
    axes.set_ylabel("loss", fontsize=9)
    axes.tick_params(labelsize=8)
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(fontsize=8, frameon=False)
    figure.savefig(Path(path))
