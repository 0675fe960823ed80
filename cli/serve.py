"""`canon serve`: exported models over HTTP and gRPC."""

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..zoo.errors import CanonError
from .console import load_tensorflow, plain_console

if TYPE_CHECKING:
    from ..serving.limits import Limits


def serve(
    directory: Annotated[Path, typer.Argument(help="Folder of exported models, or one exported model.")] = Path("saved_models"),
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 opens the server to the network.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="TCP port for HTTP; 0 takes any free one.")] = 8501,
    grpc_port: Annotated[int | None, typer.Option(help="TCP port for gRPC, such as 8500; 0 takes any free one (default: no gRPC).")] = None,
    max_body_mb: Annotated[float, typer.Option(help="Largest request, in MiB.")] = 32.0,
    max_rows: Annotated[int, typer.Option(help="Most rows of one request.")] = 1024,
    max_megapixels: Annotated[float, typer.Option(help="Most pixels of one encoded image, in millions.")] = 50.0,
    max_pending: Annotated[int, typer.Option(help="Most requests under way at once; others are sent away (429).")] = 256,
    max_pending_mb: Annotated[float, typer.Option(help="Most MiB that the requests under way may hold; others are sent away.")] = 512.0,
    timeout: Annotated[float, typer.Option(help="Seconds that a request may take.")] = 60.0,
    max_batch: Annotated[int, typer.Option(help="Most rows that requests are combined into; 1 turns batching off.")] = 32,
    max_wait_ms: Annotated[float, typer.Option(help="How long a batch waits for more requests.")] = 2.0,
    keep: Annotated[int, typer.Option(help="How many versions of a model to serve, the newest first.")] = 2,
    label: Annotated[list[str] | None, typer.Option(help="Name a version, such as lenet5:stable=1; repeatable.")] = None,
    emit: Annotated[str | None, typer.Option(help="Do not serve: write files for docker-compose, kubernetes, kserve or ray.")] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the files of --emit.")] = Path("deploy"),
    token_file: Annotated[Path | None, typer.Option(help="File with the bearer token to ask for (or set CANON_TOKEN).")] = None,
) -> None:
    """Serve exported models over TensorFlow Serving's REST and gRPC interfaces, with a page to try them, until Ctrl-C.

    Example: canon serve saved_models --port 8501 --grpc-port 8500
    """
    token, labels = _read_token(token_file), parse_labels(label or [])
    from ..serving.memory import settle_process, share_arenas

    share_arenas()
    from ..serving.limits import Limits

    limits = Limits(
        max_body_mb=max_body_mb,
        max_rows=max_rows,
        max_megapixels=max_megapixels,
        timeout_s=timeout,
        max_pending=max_pending,
        max_pending_mb=max_pending_mb,
        max_batch=max_batch,
        max_wait_ms=max_wait_ms,
    )
    if emit is not None:
        _write_files(emit, directory, out, limits)
        return
    load_tensorflow()
    from ..serving import Server
    from ..serving.server import curl_example

    settle_process()
    server = Server(directory, host=host, port=port, grpc_port=grpc_port, limits=limits, token=token, keep=keep, labels=labels)
    console = plain_console(soft_wrap=True, highlight=False)
    for name, versions in server.catalogue.models.items():
        console.print(f"{name} (version {', '.join(map(str, versions))}): {server.url}/v1/models/{name}")
    for name, failures in server.catalogue.failures.items():
        for version, reason in failures.items():
            console.print(f"{name} version {version} is not served: {reason}")
    if server.grpc_port is not None:
        console.print(f"gRPC: {host}:{server.grpc_port}")
    console.print(f"Page: {server.url}/")
    first = next(iter(server.catalogue.models))
    # the token itself is not shown
    bearer = None if token is None else "$CANON_TOKEN" if token_file is None else f"$(cat {shlex.quote(str(token_file))})"
    console.print(f"Try: {curl_example(server.url, server.catalogue.find(first).servable, bearer)}")
    server.run()
    console.print("Stopped.")


def _write_files(target: str, directory: Path, out: Path, limits: "Limits") -> None:
    from ..serving.emit import emit

    console = plain_console(soft_wrap=True, highlight=False)
    for path in emit(target, directory, out, max_batch=limits.max_batch, max_wait_ms=limits.max_wait_ms):
        console.print(f"Wrote {path}")
    console.print("How to run it stands at the top of the first file.")


def _read_token(path: Path | None) -> str | None:
    if path is None:
        return os.environ.get("CANON_TOKEN") or None
    try:
        token = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise CanonError(f"The token in {str(path)!r} cannot be read: give a text file with the token alone.") from error
    if not token:
        raise CanonError(f"The file {str(path)!r} is empty: write the token into it.")
    return token


def parse_labels(texts: list[str]) -> dict[str, dict[str, int]]:
    """Return {"lenet5": {"stable": 1}} for ["lenet5:stable=1"]."""
    labels: dict[str, dict[str, int]] = {}
    for text in texts:
        model, _, rest = text.partition(":")
        name, _, version = rest.partition("=")
        if not model or not name or not (version.isascii() and version.isdigit()):
            raise CanonError(f"--label {text!r} must be MODEL:LABEL=VERSION, such as --label lenet5:stable=1.")
        labels.setdefault(model, {})[name] = int(version)
    return labels
