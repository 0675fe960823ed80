"""The HTTP application: TensorFlow Serving's REST paths on Starlette, with health, metrics and a page for people."""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import dataclass
from http import HTTPStatus

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ..zoo.errors import CanonError
from .batching import Outputs
from .catalogue import Catalogue
from .errors import RequestError, not_found, timed_out
from .limits import Intake, Limits, Ticket
from .metrics import Metrics
from .openapi import describe_interface
from .rest import Form, describe, read_request, write_reply
from .served import Served
from .streaming import EventResponse, Stream
from .web_page import page_routes

Endpoint = Callable[[Request], Awaitable[Response]]
# a body up to this size is read in less time than another thread needs to wake up
_READ_HERE = 64 * 1024
_PREFIXES = ("/v1/models/{name}", "/v1/models/{name}/versions/{version}", "/v1/models/{name}/labels/{label}")


@dataclass(frozen=True)
class Parts:
    """What the endpoints work with.

    Args:
        catalogue: the models.
        limits: of each request.
        intake: counts the requests under way.
        metrics: what `/metrics` shows.
        stopping: says whether the server is shutting down.
    """

    catalogue: Catalogue
    limits: Limits
    intake: Intake
    metrics: Metrics
    stopping: Callable[[], bool]


def create_app(parts: Parts) -> Starlette:
    """Build the application."""
    endpoints = _endpoints(parts)
    routes = []
    for base in _PREFIXES:
        # ":predict" first, for {name} would take it in
        routes.append(Route(base + ":{verb}", endpoints["predict"], methods=["GET", "POST"]))
        routes.append(Route(base + "/metadata", endpoints["metadata"], methods=["GET"]))
        routes.append(Route(base, endpoints["status"], methods=["GET"]))
    for path in ("/healthz", "/readyz", "/metrics", "/openapi.json"):
        routes.append(Route(path, endpoints[path], methods=["GET"]))
    # where TF Serving has its metrics
    routes.append(Route("/monitoring/prometheus/metrics", endpoints["/metrics"], methods=["GET"]))
    routes.extend(page_routes(parts.catalogue))
    handlers = {
        CanonError: _on_canon_error,
        ClientDisconnect: _on_disconnect,
        HTTPException: _on_http_exception,
        Exception: _on_exception,
    }
    return Starlette(routes=routes, exception_handlers=handlers)


