"""Data sets with fixed train, validation and test splits.

`list_datasets` answers without TensorFlow; everything else is loaded on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from .names import DESCRIPTIONS, list_datasets

if TYPE_CHECKING:
    from .balance import class_weights
    from .loading import load
    from .loading_sequences import load_sequences
    from .packing import PackedRows, pack
    from .sequences import SequenceDataset, SequenceSplit
    from .source import Dataset, Split
    from .unlabelled import load_unlabelled

__all__ = [
    "DESCRIPTIONS",
    "Dataset",
    "PackedRows",
    "SequenceDataset",
    "SequenceSplit",
    "Split",
    "class_weights",
    "list_datasets",
    "load",
    "load_sequences",
    "load_unlabelled",
    "pack",
]


def __getattr__(name: str):
    homes = {
        "Dataset": "source",
        "PackedRows": "packing",
        "SequenceDataset": "sequences",
        "SequenceSplit": "sequences",
        "Split": "source",
        "class_weights": "balance",
        "load": "loading",
        "load_sequences": "loading_sequences",
        "load_unlabelled": "unlabelled",
        "pack": "packing",
    }
    if name not in homes:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{homes[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
