"""The zoo: reference models by name, their records, weights and preprocessing.

`list_models` and `info` read TOML and need no TensorFlow; everything else is loaded on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from .errors import CanonError
from .records import ModelInfo, ModelRecord, Paper, Preprocessing, WeightsRecord
from .registry import create, info, list_models

if TYPE_CHECKING:
    from .complexity import Complexity, measure, multiply_adds
    from .feature_maps import features
    from .heads import replace_head
    from .labels import class_names, decode
    from .load_report import LoadReport
    from .loading import load_weights
    from .model import Model, load_model
    from .preprocessing import apply_preprocessing, decode_image, preprocess

__all__ = [
    "CanonError",
    "Complexity",
    "LoadReport",
    "Model",
    "ModelInfo",
    "ModelRecord",
    "Paper",
    "Preprocessing",
    "WeightsRecord",
    "apply_preprocessing",
    "class_names",
    "create",
    "decode",
    "decode_image",
    "features",
    "info",
    "list_models",
    "load_model",
    "load_weights",
    "measure",
    "multiply_adds",
    "preprocess",
    "replace_head",
]

_HOMES = {
    "Complexity": "complexity",
    "LoadReport": "load_report",
    "Model": "model",
    "apply_preprocessing": "preprocessing",
    "class_names": "labels",
    "decode": "labels",
    "decode_image": "preprocessing",
    "features": "feature_maps",
    "load_model": "model",
    "load_weights": "loading",
    "measure": "complexity",
    "multiply_adds": "complexity",
    "preprocess": "preprocessing",
    "replace_head": "heads",
}


def __getattr__(name: str):
    if name in _HOMES:
        return getattr(import_module(f".{_HOMES[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
