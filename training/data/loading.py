"""From the name of a data set to its three splits."""

import os
import warnings
from collections.abc import Mapping
from typing import Any, cast

import numpy as np
import tensorflow_datasets as tfds

from ...zoo.errors import CanonError
from .digits import CanonDigits
from .fashion_mnist import fashion_mnist_builder
from .folder import Listing, name_some, scan
from .folder_index import IndexPart, folder_index
from .names import parse_name
from .prepare import directory, prepare, read
from .source import Dataset, Split
from .splits import check_share, cut, digests_of
from .stores import ArrayStore, FileStore
from .synthetic import CanonSynthetic, SyntheticConfig, SyntheticOptions

VALIDATION_SHARE = 0.1
DIGITS_VALIDATION_SHARE = 0.125


def load(
    name: str,
    *,
    seed: int = 0,
    validation: float | None = None,
    test: float = 0.1,
    data_dir: str | os.PathLike | None = None,
    unreadable: str = "error",
) -> Dataset:
    """Load a data set, preparing it first where that has not been done on this machine.

    Args:
        name: one of `list_datasets()`: `digits`, `fashion_mnist`, `folder:PATH`, `synthetic` or
            `synthetic:classes=4,size=16,channels=3,examples=400`.
        seed: decides which examples of the training part become the validation split. The test split never depends on it,
            so that runs with different seeds are compared on the same examples.
        validation: share of the training part that becomes the validation split, above 0 and below 1; None takes 0.125
            for digits (180 of 1,437) and 0.1 for the others. Not used where a folder has its own validation pictures.
        test: share that becomes the test split where the source has none of its own (a folder without `test`).
        data_dir: where prepared data lie; None takes the environment's `KERAS_CANON_DATA`, else the default of TFDS.
        unreadable: for folders: `error` names all pictures that cannot be decoded, `skip` leaves them out (`facts["unreadable"]`).

    Returns:
        The `Dataset`; equal arguments give equal splits in equal order, on every machine.

    Raises:
        CanonError: (a ValueError) unknown name, bad option, folder without two classes, damaged data, or no data and no network.

    Example:
        >>> digits = load("digits")
        >>> len(digits.train), len(digits.validation), len(digits.test)
        (1257, 180, 360)
    """
    kind, argument = parse_name(name)
    default = DIGITS_VALIDATION_SHARE if kind == "digits" else VALIDATION_SHARE
    validation = check_share("validation", default if validation is None else validation)
    test = check_share("test", test)
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer):
        raise CanonError(f"seed must be an integer, got {seed!r}.")
    if unreadable not in {"error", "skip"}:
        raise CanonError(f"unreadable must be 'error' or 'skip', got {unreadable!r}.")
    data_dir = directory(data_dir)
    if kind == "folder":
        return _load_folder(name, scan(argument), (validation, test, int(seed)), data_dir, skip=unreadable == "skip")
    if kind == "digits":
        builder = prepare(lambda: CanonDigits(data_dir=data_dir), "digits", data_dir)
    elif kind == "fashion_mnist":
        builder = fashion_mnist_builder(data_dir)
    else:
        options = SyntheticOptions.parse(argument)
        config = SyntheticConfig(name=options.directory, options=options)
        builder = prepare(lambda: CanonSynthetic(data_dir=data_dir, config=config), name, data_dir)
    return _load_arrays(name, builder, validation, int(seed))


def _load_arrays(name: str, builder: tfds.core.DatasetBuilder, share: float, seed: int) -> Dataset:
    """Read both splits of a builder into memory and cut the validation split from `train`."""
    (train_images, train_labels), (test_images, test_labels) = (_arrays(builder, split) for split in ("train", "test"))
    kept, held_out = cut(train_labels, digests_of(train_images), share, salt=f"validation {seed}")
    train_store, test_store = ArrayStore(train_images), ArrayStore(test_images)
    train_ids = np.array([f"train/{row}" for row in range(len(train_labels))])
    test_ids = np.array([f"test/{row}" for row in range(len(test_labels))])
    splits = (
        Split("train", train_labels[kept], train_ids[kept], kept, train_store),
        Split("validation", train_labels[held_out], train_ids[held_out], held_out, train_store),
        Split("test", test_labels, test_ids, np.arange(len(test_labels)), test_store),
    )
    source = {
        "source": builder.info.homepage or "generated",
        "version": builder.info.full_name,
        "prepared_in": str(builder.data_dir),
        "seed": seed,
    }
    return _dataset(name, tuple(_feature(builder, "label").names), splits, source)


