"""Keras Canon: the canon of neural-network architectures, LeNet to Transformer.

`layers`, `zoo`, `training`, `serving` and `cli` are loaded on first use, so importing the package costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from . import cli, layers, serving, training, zoo

    __version__: str

__all__ = ["__version__", "cli", "layers", "serving", "training", "zoo"]


def __getattr__(name: str):
    if name == "__version__":
        from importlib.metadata import version

        return version("keras-canon")
    if name in __all__:
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
