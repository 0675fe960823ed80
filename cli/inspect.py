"""`canon inspect`: what a bundle or a SavedModel holds, without running anything of it."""

import dataclasses
import json
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from .console import load_tensorflow, plain_console


def inspect(
    path: Annotated[Path, typer.Argument(help="NAME/VERSION, NAME/ for its newest version, or the folder of any SavedModel.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Show the signatures, ops, files, hashes and measurements of an exported model.

    Example: canon inspect saved_models/lenet5
    """
    load_tensorflow()
    from ..serving.inspection import inspect as inspect_bundle

    found = inspect_bundle(path)
    if as_json:
        print(json.dumps({**dataclasses.asdict(found), "path": str(found.path)}, indent=2))
        return
    console = plain_console(highlight=False, soft_wrap=True)
    manifest = found.manifest
    console.print(str(found.path) if manifest is None else f"{manifest.name}, version {manifest.version}: {found.path}")
    if manifest is not None:
        versions = ", ".join(f"{name} {version}" for name, version in manifest.versions.items())
        console.print(f"{manifest.parameters:,} weights, {manifest.precision}, written {manifest.created} by {versions}")
    console.print(_table(("signature", "inputs", "outputs"), _signatures(found)))
    if manifest is not None and manifest.measurements:
        columns = ("measured", "examples", "difference", "same class", "accuracy", "float32", "ms", "float32 ms")
        console.print(_table(columns, [_measured(item) for item in manifest.measurements]))
    rows = [(name, f"{size:,}", found.hashes[name][:16]) for name, size in found.sizes.items()]
    console.print(_table(("file", "bytes", "sha256"), [*rows, ("total", f"{sum(found.sizes.values()):,}", "")]))
    console.print(f"ops: {', '.join(found.content.ops)}")
    unsafe = found.content.unsafe_ops
    console.print(f"ops that reach files, the network or Python: {', '.join(unsafe) or 'none'}")


def _table(columns: tuple[str, ...], rows: list[tuple[str, ...]]) -> Table:
    table = Table(box=None, pad_edge=False)
    for title in columns:
        table.add_column(title, overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table


def _signatures(found) -> list[tuple[str, ...]]:
    def tensors(specs) -> str:
        return "\n".join(f"{name} {spec.dtype} {spec.shape_text}" for name, spec in specs.items())

    return [(key, tensors(signature.inputs), tensors(signature.outputs)) for key, signature in found.content.signatures.items()]


def _measured(item) -> tuple[str, ...]:
    shares = ["" if value is None else f"{value:.4f}" for value in (item.agreement, item.accuracy, item.float32_accuracy)]
    times = [f"{item.milliseconds:.2f}", f"{item.float32_milliseconds:.2f}"]
    return (item.what, str(item.examples), f"{item.difference:.2g}", *shares, *times)
