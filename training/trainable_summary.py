"""A table of what is trainable in a model."""

import math
from dataclasses import dataclass

import keras


@dataclass(frozen=True)
class TrainableRow:
    """One layer with weights.

    Args:
        layer: its name; that of a layer in a model inside the model begins with the inner model's.
        trainable: parameters that training moves.
        frozen: parameters that it does not; statistics of batch normalisation are among them.
        batch_norm: "" without any; "trained" when statistics follow the batches; "frozen"; or "part" where some do.
    """

    layer: str
    trainable: int
    frozen: int
    batch_norm: str


@dataclass(frozen=True)
class TrainableSummary:
    """What is trainable in a model, layer by layer.

    Args:
        rows: the layers that have weights, in order of computation.
    """

    rows: tuple[TrainableRow, ...]

    @property
    def trainable(self) -> int:
        """Number of parameters that training moves."""
        return sum(row.trainable for row in self.rows)

    @property
    def frozen(self) -> int:
        """Number of parameters that it does not."""
        return sum(row.frozen for row in self.rows)

    @property
    def total(self) -> str:
        """The last line of the table."""
        return f"{self.trainable:,} of {self.trainable + self.frozen:,} parameters are trainable"

    def __str__(self) -> str:
        cells = [("layer", "trainable", "frozen", "batch norm")]
        cells += [(row.layer, f"{row.trainable:,}", f"{row.frozen:,}", row.batch_norm) for row in self.rows]
        width = [max(len(line[column]) for line in cells) for column in range(4)]
        lines = [f"{a:<{width[0]}}  {b:>{width[1]}}  {c:>{width[2]}}  {d}".rstrip() for a, b, c, d in cells]
        return "\n".join([*lines, self.total])


def summarise(model: keras.Model) -> TrainableSummary:
    """Return what is trainable in a model; models inside of it are listed layer by layer."""
    return TrainableSummary(tuple(_rows(model, "")))


def _rows(model: keras.Model, prefix: str):
    for layer in model.layers:
        if isinstance(layer, keras.Model):
            yield from _rows(layer, f"{prefix}{layer.name}/")
            continue
        trainable, frozen = _size(layer.trainable_weights), _size(layer.non_trainable_weights)
        if trainable or frozen:
            yield TrainableRow(f"{prefix}{layer.name}", trainable, frozen, _batch_norm(layer))


def _size(weights) -> int:
    return sum(math.prod(weight.shape) for weight in weights)


def _batch_norm(layer: keras.layers.Layer) -> str:
    flags = {inner.trainable for inner in layer._flatten_layers() if isinstance(inner, keras.layers.BatchNormalization)}
    if not flags:
        return ""
    return "part" if len(flags) == 2 else "trained" if flags.pop() else "frozen"
