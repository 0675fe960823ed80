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
    from .drawing import draw
    from .explain import IntegratedGradients, attention_maps, attention_rollout, grad_cam, integrated_gradients
    from .explain_text import next_token_probabilities, text_attention
    from .feature_maps import features
    from .generation import Generation, Generator, generate
    from .graph_tokenizer import GraphTokenizer
    from .heads import replace_head
    from .labels import class_names, decode
    from .load_report import LoadReport
    from .loading import load_weights
    from .model import Model, load_model
    from .preprocessing import apply_preprocessing, preprocess
    from .recurrent.spectrogram import read_wave, spectrogram
    from .stepping import encoder_model, step_model
    from .tokenizers import TextStream, Tokenizer
    from .tokenizers_files import load_tokenizer, read_bert, read_gpt2
    from .tokenizers_plain import ByteTokenizer, CharacterTokenizer
    from .tokenizers_subword import SubwordTokenizer, train_bpe, train_wordpiece
    from .transformers.packed import packed_model

__all__ = [
    "Beams",
    "ByteTokenizer",
    "CanonError",
    "CharacterTokenizer",
    "Complexity",
    "Generation",
    "Generator",
    "GraphTokenizer",
    "IntegratedGradients",
    "LoadReport",
    "Model",
    "ModelInfo",
    "ModelRecord",
    "Paper",
    "Preprocessing",
    "SubwordTokenizer",
    "TextStream",
    "Tokenizer",
    "WeightsRecord",
    "apply_preprocessing",
    "attention_maps",
    "attention_rollout",
    "beam_search",
    "class_names",
    "create",
    "decode",
    "decode_image",
    "draw",
    "encoder_model",
    "features",
    "generate",
    "grad_cam",
    "info",
    "integrated_gradients",
    "list_models",
    "load_model",
    "load_tokenizer",
    "load_weights",
    "measure",
    "multiply_adds",
    "next_token_probabilities",
    "packed_model",
    "preprocess",
    "read_bert",
    "read_gpt2",
    "read_wave",
    "replace_head",
    "spectrogram",
    "step_model",
    "text_attention",
    "train_bpe",
    "train_wordpiece",
]

_HOMES = {
    "Beams": "beams",
    "ByteTokenizer": "tokenizers_plain",
    "CharacterTokenizer": "tokenizers_plain",
    "Complexity": "complexity",
    "Generation": "generation",
    "Generator": "generation",
    "GraphTokenizer": "graph_tokenizer",
    "IntegratedGradients": "explain",
    "LoadReport": "load_report",
    "Model": "model",
    "SubwordTokenizer": "tokenizers_subword",
    "TextStream": "tokenizers",
    "Tokenizer": "tokenizers",
    "apply_preprocessing": "preprocessing",
    "attention_maps": "explain",
    "attention_rollout": "explain",
    "beam_search": "beams",
    "class_names": "labels",
    "decode": "labels",
    "decode_image": "decoding",
    "draw": "drawing",
    "encoder_model": "stepping",
    "features": "feature_maps",
    "generate": "generation",
    "grad_cam": "explain",
    "integrated_gradients": "explain",
    "load_model": "model",
    "load_tokenizer": "tokenizers_files",
    "load_weights": "loading",
    "measure": "complexity",
    "multiply_adds": "complexity",
    "next_token_probabilities": "explain_text",
    "packed_model": "transformers.packed",
    "preprocess": "preprocessing",
    "read_bert": "tokenizers_files",
    "read_gpt2": "tokenizers_files",
    "read_wave": "recurrent.spectrogram",
    "replace_head": "heads",
    "spectrogram": "recurrent.spectrogram",
    "step_model": "stepping",
    "text_attention": "explain_text",
    "train_bpe": "tokenizers_subword",
    "train_wordpiece": "tokenizers_subword",
}


def __getattr__(name: str):
    if name in _HOMES:
        return getattr(import_module(f".{_HOMES[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
