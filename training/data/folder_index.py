"""A folder of pictures as a TFDS builder: an index of its files, each read and decoded once to know that it can be."""

import dataclasses
import hashlib
import itertools
import os
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import cast

import numpy as np
import tensorflow as tf
import tensorflow_datasets as tfds

from ...zoo.decoding import decoding_problem, picture_size, prepare_picture_size
from .folder import Listing, Picture
from .prepare import prepare, read

_AT_A_TIME = 16


@dataclasses.dataclass
class FolderConfig(tfds.core.BuilderConfig):
    """Carries the listing into the builder; its name holds the fingerprint, so that a changed folder is another data set."""

    listing: Listing | None = None


class CanonFolder(tfds.core.GeneratorBasedBuilder):
    """Prepares the index of a folder: file, class, size in pixels, hash of the content, and what is wrong with the file.

    The pictures stay where they are; the index of 10,000 takes about 2 MB.
    """

    VERSION = tfds.core.Version("1.0.0")

    @property
    def _listing(self) -> Listing:
        return cast(Listing, cast(FolderConfig, self.builder_config).listing)

    def _info(self) -> tfds.core.DatasetInfo:
        text = tfds.features.Tensor(shape=(), dtype=np.str_)
        number = tfds.features.Scalar(dtype=np.int32)
        label = tfds.features.ClassLabel(names=list(self._listing.class_names))
        features = {"file": text, "label": label, "height": number, "width": number, "digest": text, "problem": text}
        return tfds.core.DatasetInfo(
            builder=self,
            description="The index of a folder of pictures, one sub-folder per class.",
            features=tfds.features.FeaturesDict(features),
            disable_shuffling=True,
        )

    def _split_generators(self, dl_manager: tfds.download.DownloadManager):
        pictures = self._listing.pictures
        return {
            split: self._generate_examples([picture for picture in pictures if picture.split == split]) for split in self._listing.splits
        }

    def _generate_examples(self, pictures: list[Picture]) -> Iterator[tuple[int, dict]]:
        labels = {name: label for label, name in enumerate(self._listing.class_names)}
        root = self._listing.root
        prepare_picture_size()
        with ThreadPoolExecutor() as pool:
            # many at a time, since handing a small picture to a thread takes as long as looking at it
            some = [pictures[start : start + _AT_A_TIME] for start in range(0, len(pictures), _AT_A_TIME)]
            inspected = pool.map(lambda pictures: [inspect(root / picture.path) for picture in pictures], some)
            for row, (picture, facts) in enumerate(zip(pictures, itertools.chain.from_iterable(inspected), strict=True)):
                yield row, {"file": os.fsencode(picture.path), "label": labels[picture.class_name]} | facts


def inspect(path: Path) -> dict:
    """Return the size, the hash and the problem of a picture file; the problem is empty for a good one."""
    facts = {"height": 0, "width": 0, "digest": "", "problem": ""}
    try:
        content = path.read_bytes()
        facts["digest"] = hashlib.sha256(content).hexdigest()
        with tf.device("CPU:0"):
            facts["height"], facts["width"] = picture_size(content)
    except OSError as error:
        facts["problem"] = error.strerror or str(error)
    except tf.errors.OpError as error:
        facts["problem"] = decoding_problem(error) if content else "empty file"
    return facts


@dataclasses.dataclass(frozen=True, eq=False)
class IndexPart:
    """The index of one of a folder's own splits, one entry per picture.

    Args:
        files: paths relative to the folder, as bytes.
        labels: class numbers, int64.
        sizes: height and width, shape (N, 2).
        digests: hashes of the files' content.
        problems: why a picture cannot be decoded; empty for a good one.
    """

    files: np.ndarray
    labels: np.ndarray
    sizes: np.ndarray
    digests: np.ndarray
    problems: np.ndarray

    def __getitem__(self, rows: np.ndarray) -> "IndexPart":
        return IndexPart(*(getattr(self, field.name)[rows] for field in dataclasses.fields(self)))

    def __len__(self) -> int:
        return len(self.labels)


def folder_index(listing: Listing, data_dir: str | None) -> tuple[tfds.core.DatasetBuilder, dict[str, IndexPart]]:
    """Return the builder with its index on disk, and the index of each of the folder's own splits."""
    label = re.sub(r"[^A-Za-z0-9]+", "_", listing.source.stem).strip("_") or "folder"
    config = FolderConfig(name=f"{label}_{listing.fingerprint}", listing=listing)
    what = f"the index of {len(listing.pictures):,} pictures in {listing.source}"
    builder = prepare(lambda: CanonFolder(data_dir=data_dir, config=config), what, data_dir)
    return builder, {split: _part(list(read(builder, split))) for split in listing.splits}


def _part(batches: list[dict[str, tf.Tensor]]) -> IndexPart:
    column = {key: np.concatenate([batch[key].numpy() for batch in batches]) for key in batches[0]}
    sizes = np.stack([column["height"], column["width"]], axis=1)
    digests = np.array([digest.decode() for digest in column["digest"]])
    problems = np.array([problem.decode() for problem in column["problem"]])
    return IndexPart(column["file"], column["label"].astype(np.int64), sizes, digests, problems)
