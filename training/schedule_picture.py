"""The learning rate of a recipe over its epochs, as an SVG picture."""

import math
from html import escape
from pathlib import Path

from ..zoo.errors import CanonError
from .recipe import load_recipe
from .schedules import learning_rate

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 560, 260, 64, 20, 52, 40
_STEPS = 100  # updates of an epoch in the picture: the shape of a schedule hardly depends on how many there are
_POINTS = 240
_STYLE = (
    "text{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;font-size:11px;fill:#444}"
    ".title{font-size:14px;font-weight:600;fill:#222}.rate{fill:none;stroke:#3b6fb6;stroke-width:2}.grid{stroke:#ddd}"
)


def draw_schedule(recipe: str | Path, path: str | Path | None = None) -> str:
    """Draw the learning rate of a recipe over its epochs. A "plateau" is drawn as it is without any plateau.

    Args:
        recipe: name of a recipe, or path of a .toml file.
        path: the .svg file to write; None to write none.

    Returns:
        the picture, an SVG document.

    Raises:
        CanonError: for an unknown recipe, or a path that does not end in .svg.

    Example:
        >>> from keras_canon.training.schedule_picture import draw_schedule
        >>> "lenet5_digits" in draw_schedule("lenet5_digits")
        True
    """
    if path is not None and Path(path).suffix != ".svg":
        raise CanonError(f"A drawing is an SVG picture: give a path that ends in .svg, not {str(path)!r}.")
    read = load_recipe(recipe)
    rate = learning_rate(read.optimizer, read.schedule, read.train, _STEPS)
    last = read.train.epochs * _STEPS - 1
    steps = sorted({round(last * point / (_POINTS - 1)) for point in range(_POINTS)})
    rates = [float(rate) if isinstance(rate, int | float) else float(rate(step)) for step in steps]
    title = f"{read.name}: {read.optimizer.name}, {read.schedule.name.replace('_', ' ')}"
    drawn = _picture([step / _STEPS for step in steps], rates, read.train.epochs, title)
    if path is not None:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(drawn, encoding="utf-8")
    return drawn


def _picture(epochs: list[float], rates: list[float], end: int, title: str) -> str:
    step, top = _scale(max(rates))
    wide, high = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM

    def across(epoch: float) -> str:
        return f"{_LEFT + wide * epoch / end:.1f}"

    def down(rate: float) -> str:
        return f"{_TOP + high * (1.0 - rate / top):.1f}"

    lines = [f"{across(epoch)},{down(rate)}" for epoch, rate in zip(epochs, rates, strict=True)]
    marks = [number * step for number in range(round(top / step) + 1)]
    every = max(1, math.ceil(end / 10))
    return (
        "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}" role="img">',
                f"<title>Learning rate of {escape(title)}</title><style>{_STYLE}</style>",
                f'<rect width="{_WIDTH}" height="{_HEIGHT}" rx="8" fill="#fff"/>',
                f'<text class="title" x="{_LEFT}" y="28">{escape(title)}</text>',
                *(f'<path class="grid" d="M{_LEFT} {down(mark)}h{wide}"/>' for mark in marks),
                *(f'<text x="{_LEFT - 8}" y="{float(down(mark)) + 4:.1f}" text-anchor="end">{mark:.3g}</text>' for mark in marks),
                *(
                    f'<text x="{across(epoch)}" y="{_HEIGHT - _BOTTOM + 16}" text-anchor="middle">{epoch}</text>'
                    for epoch in range(0, end + 1, every)
                ),
                f'<text x="{_LEFT + wide / 2:g}" y="{_HEIGHT - 8}" text-anchor="middle">epoch</text>',
                f'<polyline class="rate" points="{" ".join(lines)}"/>',
                "</svg>",
            ]
        )
        + "\n"
    )


def _scale(largest: float) -> tuple[float, float]:
    """Return the distance of the lines across and the top: 1, 2 or 5 times a power of ten, at most six of them."""
    power = 10.0 ** math.floor(math.log10(largest))
    step = next(size for size in (power / 10, power / 5, power / 2, power, 2 * power, 5 * power) if largest / size <= 5.0)
    return step, step * math.ceil(largest / step - 1e-9)
