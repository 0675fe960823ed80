"""The server: HTTP on uvicorn and gRPC beside it, in the foreground for the command line or in a thread for Python."""

import contextlib
import json
import os
import signal
import socket
import sys
import threading
import time
from base64 import b64encode
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Self

from ..zoo.errors import CanonError
from .bundle import IMAGES_BYTES, read_bundle
from .catalogue import Catalogue
from .limits import Intake, Limits
from .logs import Log
from .servable import Servable
from .served import Served
from .warming import TINY_PNG, warm_up
from .watching import Watcher

_GRACE_SECONDS = 10
# an open connection that has sent no request for so long is closed
_SILENCE_SECONDS = 30


class Server:
    """Serves the models of a folder over TensorFlow Serving's REST and gRPC interfaces.

    Loads the newest versions and takes the ports when it is made; then either `run()` it until Ctrl-C, or use it as a context
    manager, which serves from a thread. While it runs it looks at the folder: a new version is loaded and warmed up aside and then
    takes over, without a failed request; one that cannot be loaded leaves the others serving.

    Args:
        directory: a folder of models (NAME/VERSION/...), one model, or one version.
        host: address to listen on; 127.0.0.1 is reachable from this machine only.
        port: TCP port for HTTP; 0 takes any free one.
        grpc_port: TCP port for gRPC; 0 takes any free one, None serves no gRPC.
        limits: what one request and all together may ask.
        token: a bearer token that every request must carry, but for the health probes and the page's own files; None lets everyone in.
        keep: how many versions of a model are served, the newest first.
        labels: model -> label -> version, such as {"lenet5": {"stable": 1}}.
        poll_s: seconds between two looks at the folder.
        quiet: True for no log lines.

    Raises:
        CanonError: when the extra `serve` is not installed, there is no model, a value is not allowed, or a port is taken.

    Example:
        >>> from keras_canon import serving
        >>> with serving.Server(folder, port=0, quiet=True) as server:
        ...     requests.get(server.url + "/v1/models/lenet5").json()["model_version_status"][0]["state"]
        'AVAILABLE'
    """

    def __init__(
        self,
        directory: str | Path,
        *,
        host: str = "127.0.0.1",
        port: int = 8501,
        grpc_port: int | None = None,
        limits: Limits | None = None,
        token: str | None = None,
        keep: int = 2,
        labels: Mapping[str, Mapping[str, int]] | None = None,
        poll_s: float = 1.0,
        quiet: bool = False,
    ):
        if token is not None and not token.strip():
            raise CanonError("token must not be empty: leave it out to let everyone in.")
        if not poll_s > 0:
            raise CanonError(f"poll_s must be above 0, got {poll_s!r}.")
        _check_extra(with_grpc=grpc_port is not None)
        from .metrics import Metrics

        self.limits = limits or Limits()
        # the port is taken before the models are loaded, which takes long, and listened to after
        self._socket = _bind(host, port)
        self._metrics = Metrics()
        self._log = Log(None if quiet else sys.stderr)
        self._pool = ThreadPoolExecutor(max(8, os.cpu_count() or 1), thread_name_prefix="canon-compute")
        # always the same thread, so that a version comes to lie in memory where the one before last lay: spread over several of
        # glibc's pools, each would keep room for one
        self._loader = ThreadPoolExecutor(1, thread_name_prefix="canon-load")
        # kept, for a closed socket has no name
        self._address: tuple[str, int] = self._socket.getsockname()[:2]
        self._thread: threading.Thread | None = None
        self._grpc: Any = None
        self.grpc_port: int | None = None
        with contextlib.ExitStack() as on_error:
            on_error.callback(self._socket.close)
            self.catalogue = Catalogue(directory, self._begin_load, keep=keep, labels=labels, tell=self._tell)
            self._watcher = Watcher(self.catalogue, poll_s, self._log)
            self._build(token, host, grpc_port)
            self._socket.listen(2048)
            on_error.pop_all()

    @property
    def url(self) -> str:
        """Where it listens, such as "http://127.0.0.1:8501"."""
        host, port = self._address
        return f"http://{f'[{host}]' if ':' in host else host}:{port}"

    def run(self) -> None:
        """Serve until Ctrl-C or SIGTERM, and finish the requests that are under way."""
        self._watcher.start()
        if self._grpc is not None:
            self._grpc.start()
        try:
            with _terminated_as_interrupted(), contextlib.suppress(KeyboardInterrupt), contextlib.closing(self._socket):
                self._server.run(sockets=[self._socket])
        finally:
            self._watcher.stop()
            if self._grpc is not None:
                self._grpc.stop(_GRACE_SECONDS).wait()
            self._pool.shutdown(cancel_futures=True)
            self._loader.shutdown(cancel_futures=True)

    def close(self) -> None:
        """Stop serving and give the ports back."""
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

    def _build(self, token: str | None, host: str, grpc_port: int | None) -> None:
        import uvicorn

        from .access import Access
        from .app import Parts, create_app
        from .connections import patient_protocol

        parts = Parts(self.catalogue, self.limits, Intake(self.limits), self._metrics, lambda: self._server.should_exit)
        app = Access(create_app(parts), token, self._log, self._metrics)
        config = uvicorn.Config(
            app,
            http=patient_protocol(_SILENCE_SECONDS),
            log_level="critical" if self._log.silent else "warning",
            access_log=False,
            lifespan="off",
            server_header=False,
            timeout_graceful_shutdown=_GRACE_SECONDS,
        )
        self._server = uvicorn.Server(config)
        if grpc_port is not None:
            from .grpc_service import build_grpc

            self._grpc, self.grpc_port = build_grpc(parts, token, self._log, (host, grpc_port))

    def _begin_load(self, path: Path) -> Future[Served]:
        return self._loader.submit(self._load, path)

    def _load(self, path: Path) -> Served:
        servable = Servable(read_bundle(path))
        warm_up(servable)
        return Served(servable, self._pool, self.limits, partial(self._metrics.batch, servable.bundle.name))

    def _tell(self, event: str, model: str, version: int, reason: str) -> None:
        if event == "served":
            self._metrics.loaded(model, version)
        elif event == "not served":
            self._metrics.failed(model)
        elif event == "no longer served":
            self._metrics.unloaded(model, version)
        self._log.write(event, {"model": model, "version": version, **({"reason": reason} if reason else {})})


