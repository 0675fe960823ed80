"""Explanations as pictures."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import tensorflow as tf
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from .preprocessing import apply_preprocessing
from .records import Preprocessing

_MAP = "inferno"


def as_seen(image, preprocessing: Preprocessing) -> np.ndarray:
    """Return an image as the model sees it, but with its colours: resized and cropped, uint8 (H, W, 1 or 3).

    Args:
        image: (H, W, C), values 0 to 255.
        preprocessing: the model's own.
    """
    plain = Preprocessing(
        size=preprocessing.size,
        resize=preprocessing.resize,
        fraction=preprocessing.fraction,
        interpolation=preprocessing.interpolation,
        antialias=preprocessing.antialias,
        channels=preprocessing.channels,
        scale=1.0,
    )
    return np.clip(np.rint(apply_preprocessing(tf.convert_to_tensor(image), plain).numpy()), 0, 255).astype("uint8")


def draw_explanations(picture: np.ndarray, heats: Mapping[str, np.ndarray], path: str | Path, *, title: str = "") -> None:
    """Draw a picture, and beside it the same picture under each heat.

    Args:
        picture: uint8 (H, W, 1 or 3).
        heats: 0 to 1 by name, (rows, columns); stretched over the picture.
        path: the PNG file.
        title: above all.
    """
    height, width = picture.shape[:2]
    shown = np.repeat(picture, 3, axis=-1) if picture.shape[-1] == 1 else picture
    side = 3.2
    figure = Figure(figsize=(side * (len(heats) + 1), side * height / width + 0.8), dpi=120, layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    figure.suptitle(title, fontsize=11)
    for column, (name, heat) in enumerate({"picture": None, **heats}.items()):
        axes = figure.add_subplot(1, len(heats) + 1, column + 1)
        axes.imshow(shown, extent=(0, width, height, 0))
        if heat is not None:
            axes.imshow(heat, cmap=_MAP, vmin=0.0, vmax=1.0, alpha=0.6, extent=(0, width, height, 0), interpolation="bilinear")
        axes.set_title(name, fontsize=10)
        axes.set_axis_off()
    figure.savefig(Path(path))
