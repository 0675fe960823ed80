"""`canon export`: from a trained model to a SavedModel bundle."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from ..zoo.errors import CanonError
from .console import bold, load_tensorflow, plain_console

if TYPE_CHECKING:
    from ..serving import Text


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
    tokenizer: Annotated[Path | None, typer.Option(help="Folder of the tokenizer of a model of text (default: beside the model).")] = None,
    max_new_tokens: Annotated[
        int | None,
        typer.Option(min=1, help="Tokens that a text model writes at most (default: 64, fewer with a short context).", show_default=False),
    ] = None,
    temperature: Annotated[float, typer.Option(min=0.0, help="Of what it writes; 0 takes the likeliest token each time.")] = 0.0,
    start: Annotated[str | None, typer.Option(help="Special token before each text.", show_default=False)] = None,
    stream: Annotated[bool, typer.Option("--stream", help="Let `canon serve` send a text while it is written.")] = False,
) -> None:
    """Export a trained model as a SavedModel that TF Serving or `canon serve` answers from.

    Example: canon export runs/lenet5_digits --out saved_models/lenet5 --precision bfloat16 --data test.npz
    """
    names = None if labels is None else _read_labels(labels)
    load_tensorflow()
    from ..serving import export as export_model

    name = source.stem if source.is_file() else source.resolve().name
    folder = tokenizer or (source if source.is_dir() else source.parent)
    asked = any((tokenizer, start, stream, temperature, max_new_tokens))
    bundle = export_model(
        source,
        out or Path("saved_models") / name,
        labels=names,
        version=version,
        precision=precision.value,
        formats=[form.value for form in formats or ()],
        data=data,
        text=_text(folder, max_new_tokens, temperature, start, stream) if asked else None,
    )
    table = Table(box=None, pad_edge=False)
    for title in ("signature", "inputs", "outputs"):
        table.add_column(title)
    for key, signature in bundle.manifest.signatures.items():
        table.add_row(key, _tensors(signature.inputs), _tensors(signature.outputs))
    console = plain_console(highlight=False)
    console.print(f"Wrote version {bundle.version} of", bold(bundle.name, f" to {bundle.path}"))
    console.print(table)
    for name, file in bundle.manifest.formats.items():
        console.print(f"{name}: {bundle.path / file}")
    for item in bundle.manifest.measurements:
        console.print(_measured(item))
    console.print(f"Serve it: canon serve {bundle.path.parent}")


def _text(folder: Path, max_new_tokens: int | None, temperature: float, start: str | None, stream: bool) -> "Text":
    """Return how the bundle takes and gives text."""
    from ..serving import Text
    from ..serving.text_signatures import end_ids
    from ..zoo import Generation, load_tokenizer

    words = load_tokenizer(folder)
    if max_new_tokens is None:  # as many as the context has room for
        return Text(words, start=start, stream=stream, temperature=temperature)
    settings = Generation(max_new_tokens=max_new_tokens, temperature=temperature, stop_ids=end_ids(words))
    return Text(words, settings, start=start, stream=stream)


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
