"""What goes around every HTTP request: the bearer token, the access log and the metrics, as plain ASGI."""

import hmac
import time
from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .logs import Log
from .metrics import Metrics

# answered without a token: probes, and the page's own files, which hold no data
_OPEN_PATHS = ("/healthz", "/readyz", "/")
_OPEN_PREFIX = "/page/"
_SAFE_HEADERS = [(b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store")]


class Access:
    """An ASGI application around another.

    Args:
        app: the inner application.
        token: the bearer token that requests must carry; None lets everyone in.
        log: gets a line a request.
        metrics: counts requests.
    """

    def __init__(self, app: ASGIApp, token: str | None, log: Log, metrics: Metrics):
        self._app = app
        self._token = None if token is None else token.encode()
        self._log = log
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        seen = {"status": 0, "sent": 0}

        async def watched_send(message: Message) -> None:
            if message["type"] == "http.response.start":
                seen["status"] = message["status"]
                message = {**message, "headers": [*message.get("headers", []), *_SAFE_HEADERS]}
            elif message["type"] == "http.response.body":
                seen["sent"] += len(message.get("body", b""))
            await send(message)

        try:
            if self._may_enter(scope):
                await self._app(scope, receive, watched_send)
            else:
                refusal = JSONResponse(
                    {"error": "This server asks for a bearer token: send the header 'Authorization: Bearer TOKEN'."},
                    HTTPStatus.UNAUTHORIZED,
                    {"WWW-Authenticate": "Bearer"},
                )
                await refusal(scope, receive, watched_send)
        finally:
            self._note(scope, seen["status"], seen["sent"], time.perf_counter() - started)

    def _may_enter(self, scope: Scope) -> bool:
        if self._token is None or scope["path"] in _OPEN_PATHS or scope["path"].startswith(_OPEN_PREFIX):
            return True
        return same_token(Request(scope).headers.get("authorization", ""), self._token)

    def _note(self, scope: Scope, status: int, sent: int, seconds: float) -> None:
        model = scope.get("state", {}).get("model", "")
        self._metrics.answered("rest", model, status, seconds)
        client = scope.get("client") or ("", 0)
        self._log.write(
            "request",
            {
                "protocol": "rest",
                "client": client[0],
                "method": scope["method"],
                "path": scope["path"][:200],
                "status": status,
                "bytes": sent,
                "ms": round(1e3 * seconds, 2),
            },
        )


def same_token(header: str, token: bytes) -> bool:
    """Return whether an Authorization header carries the token, in a time that does not tell how much of it was right."""
    # HTTP gives header bytes as latin-1, so this is what was sent
    scheme, _, given = header.partition(" ")
    same = hmac.compare_digest(given.strip().encode("latin-1", "replace"), token)
    return same and scheme.lower() == "bearer"
