"""The families' TOML files as records; no TensorFlow is needed."""

import tomllib
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from .conversion import Conversion
from .fields import read_fields
from .records import ModelInfo, Paper, Preprocessing, WeightsFormat, WeightsRecord, WeightsTraining


@dataclass(frozen=True)
class _Weights:
    """Published weights as they stand in a TOML file: a `WeightsRecord` that names its preprocessing."""

    tag: str
    url: str
    licence: str
    format: WeightsFormat
    preprocessing: str = ""
    hash: str = ""
    application: str = ""
    application_arguments: dict[str, Any] = field(default_factory=dict)
    accuracy: float | None = None
    dataset: str = ""
    labels: str = ""
    input_shape: tuple[int, ...] = ()
    overrides: dict[str, Any] = field(default_factory=dict)
    num_classes: int | None = None
    training: WeightsTraining | None = None


@dataclass(frozen=True)
class _Variant:
    """A row as it stands in a TOML file, where 0 in the input shape stands for an axis of any length."""

    builder: str
    table: str
    summary: str
    input_shape: tuple[int, ...]
    num_classes: int
    trainable_parameters: int
    gmacs: float
    steps: int = 0
    task: str = ""
    preprocessing: str = ""
    features: dict[str, int] = field(default_factory=dict)
    config: dict[str, Any] = field(default_factory=dict)
    weights: tuple[_Weights, ...] = ()


@dataclass(frozen=True)
class _Family:
    """A family's TOML file."""

    task: str
    paper: Paper
    variants: dict[str, _Variant]
    preprocessing: dict[str, Preprocessing] = field(default_factory=dict)
    conversions: tuple[Conversion, ...] = ()


@cache
def _families() -> dict[str, tuple[str, _Family]]:
    """Return the module and the table of every family, by name."""
    found = {}
    for path in sorted(Path(__file__).parent.glob("*/*.toml")):
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        found[path.stem] = (f"{path.parent.name}.{path.stem}", read_fields(_Family, table, path.name))
    return found


@cache
def rows() -> dict[str, ModelInfo]:
    """Return every variant of every family, oldest paper first."""
    infos = [
        _info(name, row, family, stem, module) for stem, (module, family) in _families().items() for name, row in family.variants.items()
    ]
    infos.sort(key=lambda info: info.paper.year)
    return {info.name: info for info in infos}


def conversions(family: str) -> tuple[Conversion, ...]:
    """Return the weight conversions of a family, as its TOML lists them."""
    return _families()[family][1].conversions


def _info(name: str, row: _Variant, family: _Family, stem: str, module: str) -> ModelInfo:
    return ModelInfo(
        name=name,
        family=stem,
        task=row.task or family.task,
        paper=family.paper,
        table=row.table,
        input_shape=tuple(size or None for size in row.input_shape),
        num_classes=row.num_classes,
        trainable_parameters=row.trainable_parameters,
        gmacs=row.gmacs,
        steps=row.steps,
        preprocessing=family.preprocessing[row.preprocessing] if row.preprocessing else None,
        features=row.features,
        weights=tuple(_weights(published, family, row.input_shape) for published in row.weights),
        summary=row.summary,
        builder=f"{module}:{row.builder}",
        config=row.config,
    )


def _weights(published: _Weights, family: _Family, input_shape: tuple[int, ...]) -> WeightsRecord:
    shape = published.input_shape or input_shape
    preprocessing = family.preprocessing[published.preprocessing].fitted(shape) if published.preprocessing else None
    return WeightsRecord(**{**vars(published), "preprocessing": preprocessing})
