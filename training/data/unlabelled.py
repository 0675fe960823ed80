"""Pictures without labels, for self-supervised training and pseudo-labels."""

import dataclasses
import os
import warnings
from pathlib import Path

import numpy as np

from ...zoo.errors import CanonError
from .folder import NAMED_AT_MOST, Listing, Picture, fingerprint, name_some, picture_files
from .folder_index import folder_index
from .loading import load
from .prepare import directory
from .source import Split
from .stores import FileStore

NO_LABEL = -1
_NAME = "unlabelled"


def load_unlabelled(source: str | os.PathLike, *, data_dir: str | os.PathLike | None = None) -> Split:
    """Return pictures as a split whose labels are all -1.

    Args:
        source: a folder, whose pictures are taken at any depth, or the name of a data set, whose training split is taken without its
            labels.
        data_dir: as for `load`.

    Raises:
        CanonError: no such data set, or a folder without a readable picture.
    """
    if not Path(source).is_dir():
        train = load(str(source), data_dir=data_dir).train
        return dataclasses.replace(train, labels=np.full(len(train), NO_LABEL, np.int64))
    root = Path(source).resolve()
    files = [file.relative_to(root).as_posix() for file in picture_files(root)]
    pictures = tuple(Picture(file, "train", _NAME) for file in sorted(files, key=os.fsencode))
    if not pictures:
        raise CanonError(f"{root} holds no picture.")
    listing = Listing(root, root, (_NAME,), pictures, (), fingerprint(root, list(pictures)))
    _, parts = folder_index(listing, directory(data_dir))
    part = parts["train"]
    bad = [os.fsdecode(file) for file in part.files[part.problems != ""]]
    if bad:
        warnings.warn(f"{len(bad)} pictures in {root} cannot be decoded and are left out: {name_some(bad[:NAMED_AT_MOST])}.", stacklevel=2)
    part = part[np.flatnonzero(part.problems == "")]
    if not len(part):
        raise CanonError(f"{root} holds no picture that can be decoded.")
    paths = np.array([os.fsencode(root / os.fsdecode(file)) for file in part.files], dtype=object)
    sizes = np.unique(part.sizes, axis=0)
    shape = (int(sizes[0, 0]), int(sizes[0, 1]), 3) if len(sizes) == 1 else None
    ids = np.array([file.decode("utf-8", "backslashreplace") for file in part.files])
    return Split(_NAME, np.full(len(part), NO_LABEL, np.int64), ids, np.arange(len(part)), FileStore(paths, shape))
