"""Lines of text drawn with several fonts, on paper with noise, to be read."""

import hashlib
import re
import sysconfig
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

from ...zoo.errors import CanonError
from .sequence_builder import SequenceSource
from .text import documentation

HEIGHT = 32
# of those that come with matplotlib, and so are the same on every machine
FONTS = (
    "DejaVuSans", "DejaVuSans-Bold", "DejaVuSans-Oblique", "DejaVuSansMono", "DejaVuSerif", "DejaVuSerif-Bold", "DejaVuSerif-Italic",
    "STIXGeneral", "STIXGeneralBol", "STIXGeneralItalic", "cmr10", "cmss10", "cmtt10",
)  # fmt: skip
_LARGEST_WORD, _LARGEST_LINE = 10, 14  # characters
_SEED = 2024
_WIDEST = 4  # pixels of a frame of the recognizer


def lines_source(examples: int = 10_000, width: int = 160) -> SequenceSource:
    """Return pictures of lines of one to three words out of the standard library's documentation.

    There are `examples` for training and a tenth of that for the test, whose words are none of training's. A picture is grey, 32 pixels
    high, of dark letters on light paper; behind the line its columns are 0, which stands for padding.

    Args:
        examples: lines for training.
        width: of a picture in pixels; longer lines are drawn narrower.

    Raises:
        CanonError: for fewer than 50 or more than a million lines, or a width outside 96 to 1024.
    """
    if not 50 <= examples <= 1_000_000:
        raise CanonError(f"examples of lines must be 50 to 1000000, got {examples}.")
    if not 96 <= width <= 1024:
        raise CanonError(f"width of lines must be 96 to 1024 pixels, got {width}.")

    def some(split: int, number: int) -> Iterator[dict[str, Any]]:
        chosen = sorted(word for word in words() if is_test_word(word) == bool(split))
        for row in range(number):
            generator = np.random.default_rng([_SEED, split, row])
            text = line(generator, chosen)
            picture = draw(generator, text, width)
            stored = np.zeros((HEIGHT, width), "uint8")
            stored[:, : picture.shape[1]] = picture
            yield {"image": stored, "text": text, "width": picture.shape[1]}

    return SequenceSource(
        f"lines_{examples}_{width}",
        "Lines of one to three words, drawn with thirteen fonts on paper with noise.",
        {"image": ((HEIGHT, width), "uint8"), "text": None, "width": ((), "int64")},
        lambda: {"train": some(0, examples), "test": some(1, examples // 10)},
        origin="words of the documentation strings of the standard library, drawn with the fonts of matplotlib",
    )


@cache
def words() -> tuple[str, ...]:
    """Return the words of the standard library's documentation in lower case, 2 to 10 letters, sorted."""
    found = re.findall(r"(?<![\w.])[A-Za-z]{2,}(?![\w(])", documentation(Path(sysconfig.get_paths()["stdlib"])))
    return tuple(sorted({word.lower() for word in found if len(word) <= _LARGEST_WORD}))


def is_test_word(word: str) -> bool:
    """Return whether a word belongs to the test: a tenth, the same on every machine, however it is spelled."""
    return hashlib.sha256(word.lower().encode()).digest()[0] < 26


def line(generator: np.random.Generator, chosen: list[str]) -> str:
    """Return one to three words, one in four of them with a capital letter, of at most 14 characters together."""
    text = ""
    for _ in range(int(generator.integers(1, 4))):
        word = chosen[int(generator.integers(len(chosen)))]
        word = word.capitalize() if generator.random() < 0.25 else word
        longer = f"{text} {word}".strip()
        if len(longer) <= _LARGEST_LINE:
            text = longer
    return text


def draw(generator: np.random.Generator, text: str, width: int) -> np.ndarray:
    """Return the picture of a line, uint8 (32, at most `width`), none of whose values is 0."""
    font = _font(FONTS[int(generator.integers(len(FONTS)))], int(generator.integers(18, 25)))
    left, top, right, bottom = font.getbbox(text)
    margin = int(generator.integers(2, 7))
    ink, paper = int(generator.integers(10, 90)), int(generator.integers(150, 240))
    image = Image.new("L", (int(right - left) + 2 * margin, HEIGHT), paper)
    free = HEIGHT - int(bottom - top)
    drop = int(generator.integers(max(0, free // 2 - 3), free // 2 + 4)) if free > 0 else 0
    ImageDraw.Draw(image).text((margin - left, drop - top), text, font=font, fill=ink)
    # between letters that are equal a recognizer needs a frame for the blank
    frames = len(text) + sum(one == other for one, other in pairwise(text)) + 2
    stretched = int(np.clip(image.width * generator.uniform(0.9, 1.1), _WIDEST * frames, width))
    image = image.resize((stretched, HEIGHT), Image.Resampling.BILINEAR)
    if generator.random() < 0.5:
        image = image.filter(ImageFilter.GaussianBlur(float(generator.uniform(0.3, 0.8))))
    noisy = np.asarray(image, "float32") + generator.normal(0.0, generator.uniform(2.0, 14.0), (HEIGHT, stretched))
    return np.clip(np.round(noisy), 1, 255).astype("uint8")


@cache
def _font(name: str, size: int) -> ImageFont.FreeTypeFont:
    path = Path(matplotlib.get_data_path()) / "fonts" / "ttf" / f"{name}.ttf"
    return ImageFont.truetype(path, size, layout_engine=ImageFont.Layout.BASIC)
