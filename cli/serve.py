"""`canon serve`: exported models over HTTP."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from .console import load_tensorflow


def serve(
    directory: Annotated[Path, typer.Argument(help="Folder of exported models, or one exported model.")] = Path("saved_models"),
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 opens the server to the network.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="TCP port; 0 takes any free one.")] = 8501,
    max_body_mb: Annotated[float, typer.Option(help="Largest request body, in MiB.")] = 32.0,
) -> None:
    """Serve exported models over TensorFlow Serving's REST interface, until Ctrl-C.

    Example: canon serve saved_models/lenet5 --port 8501
    """
    load_tensorflow()
    from ..serving import Server
    from ..serving.server import curl_example

    server = Server(directory, host=host, port=port, max_body_mb=max_body_mb)
    console = Console(soft_wrap=True, highlight=False, markup=False)
    for name, versions in server.catalogue.models.items():
        console.print(f"{name} (version {', '.join(map(str, versions))}): {server.url}/v1/models/{name}")
    for name, failures in server.catalogue.failures.items():
        for version, reason in failures.items():
            console.print(f"{name} version {version} is not served: {reason}")
    first = next(iter(server.catalogue.models))
    console.print(f"Try: {curl_example(server.url, server.catalogue.find(first))}")
    server.run()
    console.print("Stopped.")