def curl_example(url: str, servable: Servable, bearer: str | None = None) -> str:
    """Return a curl command that asks the model something: an image or a text where it takes one, else its metadata.

    Args:
        url: of the server.
        servable: the model.
        bearer: how the shell gets at the token, such as "$CANON_TOKEN"; None for a server that asks for none.
    """
    curl = "curl" if bearer is None else f'curl -H "Authorization: Bearer {bearer}"'
    model = f"{url}/v1/models/{servable.bundle.name}"
    name = next((name for name in ("generate", "bytes") if name in servable.signatures), None)
    if name is None:
        return f"{curl} {model}/metadata"
    inputs = servable.signatures[name].inputs
    row = {key: example_value(key, spec.dtype) for key, spec in inputs.items()}
    body = json.dumps({"signature_name": name, "instances": [row if len(row) > 1 else next(iter(row.values()))]})
    return f"{curl} -d '{body}' {model}:predict"


def example_value(name: str, dtype: str) -> Any:
    """Return a value for one row of an input of encoded images, texts or seeds, as JSON."""
    if name == IMAGES_BYTES:
        return {"b64": b64encode(TINY_PNG).decode()}
    return "A text" if dtype == "string" else 0


@contextlib.contextmanager
def _terminated_as_interrupted() -> Iterator[None]:
    """Treat SIGTERM as Ctrl-C: uvicorn sends itself the signal again when HTTP has ended, and the rest must still be closed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _check_extra(with_grpc: bool) -> None:
    """Import what the extra brings, so that a missing one is told at once."""
    names = ["starlette", "uvicorn", "prometheus_client", *(["grpc", "tensorflow_serving.apis"] if with_grpc else [])]
    for name in names:
        try:
            import_module(name)
        except ModuleNotFoundError as error:
            if (error.name or "").split(".")[0] != name.split(".")[0]:
                raise
            raise CanonError(f"Serving needs {name.split('.')[0]}: pip install 'keras-canon[serve]'.") from error


def _bind(host: str, port: int) -> socket.socket:
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
    except OSError as error:
        listener.close()
        raise _cannot_listen(host, port, error) from error
    return listener


def _cannot_listen(host: str, port: int, error: OSError) -> CanonError:
    return CanonError(f"Cannot listen on {host} port {port} ({error.strerror or error}): give another --port, or 0 for any free one.")