def _arrays(builder: tfds.core.DatasetBuilder, split: str) -> tuple[np.ndarray, np.ndarray]:
    number = builder.info.splits[split].num_examples
    images = np.empty((number, *_feature(builder, "image").shape), np.uint8)
    labels = np.empty(number, np.int64)
    start = 0
    for batch in read(builder, split):
        stop = start + len(batch["label"])
        images[start:stop], labels[start:stop] = batch["image"].numpy(), batch["label"].numpy()
        start = stop
    return images, labels


def _feature(builder: tfds.core.DatasetBuilder, name: str) -> Any:
    return cast(Mapping[str, Any], builder.info.features)[name]


def _load_folder(name: str, listing: Listing, choices: tuple[float, float, int], data_dir: str | None, skip: bool) -> Dataset:
    """Index a folder and cut from `train` the splits that it does not have itself."""
    validation, test, seed = choices
    builder, parts = folder_index(listing, data_dir)
    bad = [
        f"{os.fsdecode(file)} ({problem})"
        for part in parts.values()
        for file, problem in zip(part.files, part.problems, strict=True)
        if problem
    ]
    if bad and not skip:
        raise CanonError(f"{len(bad)} pictures in {listing.root} cannot be decoded (unreadable='skip' leaves them out): {name_some(bad)}.")
    parts = {split: part[np.flatnonzero(part.problems == "")] for split, part in parts.items()}
    if missing := [class_name for label, class_name in enumerate(listing.class_names) if label not in parts["train"].labels]:
        raise CanonError(f"{listing.root} has no readable training picture in {name_some(missing)}.")
    for split, share, salt in (("test", test, "test"), ("validation", validation, f"validation {seed}")):
        if split not in parts:
            kept, held_out = cut(parts["train"].labels, parts["train"].digests.tolist(), share, salt)
            parts["train"], parts[split] = parts["train"][kept], parts["train"][held_out]
    if empty := [split for split, part in parts.items() if len(part) == 0]:
        raise CanonError(
            f"{listing.root} has too few readable pictures: none is left for {' and '.join(empty)}; three different ones a class will do."
        )
    _warn(listing, parts, bad)
    source = {"source": str(listing.root), "version": builder.info.full_name, "prepared_in": str(builder.data_dir), "seed": seed}
    found = {"unreadable": [_text(item) for item in bad], "left_out": [_text(item) for item in listing.left_out]}
    splits = tuple(_file_split(split, parts[split], listing, _common_shape(parts)) for split in ("train", "validation", "test"))
    return _dataset(name, listing.class_names, splits, source | found)


def _file_split(name: str, part: IndexPart, listing: Listing, shape: tuple[int, int, int] | None) -> Split:
    paths = np.array([os.fsencode(listing.root) + b"/" + file for file in part.files], dtype=object)
    ids = np.array([_text(os.fsdecode(file)) for file in part.files])
    return Split(name, part.labels, ids, np.arange(len(part)), FileStore(paths, shape))


def _common_shape(parts: Mapping[str, IndexPart]) -> tuple[int, int, int] | None:
    sizes = np.unique(np.concatenate([part.sizes for part in parts.values()]), axis=0)
    return (int(sizes[0, 0]), int(sizes[0, 1]), 3) if len(sizes) == 1 else None


def _warn(listing: Listing, parts: Mapping[str, IndexPart], bad: list[str]) -> None:
    if bad:
        warnings.warn(f"{len(bad)} pictures in {listing.root} cannot be decoded and are left out: {name_some(bad)}.", stacklevel=4)
    if listing.left_out:
        warnings.warn(
            f"{len(listing.left_out)} files in {listing.root} belong to no class or are no pictures and are left out: "
            f"{name_some(list(listing.left_out))}.",
            stacklevel=4,
        )
    for split in ("validation", "test"):
        if shared := set(parts["train"].digests) & set(parts[split].digests):
            warnings.warn(f"{len(shared)} pictures of {split} are in train too, so the figures on {split} will flatter.", stacklevel=4)


def _text(name: str) -> str:
    """Return a file name as valid text: bytes that are none are written out."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def _dataset(name: str, class_names: tuple[str, ...], splits: tuple[Split, ...], facts: Mapping[str, Any]) -> Dataset:
    counts = {
        split.name: dict(zip(class_names, np.bincount(split.labels, minlength=len(class_names)).tolist(), strict=True)) for split in splits
    }
    shape = splits[0].store.image_shape
    channels = 3 if shape is None else shape[-1]
    train, validation, test = splits
    return Dataset(name, class_names, shape, channels, train, validation, test, facts={**facts, "counts": counts})
