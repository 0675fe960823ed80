"""A part of a data set: some of its classes, or so many examples of each, as experiments with few labels need it."""

import dataclasses
import hashlib
import re
from collections.abc import Mapping, Sequence

import numpy as np

from ...zoo.errors import CanonError
from .source import Dataset, Split, dataset_of


def subset(dataset: Dataset, options: Mapping[str, str], seed: int) -> Dataset:
    """Return what the options `classes` and `per_class` leave of a data set; without them, the data set itself.

    Args:
        dataset: the whole.
        options: `classes`: names or numbers, joined by `+`, with ranges such as `0-4`; the rest is left out and classes are
            numbered anew, in their old order. `per_class`: how many examples of each class stay at most in the training split and in the
            validation split. The test split keeps all examples of the classes.
        seed: which examples stay.

    Raises:
        CanonError: an unknown class, or fewer than two.
    """
    chosen = range(dataset.num_classes) if "classes" not in options else _chosen(options["classes"], dataset.class_names)
    per_class = int(options["per_class"]) if "per_class" in options else None
    if len(chosen) == dataset.num_classes and per_class is None:
        return dataset
    names = tuple(dataset.class_names[number] for number in chosen)
    train, validation = (_part(split, chosen, per_class, seed) for split in (dataset.train, dataset.validation))
    test = _part(dataset.test, chosen, None, seed)
    return dataset_of(dataset.name, names, (train, validation, test), {**dataset.facts, "subset": dict(options)})


def _chosen(text: str, class_names: Sequence[str]) -> list[int]:
    """Return the class numbers that `0-4` or `cat+dog` stands for, ascending."""
    numbers: set[int] = set()
    for item in (part.strip() for part in text.split("+")):
        span = re.fullmatch(r"(\d+)(?:-(\d+))?", item)
        if item in class_names:
            numbers.add(class_names.index(item))
        elif span and int(span[1]) <= int(span[2] or span[1]) < len(class_names):
            numbers |= set(range(int(span[1]), int(span[2] or span[1]) + 1))
        else:
            last = len(class_names) - 1
            raise CanonError(
                f"classes must be names or numbers from 0 to {last}, as in [classes=0-{last}] or [classes={class_names[0]}], got {item!r}."
            )
    if len(numbers) < 2:
        raise CanonError(f"classes must name at least two classes, got {text!r}.")
    return sorted(numbers)


def _part(split: Split, chosen: Sequence[int], per_class: int | None, seed: int) -> Split:
    kept = []
    for number in chosen:
        positions = np.flatnonzero(split.labels == number)
        if per_class is not None:
            # the order of a hash: an example that is added or removed moves one other at most
            order = sorted(positions.tolist(), key=lambda row: hashlib.sha256(f"few {seed}:{split.ids[row]}".encode()).digest())
            positions = np.array(order[:per_class], np.int64)
        kept.append(positions)
    rows = np.sort(np.concatenate(kept)).astype(np.int64)
    labels = np.searchsorted(np.asarray(chosen), split.labels[rows]).astype(np.int64)
    return dataclasses.replace(split, labels=labels, ids=split.ids[rows], rows=split.rows[rows])
