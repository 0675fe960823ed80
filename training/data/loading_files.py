"""From a listing of picture files to three splits."""

import os
import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ...zoo.errors import CanonError
from .folder import Listing, name_some
from .folder_index import IndexPart, folder_index
from .source import Dataset, Split, dataset_of
from .splits import cut
from .stores import FileStore


class Shares(NamedTuple):
    """What is cut from `train` where a source lacks a split of its own, and the seed of the validation split."""

    validation: float
    test: float
    seed: int


def load_files(name: str, listing: Listing, shares: Shares, data_dir: str | None, skip: bool) -> Dataset:
    """Index picture files and cut from `train` the splits that they do not have themselves.

    Args:
        name: of the data set.
        listing: the files.
        shares: what to cut.
        data_dir: where the index lies.
        skip: True to leave out pictures that cannot be decoded, False to refuse them.

    Raises:
        CanonError: pictures that cannot be decoded, or too few.
    """
    builder, parts = folder_index(listing, data_dir)
    bad = [
        f"{os.fsdecode(file)} ({problem})"
        for part in parts.values()
        for file, problem in zip(part.files, part.problems, strict=True)
        if problem
    ]
    if bad and not skip:
        raise CanonError(
            f"{len(bad)} pictures in {listing.source} cannot be decoded ([unreadable=skip] behind the name leaves them out): "
            f"{name_some(bad)}."
        )
    parts = {split: part[np.flatnonzero(part.problems == "")] for split, part in parts.items()}
    if missing := [class_name for label, class_name in enumerate(listing.class_names) if label not in parts["train"].labels]:
        raise CanonError(f"{listing.source} has no readable training picture in {name_some(missing)}.")
    for split, share, salt in (("test", shares.test, "test"), ("validation", shares.validation, f"validation {shares.seed}")):
        if split not in parts:
            kept, held_out = cut(parts["train"].labels, parts["train"].digests.tolist(), share, salt)
            parts["train"], parts[split] = parts["train"][kept], parts["train"][held_out]
    if empty := [split for split, part in parts.items() if len(part) == 0]:
        raise CanonError(
            f"{listing.source} has too few readable pictures: none is left for {' and '.join(empty)}; three different ones a class will do."
        )
    _warn(listing, parts, bad)
    source = {"source": str(listing.source), "version": builder.info.full_name, "prepared_in": str(builder.data_dir), "seed": shares.seed}
    found: dict[str, Any] = {
        "unreadable": [_text(item) for item in bad],
        "left_out": [_text(item) for item in listing.left_out],
    }
    splits = tuple(_file_split(split, parts[split], listing, _common_shape(parts)) for split in ("train", "validation", "test"))
    return dataset_of(name, listing.class_names, splits, source | found)


def _file_split(name: str, part: IndexPart, listing: Listing, shape: tuple[int, int, int] | None) -> Split:
    paths = np.array([os.fsencode(listing.root / os.fsdecode(file)) for file in part.files], dtype=object)
    ids = np.array([_text(os.fsdecode(file)) for file in part.files])
    return Split(name, part.labels, ids, np.arange(len(part)), FileStore(paths, shape))


def _common_shape(parts: Mapping[str, IndexPart]) -> tuple[int, int, int] | None:
    sizes = np.unique(np.concatenate([part.sizes for part in parts.values()]), axis=0)
    return (int(sizes[0, 0]), int(sizes[0, 1]), 3) if len(sizes) == 1 else None


def _warn(listing: Listing, parts: Mapping[str, IndexPart], bad: list[str]) -> None:
    if bad:
        warnings.warn(f"{len(bad)} pictures in {listing.source} cannot be decoded and are left out: {name_some(bad)}.", stacklevel=4)
    if listing.left_out:
        warnings.warn(
            f"{len(listing.left_out)} files in {listing.source} belong to no class or are no pictures and are left out: "
            f"{name_some(list(listing.left_out))}.",
            stacklevel=4,
        )
    for split in ("validation", "test"):
        if shared := set(parts["train"].digests) & set(parts[split].digests):
            warnings.warn(f"{len(shared)} pictures of {split} are in train too, so the figures on {split} will flatter.", stacklevel=4)


def _text(name: str) -> str:
    """Return a file name as valid text: bytes that are none are written out."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")