def _endpoints(parts: Parts) -> dict[str, Endpoint]:
    catalogue = parts.catalogue

    async def predict(request: Request) -> Response:
        verb = request.path_params["verb"]
        if verb not in ("predict", "stream"):
            raise RequestError(f"This server answers NAME:predict and NAME:stream, not {verb[:20]!r}.", HTTPStatus.NOT_FOUND)
        if request.method != "POST":
            raise HTTPException(HTTPStatus.METHOD_NOT_ALLOWED, f"Send the request to NAME:{verb} with POST.", {"Allow": "POST"})
        if verb == "stream":
            return await _stream(request, parts)
        with parts.intake.admit() as ticket:
            return Response(await _predict(request, parts, ticket), media_type="application/json")

    async def metadata(request: Request) -> Response:
        return JSONResponse(describe(catalogue.find(*_model(request)).servable))

    async def status(request: Request) -> Response:
        return JSONResponse(catalogue.status(*_model(request)))

    async def healthy(request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def ready(request: Request) -> Response:
        is_ready = bool(catalogue.models) and not parts.stopping()
        return JSONResponse({"ready": is_ready}, HTTPStatus.OK if is_ready else HTTPStatus.SERVICE_UNAVAILABLE)

    async def metrics(request: Request) -> Response:
        return Response(parts.metrics.page(parts.intake.requests), media_type="text/plain; version=0.0.4; charset=utf-8")

    async def interface(request: Request) -> Response:
        return JSONResponse(describe_interface(catalogue))

    return {
        "predict": predict,
        "metadata": metadata,
        "status": status,
        "/healthz": healthy,
        "/readyz": ready,
        "/metrics": metrics,
        "/openapi.json": interface,
    }


async def _predict(request: Request, parts: Parts, ticket: Ticket) -> bytes:
    served = parts.catalogue.find(*_model(request))
    request.state.model = served.servable.bundle.name
    body = await _read_body(request, parts.limits, ticket)
    aside = len(body) > _READ_HERE
    form, future = await run_in_threadpool(_submit, served, body) if aside else _submit(served, body)
    try:
        outputs = await asyncio.wait_for(asyncio.wrap_future(future), parts.limits.timeout_s)
    except TimeoutError as error:
        raise timed_out(parts.limits.timeout_s) from error
    if sum(array.size for array in outputs.values()) > _READ_HERE:
        return await run_in_threadpool(write_reply, outputs, form)
    return write_reply(outputs, form)


def _submit(served: Served, body: bytes) -> tuple[Form, Future[Outputs]]:
    asked = read_request(served.servable, body)
    return asked.form, served.submit(asked.signature, asked.arrays)


async def _stream(request: Request, parts: Parts) -> Response:
    with ExitStack() as held:
        ticket = held.enter_context(parts.intake.admit())
        served = parts.catalogue.find(*_model(request))
        request.state.model = served.servable.bundle.name
        body = await _read_body(request, parts.limits, ticket)
        stream = await run_in_threadpool(Stream, served.servable, body, parts.limits.timeout_s)
        return EventResponse(stream, held.pop_all())


def _model(request: Request) -> tuple[str, int | None, str | None]:
    name, version = request.path_params["name"], request.path_params.get("version")
    if version is not None and not (version.isascii() and version.isdigit() and len(version) < 20):
        raise not_found(f"version of model {name[:100]!r} numbered", version, ())
    return name, None if version is None else int(version), request.path_params.get("label")


async def _read_body(request: Request, limits: Limits, ticket: Ticket) -> bytes:
    """Read the body, but never keep more than the limit, nor wait for a slow client for ever.

    A body over the limit is read on and dropped, up to as much again, because a client that is still sending when the connection
    closes does not see the reply.
    """
    chunks, size = [], 0
    try:
        async with asyncio.timeout(limits.timeout_s):
            async for chunk in request.stream():
                size += len(chunk)
                if size <= limits.max_body:
                    ticket.hold(len(chunk))
                    chunks.append(chunk)
                elif chunks:
                    chunks.clear()
                if size > 2 * limits.max_body:
                    break
    except TimeoutError as error:
        message = f"The request did not arrive within {limits.timeout_s:g} s: send it faster, or in smaller parts."
        raise RequestError(message, HTTPStatus.REQUEST_TIMEOUT) from error
    if size > limits.max_body:
        message = f"The request body is larger than {limits.max_body} bytes: send fewer rows at a time."
        raise RequestError(message, HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
    return b"".join(chunks)


def _error(message: str, status: int, headers: dict[str, str] | None = None) -> JSONResponse:
    return JSONResponse({"error": message}, status, headers)


async def _on_canon_error(request: Request, error: Exception) -> Response:
    status = error.status if isinstance(error, RequestError) else HTTPStatus.BAD_REQUEST
    return _error(str(error), status, {"Retry-After": "1"} if status == HTTPStatus.TOO_MANY_REQUESTS else None)


async def _on_http_exception(request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        raise error
    message = error.detail
    if error.status_code == HTTPStatus.NOT_FOUND:
        message = "There is no such path: use /v1/models/NAME, /v1/models/NAME/metadata or /v1/models/NAME:predict."
    return _error(message, error.status_code, dict(error.headers or {}))


async def _on_disconnect(request: Request, error: Exception) -> Response:
    return _error("The client closed the connection.", HTTPStatus.BAD_REQUEST)


async def _on_exception(request: Request, error: Exception) -> Response:
    # Starlette raises the error again after this reply, so that it reaches the server's log.
    return _error(f"The server failed ({type(error).__name__}); its log says where.", HTTPStatus.INTERNAL_SERVER_ERROR)
