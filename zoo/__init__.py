"""The zoo: reference models by name, their records, weights and preprocessing.

`list_models` and `info` read TOML and need no TensorFlow; everything else is loaded on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from .errors import CanonError
from .records import ModelInfo, ModelRecord, Paper, Preprocessing, WeightsRecord
from .registry import create, info, list_models

if TYPE_CHECKING:
    from .beams import Beams, beam_search
    from .complexity import Complexity, measure, multiply_adds
    from .decoding import decode_image
    from .explain import IntegratedGradients, attention_maps, attention_rollout, grad_cam, integrated_gradients
    from .feature_maps import features
    from .generation import Generation, Generator, generate
    from .heads import replace_head
    from .labels import class_names, decode
    from .load_report import LoadReport
    from .loading import load_weights
    from .model import Model, load_model
    from .preprocessing import apply_preprocessing, preprocess
    from .stepping import encoder_model, step_model

__all__ = [
    "Beams",
    "CanonError",
    "Complexity",
    "Generation",
    "Generator",
    "IntegratedGradients",
    "LoadReport",
    "Model",
    "ModelInfo",
    "ModelRecord",
    "Paper",
    "Preprocessing",
    "WeightsRecord",
    "apply_preprocessing",
    "attention_maps",
    "attention_rollout",
    "beam_search",
    "class_names",
    "create",
    "decode",
    "decode_image",
    "encoder_model",
    "features",
    "generate",
    "grad_cam",
    "info",
    "integrated_gradients",
    "list_models",
    "load_model",
    "load_weights",
    "measure",
    "multiply_adds",
    "preprocess",
    "replace_head",
    "step_model",
]

_HOMES = {
    "Beams": "beams",
    "Complexity": "complexity",
    "Generation": "generation",
    "Generator": "generation",
    "IntegratedGradients": "explain",
    "LoadReport": "load_report",
    "Model": "model",
    "apply_preprocessing": "preprocessing",
    "attention_maps": "explain",
    "attention_rollout": "explain",
    "beam_search": "beams",
    "class_names": "labels",
    "decode": "labels",
    "decode_image": "decoding",
    "encoder_model": "stepping",
    "features": "feature_maps",
    "generate": "generation",
    "grad_cam": "explain",
    "integrated_gradients": "explain",
    "load_model": "model",
    "load_weights": "loading",
    "measure": "complexity",
    "multiply_adds": "complexity",
    "preprocess": "preprocessing",
    "replace_head": "heads",
    "step_model": "stepping",
}


def __getattr__(name: str):
    if name in _HOMES:
        return getattr(import_module(f".{_HOMES[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
