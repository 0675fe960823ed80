"""The registry: models by name, read from the families' TOML files; TensorFlow is imported by `create` alone."""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

from .errors import CanonError, unknown_name
from .families import rows
from .fields import read_fields
from .records import ModelInfo, ModelRecord, WeightsRecord
from .sizes import check_sizes, checked_shape

if TYPE_CHECKING:
    from .model import Model


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
    infos = rows().values()
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
    known = rows()
    if name not in known:
        raise unknown_name("model", name, known, "`canon list` shows all")
    return known[name]


def create(
    name: str,
    *,
    weights: str | Path | None = None,
    num_classes: int | None = None,
    input_shape: tuple[int | None, ...] | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> "Model":
    """Build a model of the zoo.

    Args:
        name: a name that `list_models` returns.
        weights: tag of published weights (`info(name).weights`), or the path of a weight file that `load_weights` takes, or None
            for random ones. Where `num_classes` differs from theirs the head stays random; a first layer with another number of
            input channels, and a position table for another image size, are adapted as `load_weights` says.
        num_classes: number of classes; None for the paper's, or those of the weights, 0 for the pooled features without a head.
        input_shape: input shape without the batch axis; None for the paper's, or that of the weights.
        overrides: changes to the family's config, such as {"dropout": 0.2}, on top of those that the weights were trained with.

    Returns:
        a functional `zoo.Model` whose last layer `logits` has no softmax.

    Raises:
        CanonError: for an unknown model, weights tag or override, an input shape that the network cannot take, or weights that
            cannot be fetched or do not fit.
    """
    row = info(name)
    published = _published(row, weights)
    builder = _builder(row)
    config_class = get_type_hints(builder)["config"]
    overrides = {**(published.overrides if published else {}), **(overrides or {})}
    where = f"the overrides of {name!r}"
    config = read_fields(config_class, {**row.config, **overrides}, where)
    check_sizes(config, read_fields(config_class, row.config, where), where)
    own_shape = published.input_shape if published and published.input_shape else row.input_shape
    shape = checked_shape(own_shape if input_shape is None else input_shape)
    own_classes = row.num_classes if published is None or published.num_classes is None else published.num_classes
    classes = own_classes if num_classes is None else num_classes
    if isinstance(classes, bool) or not isinstance(classes, int) or classes < 0:
        raise CanonError(f"num_classes must be an integer of at least 0, got {num_classes!r}.")
    try:
        built = builder(config, input_shape=shape, num_classes=classes)
    except ValueError as error:
        first = str(error).strip().splitlines()[0]
        raise CanonError(f"{name!r} cannot be built with input_shape={shape}, num_classes={classes}: {first}") from error
    record = ModelRecord(
        variant=name,
        overrides=overrides,
        input_shape=shape,
        num_classes=classes,
        preprocessing=row.preprocessing.fitted(shape) if row.preprocessing else None,
    )
    from .model import Model  # imports TensorFlow

    model = Model(built.input, built.output, name=name, record=record)
    skip_head = None if num_classes is not None else False
    if published is not None:
        from .pretrained import load_published

        load_published(model, published, skip_head)
    elif weights is not None:
        from .loading import load_weights

        load_weights(model, weights, skip_head=skip_head)
    return model


def _builder(row: ModelInfo):
    module, function = row.builder.split(":")
    return getattr(import_module(f".{module}", __package__), function)


def _published(row: ModelInfo, weights: str | Path | None) -> WeightsRecord | None:
    """Return the record of a weights tag, or None for a path."""
    for record in row.weights:
        if record.tag == weights:
            return record
    if weights is None or isinstance(weights, Path) or Path(weights).suffix or Path(weights).exists():
        return None
    tags = ", ".join(record.tag for record in row.weights)
    available = f"available: {tags}" if tags else "none are published for it; leave weights out and train it"
    raise CanonError(f"{row.name!r} has no published weights {weights!r}: {available}.")
