"""`canon export`: from a trained model to a SavedModel bundle."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from ..zoo.errors import CanonError
from .console import load_tensorflow


class Precision(StrEnum):
    """Arithmetic of an export."""

    float32 = "float32"
    bfloat16 = "bfloat16"
    int8 = "int8"


class Format(StrEnum):
    """Formats beside the SavedModel."""

    litert = "litert"
    onnx = "onnx"
    openvino = "openvino"


def export(
    source: Annotated[Path, typer.Argument(help="Folder of a run, or a .keras file.")],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Folder NAME/ to write to (default: saved_models/NAME).")] = None,
    labels: Annotated[Path | None, typer.Option(help="Text file with one class name a line (default: those of the run).")] = None,
    version: Annotated[int | None, typer.Option(help="Number of the version (default: one more than the newest).")] = None,
    precision: Annotated[Precision, typer.Option(help="Arithmetic; int8 writes a LiteRT file and needs --data.")] = Precision.float32,
    formats: Annotated[list[Format] | None, typer.Option("--format", help="Other format to write too; may be repeated.")] = None,
    data: Annotated[
        Path | None, typer.Option(help="Measure on this: an .npz file (inputs by name, classes as 'targets') or a folder of images.")
    ] = None,
) -> None:
    """Export a trained model as a SavedModel that TF Serving or `canon serve` answers from.

    Example: canon export runs/lenet5_digits --out saved_models/lenet5 --precision bfloat16 --data test.npz
    """
    names = None if labels is None else _read_labels(labels)
    load_tensorflow()
    from ..serving import export as export_model

    name = source.stem if source.is_file() else source.resolve().name
    bundle = export_model(
        source,
        out or Path("saved_models") / name,
        labels=names,
        version=version,
        precision=precision.value,
        formats=[form.value for form in formats or ()],
        data=data,
    )
    table = Table(box=None, pad_edge=False)
    for title in ("signature", "inputs", "outputs"):
        table.add_column(title)
    for key, signature in bundle.manifest.signatures.items():
        table.add_row(key, _tensors(signature.inputs), _tensors(signature.outputs))
    console = Console()
    console.print(f"Wrote version {bundle.version} of [bold]{bundle.name}[/bold] to {bundle.path}", highlight=False)
    console.print(table)
    for name, file in bundle.manifest.formats.items():
        console.print(f"{name}: {bundle.path / file}", highlight=False)
    for item in bundle.manifest.measurements:
        console.print(_measured(item), highlight=False)
    console.print(f"Serve it: canon serve {bundle.path.parent}", highlight=False)


def _read_labels(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise CanonError(f"The labels in {str(path)!r} cannot be read: give a text file in UTF-8 with one class name a line.") from error


def _measured(item) -> str:
    accuracy = "" if item.accuracy is None else f"accuracy {item.accuracy:.4f} (float32 {item.float32_accuracy:.4f}), "
    ratio = item.float32_milliseconds / item.milliseconds
    return (
        f"{item.what} on {item.examples} examples: {accuracy}largest difference {item.difference:.2g}, "
        f"{item.milliseconds:.2f} ms for a batch of {item.batch}, {ratio:.2f} times the speed of the model as given"
    )


def _tensors(specs) -> str:
    return "\n".join(f"{name} {spec.dtype} {spec.shape_text}" for name, spec in specs.items())
