"""A picture in the terminal, two pixels to a character."""

import numpy as np
from rich.style import Style
from rich.text import Text


def picture(image: np.ndarray, width: int = 32) -> Text:
    """Return an image as text: the upper half block carries one pixel in its foreground, one in its background.

    Args:
        image: uint8 (H, W, C), C being 1 or 3.
        width: columns of the terminal; small images are enlarged to it by repeating pixels, large ones thinned out.
    """
    height = max(2, round(image.shape[0] * width / image.shape[1]) // 2 * 2)
    rows = np.arange(height) * image.shape[0] // height
    columns = np.arange(width) * image.shape[1] // width
    pixels = np.broadcast_to(image[rows][:, columns], (height, width, 3)) if image.shape[-1] == 1 else image[rows][:, columns]
    text = Text()
    for upper, lower in zip(pixels[::2], pixels[1::2], strict=True):
        for top, bottom in zip(upper, lower, strict=True):
            text.append("▀", Style(color=_colour(top), bgcolor=_colour(bottom)))
        text.append("\n")
    return text


def _colour(pixel: np.ndarray) -> str:
    return "#{:02x}{:02x}{:02x}".format(*(int(value) for value in pixel[:3]))


def shades(image: np.ndarray, width: int = 24) -> str:
    """Return an image in plain characters, for a file or a terminal without colour: the denser, the brighter."""
    grey = image.astype("float32").mean(axis=-1)
    rows = np.arange(width // 2) * image.shape[0] // (width // 2)
    columns = np.arange(width) * image.shape[1] // width
    levels = (grey[rows][:, columns] / 256.0 * 5).astype(int)
    return "\n".join("".join(" .+%@"[level] for level in row) for row in levels)
