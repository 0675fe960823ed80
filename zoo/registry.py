"""The registry: models by name, read from the families' TOML files; TensorFlow is imported by `create` alone."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

from .conversion import Conversion
from .errors import CanonError, unknown_name
from .fields import read_fields
from .records import ModelInfo, ModelRecord, Paper, Preprocessing, WeightsRecord

if TYPE_CHECKING:
    from .model import Model


@dataclass(frozen=True)
class _Variant:
    """A row as it stands in a TOML file."""

    builder: str
    table: str
    summary: str
    input_shape: tuple[int, ...]
    num_classes: int
    trainable_parameters: int
    gmacs: float
    preprocessing: str = ""
    features: dict[str, int] = field(default_factory=dict)
    config: dict[str, Any] = field(default_factory=dict)
    weights: tuple[WeightsRecord, ...] = ()


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
def _rows() -> dict[str, ModelInfo]:
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
        task=family.task,
        paper=family.paper,
        table=row.table,
        input_shape=row.input_shape,
        num_classes=row.num_classes,
        trainable_parameters=row.trainable_parameters,
        gmacs=row.gmacs,
        preprocessing=family.preprocessing[row.preprocessing] if row.preprocessing else None,
        features=row.features,
        weights=row.weights,
        summary=row.summary,
        builder=f"{module}:{row.builder}",
        config=row.config,
    )


def list_models(
    pattern: str = "*",
    *,
    task: str | None = None,
    family: str | None = None,
    max_parameters: int | None = None,
    pretrained: bool = False,
) -> list[str]:
    """Return the names of the models that match, oldest paper first.

    Args:
        pattern: a shell pattern over names, such as "resnet*".
        task: keep models of this task only, such as "image-classification".
        family: keep models of this family only.
        max_parameters: keep models with at most this many trainable parameters.
        pretrained: True to keep only models with published weights.

    Raises:
        CanonError: for a task or family that no model has.
    """
    infos = _rows().values()
    for kind, value, valid in (("task", task, {i.task for i in infos}), ("family", family, {i.family for i in infos})):
        if value is not None and value not in valid:
            raise unknown_name(kind, value, valid)
    return [
        info.name
        for info in infos
        if fnmatchcase(info.name, pattern)
        and task in (None, info.task)
        and family in (None, info.family)
        and (max_parameters is None or info.trainable_parameters <= max_parameters)
        and (info.weights or not pretrained)
    ]


def info(name: str) -> ModelInfo:
    """Return what is known about a model, without building it.

    Raises:
        CanonError: when there is no such model; it names the nearest ones.
    """
    rows = _rows()
    if name not in rows:
        raise unknown_name("model", name, rows, "`canon list` shows all")
    return rows[name]


def create(
    name: str,
    *,
    weights: str | None = None,
    num_classes: int | None = None,
    input_shape: tuple[int | None, ...] | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> "Model":
    """Build a model of the zoo.

    Args:
        name: a name that `list_models` returns.
        weights: tag of published weights (`info(name).weights`), or None for random ones.
        num_classes: number of classes; None for the paper's, 0 for the pooled features without a head.
        input_shape: input shape without the batch axis; None for the paper's.
        overrides: changes to the family's config, such as {"dropout": 0.2}.

    Returns:
        a functional `zoo.Model` whose last layer `logits` has no softmax.

    Raises:
        CanonError: for an unknown model, weights tag or override, or an input shape that the network cannot take.
    """
    row = info(name)
    if weights is not None:
        tags = [record.tag for record in row.weights]
        if weights not in tags:
            raise CanonError(f"{name!r} has no published weights {weights!r}: {_available(tags)}.")
    builder = _builder(row)
    config_class = get_type_hints(builder)["config"]
    config = read_fields(config_class, {**row.config, **(overrides or {})}, f"the overrides of {name!r}")
    shape = tuple(row.input_shape if input_shape is None else input_shape)
    classes = row.num_classes if num_classes is None else num_classes
    if isinstance(classes, bool) or not isinstance(classes, int) or classes < 0:
        raise CanonError(f"num_classes must be an integer of at least 0, got {num_classes!r}.")
    try:
        built = builder(config, input_shape=shape, num_classes=classes)
    except ValueError as error:
        first = str(error).strip().splitlines()[0]
        raise CanonError(f"{name!r} cannot be built with input_shape={shape}, num_classes={classes}: {first}") from error
    record = ModelRecord(
        variant=name,
        overrides=dict(overrides or {}),
        input_shape=shape,
        num_classes=classes,
        preprocessing=_preprocessing(row, shape),
    )
    from .model import Model  # imports TensorFlow

    return Model(built.input, built.output, name=name, record=record)


def _builder(row: ModelInfo):
    module, function = row.builder.split(":")
    return getattr(import_module(f".{module}", __package__), function)


def _available(tags: list[str]) -> str:
    return f"available: {', '.join(tags)}" if tags else "none are published for it; leave weights out and train it"


def _preprocessing(row: ModelInfo, shape: tuple[int | None, ...]) -> Preprocessing | None:
    """Fit the variant's preprocessing to the input shape that was asked for."""
    record = row.preprocessing
    if record is None or len(shape) != 3 or shape[2] is None:
        return record
    size = (shape[0] or record.size[0], shape[1] or record.size[1])
    channels = shape[2]
    mean, std = record.mean, record.std
    if channels != record.channels:
        # grey or many-channel input has no statistics of its own: the mean over the channels stands for each
        mean, std = (sum(mean) / len(mean),), (sum(std) / len(std),)
    return replace(record, size=size, channels=channels, mean=mean, std=std)
