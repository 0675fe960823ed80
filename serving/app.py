"""The HTTP application: TensorFlow Serving's REST paths on Starlette."""

from collections.abc import Awaitable, Callable
from http import HTTPStatus

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ..zoo.errors import CanonError
from .catalogue import Catalogue
from .errors import RequestError
from .rest import answer, describe

Endpoint = Callable[[Request], Awaitable[Response]]


def create_app(catalogue: Catalogue, max_body: int) -> Starlette:
    """Build the application.

    Args:
        catalogue: the models.
        max_body: the longest request body that is read, in bytes.
    """
    endpoints = _endpoints(catalogue, max_body)
    routes = []
    for base in ("/v1/models/{name}", "/v1/models/{name}/versions/{version:int}"):
        # ":predict" first, for {name} would take it in
        routes.append(Route(base + ":{verb}", endpoints["predict"], methods=["GET", "POST"]))
        routes.append(Route(base + "/metadata", endpoints["metadata"], methods=["GET"]))
        routes.append(Route(base, endpoints["status"], methods=["GET"]))
    handlers = {
        CanonError: _on_canon_error,
        ClientDisconnect: _on_disconnect,
        HTTPException: _on_http_exception,
        Exception: _on_exception,
    }
    return Starlette(routes=routes, exception_handlers=handlers)


def _endpoints(catalogue: Catalogue, max_body: int) -> dict[str, Endpoint]:
    async def predict(request: Request) -> Response:
        verb = request.path_params["verb"]
        if verb != "predict":
            raise RequestError(f"This server answers NAME:predict, not {verb[:20]!r}.", HTTPStatus.NOT_FOUND)
        if request.method != "POST":
            raise HTTPException(HTTPStatus.METHOD_NOT_ALLOWED, "Send the request to NAME:predict with POST.", {"Allow": "POST"})
        servable = catalogue.find(*_model(request))
        body = await _read_body(request, max_body)
        # In a worker thread, so that the event loop stays free for other connections.
        return Response(await run_in_threadpool(answer, servable, body), media_type="application/json")

    async def metadata(request: Request) -> Response:
        return JSONResponse(describe(catalogue.find(*_model(request))))

    async def status(request: Request) -> Response:
        return JSONResponse(catalogue.status(*_model(request)))

    return {"predict": predict, "metadata": metadata, "status": status}


def _model(request: Request) -> tuple[str, int | None]:
    return request.path_params["name"], request.path_params.get("version")


async def _read_body(request: Request, limit: int) -> bytes:
    """Read the body, but never keep more than the limit.

    A body over the limit is read on and dropped, up to as much again, because a client that is still sending when the connection
    closes does not see the reply.
    """
    chunks, size = [], 0
    async for chunk in request.stream():
        size += len(chunk)
        if size <= limit:
            chunks.append(chunk)
        elif chunks:
            chunks.clear()
        if size > 2 * limit:
            break
    if size > limit:
        message = f"The request body is larger than {limit} bytes: send fewer rows at a time."
        raise RequestError(message, HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
    return b"".join(chunks)


def _error(message: str, status: int, headers: dict[str, str] | None = None) -> JSONResponse:
    return JSONResponse({"error": message}, status, headers)


async def _on_canon_error(request: Request, error: Exception) -> Response:
    return _error(str(error), error.status if isinstance(error, RequestError) else HTTPStatus.BAD_REQUEST)


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
