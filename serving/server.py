"""The server: an HTTP application on uvicorn, in the foreground for the command line or in a thread for Python."""

import contextlib
import json
import socket
import threading
import time
from pathlib import Path
from typing import Self

from ..zoo.errors import CanonError
from .catalogue import Catalogue
from .servable import Servable

_GRACE_SECONDS = 10
# An 8 x 8 PNG of an upright stroke, so that the example request works as it is printed.
_TINY_PNG = "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAAAAADhZOFXAAAAFklEQVR42mNgQAb/GRgYmGAcYhhwAAA7dgEK7tLQGgAAAABJRU5ErkJggg=="


class Server:
    """Serves the models of a folder over TensorFlow Serving's REST interface.

    Loads every version and takes the port when it is made; then either `run()` it until Ctrl-C, or use it as a context manager,
    which serves from a thread.

    Args:
        directory: a folder of models (NAME/VERSION/...), one model, or one version.
        host: address to listen on; 127.0.0.1 is reachable from this machine only.
        port: TCP port; 0 takes any free one.
        max_body_mb: the largest request body, in MiB.
        quiet: True for no log lines.

    Raises:
        CanonError: when Starlette and uvicorn are not installed, there is no model, or the port is taken.

    Example:
        >>> from keras_canon import serving
        >>> with serving.Server(folder, port=0, quiet=True) as server:
        ...     requests.get(server.url + "/v1/models/lenet5").json()["model_version_status"][0]["state"]
        'AVAILABLE'
    """

    def __init__(self, directory: str | Path, *, host: str = "127.0.0.1", port: int = 8501, max_body_mb: float = 32.0, quiet: bool = False):
        if not max_body_mb > 0:
            raise CanonError(f"max_body_mb must be above 0, got {max_body_mb!r}.")
        try:
            import uvicorn

            from .app import create_app
        except ModuleNotFoundError as error:
            if (error.name or "").split(".")[0] not in ("starlette", "uvicorn"):
                raise
            raise CanonError("Serving needs Starlette and uvicorn: pip install 'keras-canon[serve]'.") from error
        self.catalogue = Catalogue(directory)
        self._socket = _listen(host, port)
        app = create_app(self.catalogue, max_body=int(max_body_mb * 2**20))
        self._server = uvicorn.Server(
            uvicorn.Config(
                app,
                log_level="critical" if quiet else "info",
                access_log=not quiet,
                lifespan="off",
                timeout_graceful_shutdown=_GRACE_SECONDS,
            )
        )
        # kept, for a closed socket has no name
        self._address: tuple[str, int] = self._socket.getsockname()[:2]
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        """Where it listens, such as "http://127.0.0.1:8501"."""
        host, port = self._address
        return f"http://{f'[{host}]' if ':' in host else host}:{port}"

    def run(self) -> None:
        """Serve until Ctrl-C or SIGTERM, and finish the requests that are under way."""
        with contextlib.suppress(KeyboardInterrupt), contextlib.closing(self._socket):
            self._server.run(sockets=[self._socket])

    def close(self) -> None:
        """Stop serving and give the port back."""
        self._server.should_exit = True
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        self._socket.close()

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self.run, name="canon-serve", daemon=True)
        self._thread.start()
        while not self._server.started and self._thread.is_alive():
            time.sleep(0.01)
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def curl_example(url: str, servable: Servable) -> str:
    """Return a curl command that asks the model something: an image where it takes images, else its metadata."""
    model = f"{url}/v1/models/{servable.bundle.name}"
    if "bytes" not in servable.signatures:
        return f"curl {model}/metadata"
    body = json.dumps({"signature_name": "bytes", "instances": [{"b64": _TINY_PNG}]})
    return f"curl -d '{body}' {model}:predict"


def _listen(host: str, port: int) -> socket.socket:
    if isinstance(port, bool) or not isinstance(port, int) or not 0 <= port <= 65535:
        raise CanonError(f"port must be an integer from 0 to 65535, got {port!r}.")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)[0]
        # asyncio turns Nagle's algorithm off for sockets that say TCP, and socket.create_server does not: 40 ms a reply.
        listener = socket.socket(family, kind, protocol)
    except OSError as error:
        raise _cannot_listen(host, port, error) from error
    try:
        # a port whose last connections are still closing down counts as free
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(2048)
    except OSError as error:
        listener.close()
        raise _cannot_listen(host, port, error) from error
    return listener


def _cannot_listen(host: str, port: int, error: OSError) -> CanonError:
    return CanonError(f"Cannot listen on {host} port {port} ({error.strerror or error}): give another --port, or 0 for any free one.")
