"""`canon draw`: a model's architecture, or a recipe's learning rate, as an SVG picture."""

from pathlib import Path
from typing import Annotated

import typer

from ..training.recipe import load_recipe
from ..zoo import info
from ..zoo.errors import CanonError
from .console import load_tensorflow, plain_console
from .models import complete_model


def draw(
    name: Annotated[str, typer.Argument(help="Name of a model; with --schedule of a recipe.", autocompletion=complete_model)],
    schedule: Annotated[bool, typer.Option("--schedule", help="Draw the learning rate of the recipe NAME (or path.toml).")] = False,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="The .svg file (default: NAME.svg).", show_default=False)] = None,
) -> None:
    """Draw the architecture of a model from its own named layers, or the learning rate of a recipe over its epochs.

    Example: canon draw resnet50 --out resnet50.svg
    """
    # a mistake is told before TensorFlow is loaded, which takes seconds
    stem = load_recipe(name).name if schedule else info(name).name
    path = Path(f"{stem}_learning_rate.svg" if schedule else f"{stem}.svg") if out is None else out
    if path.suffix != ".svg":
        raise CanonError(f"--out must end in .svg, got {str(path)!r}.")
    load_tensorflow()
    if schedule:
        from ..training.schedule_picture import draw_schedule

        draw_schedule(name, path)
    else:
        from ..zoo.drawing import draw as draw_model

        draw_model(name, path)
    plain_console(highlight=False, soft_wrap=True).print(f"wrote {path}")
