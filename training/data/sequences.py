"""A data set of sequences as the training loop reads it: three splits, each readable by position in any order."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from ...zoo.tokenizers import Tokenizer
from .masking import Masking

Kind = Literal["classes", "numbers", "tokens", "transcripts"]


@dataclass(frozen=True, eq=False)
class Ragged:
    """Rows of various lengths, kept end to end.

    Args:
        values: of all rows, (total,).
        starts: where each row begins, and where the last one ends, (N + 1,).
    """

    values: np.ndarray = field(repr=False)
    starts: np.ndarray = field(repr=False)

    @classmethod
    def of(cls, rows: Sequence[Sequence[int] | np.ndarray]) -> "Ragged":
        """Return rows of ids end to end."""
        starts = np.cumsum([0, *map(len, rows)])
        values = np.concatenate([np.asarray(row, "int32") for row in rows]) if rows else np.zeros(0, "int32")
        return cls(values, starts.astype("int64"))

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, position: int) -> np.ndarray:
        return self.values[self.starts[position] : self.starts[position + 1]]

    @property
    def lengths(self) -> np.ndarray:
        """Length of each row, (N,)."""
        return np.diff(self.starts)

    def rows(self, positions: np.ndarray) -> "Ragged":
        """Return some of the rows, in the order of their positions."""
        return Ragged.of([self[int(position)] for position in positions])


Column = np.ndarray | Ragged


@dataclass(frozen=True, eq=False)
class SequenceSplit:
    """One of the three parts of a data set; its examples have the positions 0 to `len(split) - 1`.

    Args:
        name: `train`, `validation` or `test`.
        inputs: by name of the model's input: float32 (N, T, features), int32 (N, T), ragged ids, or pictures of lines, uint8
            (N, 32, T, 1); 0 is padding.
        labels: class numbers (N,), numbers (N, 1), ids for each step, (N, T) or ragged, or ragged transcripts; 0 is padding.
        lengths: number of real steps of each example's longest column, (N,); batches are cut to what they need.
        masking: how the ragged `token_ids` are masked in each epoch, which decides what of the labels is asked; None for not at all.
    """

    name: str
    inputs: Mapping[str, Column] = field(repr=False)
    labels: Column = field(repr=False)
    lengths: np.ndarray = field(repr=False)
    masking: Masking | None = None

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def columns(self) -> tuple[Column, ...]:
        """Inputs and labels."""
        return (*self.inputs.values(), self.labels)

    def part(self, name: str, positions: np.ndarray) -> "SequenceSplit":
        """Return some of the examples under another name."""

        def take(column: Column) -> Column:
            return column.rows(positions) if isinstance(column, Ragged) else column[positions]

        inputs = {key: take(column) for key, column in self.inputs.items()}
        return SequenceSplit(name, inputs, take(self.labels), self.lengths[positions], self.masking)

    def masked(self, seed: int = 0, epoch: int = 0) -> "SequenceSplit":
        """Return the split as it is read in an epoch; one without masking is returned as it is.

        Args:
            seed, epoch: decide the masks; splits that nothing is trained on keep those of 0 and 0.
        """
        if self.masking is None:
            return self
        ids = self.inputs["token_ids"]
        assert isinstance(ids, Ragged)
        masked, labels = self.masking.draw(ids.values, ids.starts, seed, epoch)
        inputs = {**self.inputs, "token_ids": Ragged(masked, ids.starts)}
        return replace(self, inputs=inputs, labels=Ragged(labels, ids.starts), masking=None)


@dataclass(frozen=True, eq=False)
class SequenceDataset:
    """Three disjoint splits of sequences, with what travels with them.

    Args:
        name: the name it was loaded by.
        kind: "classes" for one class a sequence, "numbers" for one number, "tokens" for an id at each step, "transcripts" for fewer
            ids than steps, without their places.
        class_names: of the classes, or of the ids; empty for numbers.
        input_shape: of one example, (None,) for ids and (None, features) for floats.
        train: examples to fit.
        validation: examples for early stopping and the choice between models.
        test: examples to look at once, at the end.
        facts: for reports; plain values that JSON can hold.
        sizes: fields of a model's config that the data decide, such as {"vocabulary_size": 67}.
        source_names: names of the source's ids where they are not those of the target.
        start_id: the id that a target begins with; None where nothing is translated.
        end_id: the id that ends a target.
        characters: whether ids are characters of running text, whose cross-entropy is told in bits.
        tokenizer: of ids that are pieces of words; None for all else.
        carries: whether a model goes on from each window of running text to the next with its state; else each window stands alone.
    """

    name: str
    kind: Kind
    class_names: tuple[str, ...]
    input_shape: tuple[int | None, ...]
    train: SequenceSplit
    validation: SequenceSplit
    test: SequenceSplit
    facts: Mapping[str, Any]
    sizes: Mapping[str, int] = field(default_factory=dict)
    source_names: tuple[str, ...] = ()
    start_id: int | None = None
    end_id: int | None = None
    characters: bool = False
    tokenizer: Tokenizer | None = None
    carries: bool = False

    @property
    def num_classes(self) -> int:
        """How many outputs a model needs."""
        return 1 if self.kind == "numbers" else len(self.class_names)

    @cached_property
    def splits(self) -> Mapping[str, SequenceSplit]:
        """The splits by name, in the order train, validation, test."""
        return {split.name: split for split in (self.train, self.validation, self.test)}
