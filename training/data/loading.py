"""From the name of a data set to its three splits."""

import os
from collections.abc import Mapping
from typing import Any, cast

import numpy as np
import tensorflow_datasets as tfds

from ...zoo.errors import CanonError
from .balance import with_balance
from .digits import CanonDigits
from .fashion_mnist import fashion_mnist_builder
from .folder import scan
from .loading_files import Shares, load_files
from .manifest import scan_manifest
from .names import is_sequence, parse_name
from .prepare import directory, prepare, read
from .source import Dataset, Split, dataset_of
from .splits import check_share, cut, digests_of
from .stores import ArrayStore
from .subset import subset
from .synthetic import CanonSynthetic, SyntheticConfig, SyntheticOptions
from .tfds_names import load_tfds

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
        name: one of `list_datasets()`: `digits`, `fashion_mnist`, `folder:PATH`, `csv:PATH`, `parquet:PATH`, `tfds:NAME`,
            `synthetic` or `synthetic:classes=4,size=16,channels=3,examples=400`; with options in brackets behind it:
            `fashion_mnist[classes=0-4]` takes some classes, by number or name, joined by `+`; `digits[per_class=20]` takes so many
            training examples of each, and at most as many for validation; `csv:PATH[file=image,label=species,split=part]`
            names the columns of a list of pictures.
        seed: decides which examples of the training part become the validation split, and which `per_class` keeps. The test split
            never depends on it, so that runs with different seeds are compared on the same examples.
        validation: share of the training part that becomes the validation split, above 0 and below 1; None takes 0.125
            for digits (180 of 1,437) and 0.1 for the others. Not used where a source has its own validation pictures.
        test: share that becomes the test split where the source has none of its own (a folder without `test`).
        data_dir: where prepared data lie; None takes the environment's `KERAS_CANON_DATA`, else the default of TFDS.
        unreadable: for files: `error` names all pictures that cannot be decoded, `skip` leaves them out (`facts["unreadable"]`);
            `folder:photos[unreadable=skip]` says the same.

    Returns:
        The `Dataset`; equal arguments give equal splits in equal order, on every machine.

    Raises:
        CanonError: (a ValueError) unknown name, bad option, folder without two classes, damaged data, or no data and no network.

    Example:
        >>> digits = load("digits")
        >>> len(digits.train), len(digits.validation), len(digits.test)
        (1257, 180, 360)
    """
    kind, argument, options = parse_name(name)
    if is_sequence(name):
        raise CanonError(f"{name!r} holds sequences, and pictures are asked for: load it with load_sequences.")
    default = DIGITS_VALIDATION_SHARE if kind == "digits" else VALIDATION_SHARE
    shares = Shares(check_share("validation", default if validation is None else validation), check_share("test", test), seed)
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer):
        raise CanonError(f"seed must be an integer, got {seed!r}.")
    unreadable = options.get("unreadable", unreadable)
    if unreadable not in {"error", "skip"}:
        raise CanonError(f"unreadable must be 'error' or 'skip', got {unreadable!r}.")
    data_dir = directory(data_dir)
    shares = shares._replace(seed=int(seed))
    if kind == "folder":
        dataset = load_files(name, scan(argument), shares, data_dir, skip=unreadable == "skip")
    elif kind in {"csv", "parquet"}:
        dataset = load_files(name, scan_manifest(kind, argument, options), shares, data_dir, skip=unreadable == "skip")
    elif kind == "tfds":
        dataset = load_tfds(name, argument, shares, data_dir)
    else:
        dataset = _load_arrays(name, _builder(kind, argument, name, data_dir), shares.validation, shares.seed)
    dataset = subset(dataset, options, shares.seed)
    # of what is left, and not for the sets of our own, which are balanced
    return with_balance(dataset) if kind in {"folder", "csv", "parquet", "tfds"} else dataset


def _builder(kind: str, argument: str, name: str, data_dir: str | None) -> tfds.core.DatasetBuilder:
    if kind == "digits":
        return prepare(lambda: CanonDigits(data_dir=data_dir), "digits", data_dir)
    if kind == "fashion_mnist":
        return fashion_mnist_builder(data_dir)
    options = SyntheticOptions.parse(argument)
    config = SyntheticConfig(name=options.directory, options=options)
    return prepare(lambda: CanonSynthetic(data_dir=data_dir, config=config), name, data_dir)


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
    return dataset_of(name, tuple(_feature(builder, "label").names), splits, source)


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
