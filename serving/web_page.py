"""The page at `/` for people: static files of the package, under a content security policy that lets nothing in from outside."""

from importlib.resources import files
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from ..zoo.errors import CanonError
from ..zoo.registry import info
from .catalogue import Catalogue
from .servable import Servable

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_FILES = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/page/app.js": ("app.js", "text/javascript; charset=utf-8"),
    "/page/drawing.js": ("drawing.js", "text/javascript; charset=utf-8"),
    "/page/events.js": ("events.js", "text/javascript; charset=utf-8"),
    "/page/style.css": ("style.css", "text/css; charset=utf-8"),
}


def page_routes(catalogue: Catalogue) -> list[BaseRoute]:
    """Return the routes of the page's files, and of `/models.json`, which tells the page what there is."""

    async def models(request: Request) -> Response:
        newest = [versions[max(versions)].servable for _, versions in sorted(catalogue.models.items())]
        return JSONResponse({"models": [_card(servable) for servable in newest]})

    routes: list[BaseRoute] = [_static(path, name, kind) for path, (name, kind) in _FILES.items()]
    return [*routes, Route("/models.json", models, methods=["GET"])]


def _static(path: str, name: str, kind: str) -> Route:
    content = (files(__name__.rpartition(".")[0]) / "page" / name).read_bytes()

    async def endpoint(request: Request) -> Response:
        return Response(content, media_type=kind, headers={"Content-Security-Policy": _POLICY, "Referrer-Policy": "no-referrer"})

    return Route(path, endpoint, methods=["GET"])


def _card(servable: Servable) -> dict[str, Any]:
    """Return what the page shows of a model."""
    bundle, manifest = servable.bundle, servable.manifest
    signatures = {
        name: {key: {"dtype": spec.dtype, "shape": spec.shape} for key, spec in signature.inputs.items()}
        for name, signature in servable.signatures.items()
    }
    return {
        "name": bundle.name,
        "version": bundle.version,
        "created": manifest.created,
        "parameters": manifest.parameters,
        "labels": list(servable.labels),
        "signatures": signatures,
        **_paper(servable),
    }


def _paper(servable: Servable) -> dict[str, Any]:
    record = servable.manifest.record
    if record is None:
        return {}
    try:
        found = info(record.variant)
    except CanonError:  # a variant of a newer release, or of somebody's own
        return {"variant": record.variant}
    paper = found.paper
    return {
        "variant": record.variant,
        "task": found.task,
        "summary": found.summary,
        "paper": f"{paper.authors} ({paper.year}): {paper.title}. {found.table}",
        "paper_url": paper.url,
    }
