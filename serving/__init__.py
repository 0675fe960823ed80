"""Export to SavedModel bundles, load them, and serve them over HTTP; everything is loaded on first use."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .bundle import Bundle, Manifest, Measurement, Signature, TensorSpec
    from .inspection import Inspection, inspect
    from .limits import Limits
    from .saved_model import export
    from .servable import Servable, load
    from .server import Server
    from .text_signatures import Text

__all__ = [
    "Bundle",
    "Inspection",
    "Limits",
    "Manifest",
    "Measurement",
    "Servable",
    "Server",
    "Signature",
    "TensorSpec",
    "Text",
    "export",
    "inspect",
    "load",
]

_HOMES = {
    "Bundle": "bundle",
    "Inspection": "inspection",
    "Limits": "limits",
    "Manifest": "bundle",
    "Measurement": "bundle",
    "Servable": "servable",
    "Server": "server",
    "Signature": "bundle",
    "TensorSpec": "bundle",
    "Text": "text_signatures",
    "export": "saved_model",
    "inspect": "inspection",
    "load": "servable",
}


def __getattr__(name: str):
    if name in _HOMES:
        return getattr(import_module(f".{_HOMES[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
