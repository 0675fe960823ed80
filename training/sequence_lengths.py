"""How many steps a model of sequences has positions for, and data and settings that must keep to that."""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import cast

import numpy as np

from ..layers import LearnedPositionEmbedding, MultiplicativeAttention
from ..zoo.errors import CanonError
from ..zoo.generation import Generation, Generator
from ..zoo.model import Model
from .data.sequences import Ragged, SequenceDataset, SequenceSplit


def step_limit(model: Model) -> int | None:
    """Return how many steps a model's shortest table of positions has, beyond which nothing need be padded; None without tables.

    Args:
        model: of sequences.
    """
    return min((limit for _, limit, _ in _tables(model)), default=None)


def refuse_longer(model: Model, data: SequenceDataset, splits: Sequence[SequenceSplit]) -> None:
    """Refuse data with a row that a model has no positions for.

    Args:
        model: whose inputs the data have.
        data: for messages.
        splits: of the data.

    Raises:
        CanonError: with the longest row.
    """
    for name, limit, field in _tables(model):
        longest = max(_longest(split, name) for split in splits)
        if longest > limit:
            raise CanonError(
                f"{data.name!r} holds {name} of {longest} steps, and {model.name!r} has positions for {limit}: "
                f"take shorter rows, or a model with {field} = {longest} or more."
            )


def translator(model: Model, settings: Generation) -> Generator:
    """Return what translates with a model, and writes no more ids than it has positions for behind the one that begins a text.

    Args:
        model: that writes text.
        settings: how to choose; `max_new_tokens` may be lowered.

    Raises:
        CanonError: for a model that writes no text.
    """
    generator = Generator(model, settings)
    limit = generator.decoder.max_length
    if limit is None or settings.max_new_tokens < limit:
        return generator
    return Generator(model, dataclasses.replace(settings, max_new_tokens=max(limit - 1, 1)))


def _tables(model: Model) -> Iterator[tuple[str, int, str]]:
    """Yield (input, steps that it may have, field of the config that says so) for each table of positions."""
    inputs = [tensor.name for tensor in model.inputs]
    for layer in model.layers:
        if isinstance(layer, LearnedPositionEmbedding):
            # a translator has a table for each side, all others one for whatever they read
            side = layer.name.removesuffix("positions")
            yield from ((name, layer.max_length, "positions" if side else "max_length") for name in inputs if name.startswith(side))
        elif isinstance(layer, MultiplicativeAttention) and layer.max_length is not None:
            yield from ((name, layer.max_length, "max_length") for name in inputs if name == "source_ids")


def _longest(split: SequenceSplit, name: str) -> int:
    """Return how many steps the longest row of an input has, stored padding left out."""
    column = split.inputs[name]
    if isinstance(column, Ragged):
        return int(column.lengths.max(initial=0))
    return min(cast(np.ndarray, column).shape[1], int(split.lengths.max(initial=0)))
