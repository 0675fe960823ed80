"""`canon finetune`: a trained model learns other classes from a folder of pictures."""

from pathlib import Path
from typing import Annotated, Any

import typer

from ..zoo.errors import CanonError
from .console import load_tensorflow, stopped
from .train import parse_changes, show_run


def finetune(
    model: Annotated[str, typer.Argument(help="Model of the zoo, folder of a run, or .keras file.")],
    data: Annotated[str, typer.Option("--data", "-d", help="Folder with one sub-folder of pictures per class, or a data set.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder of the run (default: runs/MODEL_DATA).", show_default=False)
    ] = None,
    weights: Annotated[
        str | None,
        typer.Option(
            help="Tag, folder of a run, .keras, .weights.h5, .h5 or .safetensors file, or hf:OWNER/NAME (default: the published ones).",
            show_default=False,
        ),
    ] = None,
    epochs: Annotated[
        int | None,
        typer.Option(min=1, help="Epochs of all phases together, at most (default: 20; up to 60 for few examples).", show_default=False),
    ] = None,
    compare: Annotated[bool, typer.Option("--compare", help="Train a linear probe and from scratch too, on the same split.")] = False,
    from_scratch: Annotated[bool, typer.Option("--from-scratch", help="Start from random weights.")] = False,
    seed: Annotated[int | None, typer.Option(help="Short for --set train.seed=N.")] = None,
    changes: Annotated[list[str] | None, typer.Option("--set", help="Change a key of the recipe, such as transfer.stages=2.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a finished run, or one of another recipe.")] = False,
) -> None:
    """Fine-tune a trained model: a new head first, then the network from the top down, with early stopping and the best weights kept.

    Example: canon finetune mobilenet_v2 --data photos/ --compare --out runs/photos
    """
    overrides: dict[str, Any] = parse_changes(changes or [])
    if seed is not None:
        overrides["train.seed"] = seed
    if epochs is not None:
        overrides.setdefault("train.epochs", epochs)
    if from_scratch and weights is not None:
        raise CanonError("--from-scratch starts from random weights, and --weights were given too: keep one of them.")
    load_tensorflow()
    from ..training.finetuning import finetune as run_finetune
    from ..training.running import RunInterrupted

    try:
        result = run_finetune(
            model,
            data,
            out,
            weights="random" if from_scratch else weights,
            compare=compare,
            overrides=overrides,
            overwrite=overwrite,
        )
    except RunInterrupted as interrupt:
        raise stopped(interrupt) from interrupt
    show_run(result)
