"""`canon export`: from a trained model to a SavedModel bundle."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from ..zoo.errors import CanonError
from .console import load_tensorflow


def export(
    source: Annotated[Path, typer.Argument(help="Folder of a run, or a .keras file.")],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Folder NAME/ to write to (default: saved_models/NAME).")] = None,
    labels: Annotated[Path | None, typer.Option(help="Text file with one class name a line (default: those of the run).")] = None,
    version: Annotated[int | None, typer.Option(help="Number of the version (default: one more than the newest).")] = None,
) -> None:
    """Export a trained model as a SavedModel that TF Serving or `canon serve` answers from.

    Example: canon export runs/lenet5_digits --out saved_models/lenet5
    """
    names = None if labels is None else _read_labels(labels)
    load_tensorflow()
    from ..serving import export as export_model

    name = source.stem if source.is_file() else source.resolve().name
    bundle = export_model(source, out or Path("saved_models") / name, labels=names, version=version)
    table = Table(box=None, pad_edge=False)
    for title in ("signature", "inputs", "outputs"):
        table.add_column(title)
    for key, signature in bundle.manifest.signatures.items():
        table.add_row(key, _tensors(signature.inputs), _tensors(signature.outputs))
    console = Console()
    console.print(f"Wrote version {bundle.version} of [bold]{bundle.name}[/bold] to {bundle.path}", highlight=False)
    console.print(table)
    console.print(f"Serve it: canon serve {bundle.path.parent}", highlight=False)


def _read_labels(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise CanonError(f"The labels in {str(path)!r} cannot be read: give a text file in UTF-8 with one class name a line.") from error


def _tensors(specs) -> str:
    return "\n".join(f"{name} {spec.dtype} {spec.shape_text}" for name, spec in specs.items())
