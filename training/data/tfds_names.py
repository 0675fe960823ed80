"""Any data set of TensorFlow Datasets with pictures and labels."""

import hashlib
from collections.abc import Mapping
from typing import Any, cast

import numpy as np
import tensorflow_datasets as tfds

from ...zoo.errors import CanonError
from .loading_files import Shares
from .network import unreachable
from .prepare import prepare, read
from .source import Dataset, Split, dataset_of
from .splits import cut
from .stores import EncodedStore

LARGEST = 4 * 2**30  # bytes of encoded pictures that are held in memory
_NO_LABEL = -1  # as TFDS marks what has none, such as the test pictures of a contest


def load_tfds(name: str, argument: str, shares: Shares, data_dir: str | None) -> Dataset:
    """Load a data set of TFDS: its encoded pictures are held in memory and decoded when asked for.

    Args:
        name: of the data set.
        argument: what `tfds.builder` takes, such as `cifar10` or `cifar10:3.0.2`.
        shares: what to cut from `train` where there is no `validation` or `test`.
        data_dir: where prepared data lie.

    Raises:
        CanonError: unknown to TFDS, not prepared and no network, without pictures and class labels, with labels outside the classes,
            or too large.
    """
    builder = _prepared(argument, data_dir)
    features = cast(Mapping[str, Any], builder.info.features)
    keys = _keys(name, features)
    size = sum(split.num_bytes for split in builder.info.splits.values())
    if size > LARGEST:
        raise CanonError(f"{name} holds {size / 2**30:.1f} GiB, more than the {LARGEST / 2**30:.0f} that are held in memory.")
    if "train" not in builder.info.splits:
        raise CanonError(f"{name} has no split 'train', but {', '.join(builder.info.splits)}.")
    own = [split for split in ("train", "validation", "test") if split in builder.info.splits]
    parts = {split: _read(builder, split, keys) for split in own}
    parts = _labelled(name, parts, len(features[keys[1]].names))
    stores = {split: EncodedStore(images, features[keys[0]].shape) for split, (images, _) in parts.items()}
    rows = {split: (split, np.arange(len(labels))) for split, (_, labels) in parts.items()}
    for split, share, salt in (("test", shares.test, "test"), ("validation", shares.validation, f"validation {shares.seed}")):
        if split not in rows:
            images, labels = parts["train"]
            left = rows["train"][1]
            digests = [hashlib.sha256(images[row]).hexdigest() for row in left.tolist()]
            kept, held_out = cut(labels[left], digests, share, salt)
            rows["train"], rows[split] = ("train", left[kept]), ("train", left[held_out])
    splits = []
    for split in ("train", "validation", "test"):
        home, chosen = rows[split]
        ids = np.array([f"{home}/{row}" for row in chosen.tolist()])
        splits.append(Split(split, parts[home][1][chosen], ids, chosen, stores[home]))
    source = {
        "source": builder.info.homepage or "TFDS",
        "version": builder.info.full_name,
        "prepared_in": str(builder.data_dir),
        "seed": shares.seed,
    }
    return dataset_of(name, tuple(features[keys[1]].names), tuple(splits), source)


def _prepared(argument: str, data_dir: str | None) -> tfds.core.DatasetBuilder:
    def make() -> tfds.core.DatasetBuilder:
        try:
            return tfds.builder(argument, data_dir=data_dir)
        except (tfds.core.DatasetNotFoundError, ImportError) as error:
            reason = " ".join(str(error).split(".")[0].split())
            raise CanonError(f"TensorFlow Datasets cannot give {argument!r}: {reason}.") from error

    def check() -> None:
        builder = make()
        addresses = [url for url in builder.url_infos or () if url.startswith(("http:", "https:"))]
        if addresses and (reason := unreachable(addresses[0])):
            raise CanonError(
                f"{argument} is not prepared in {builder.data_dir} and {addresses[0]} cannot be reached ({reason}): "
                "connect to the network, or set KERAS_CANON_DATA to a folder where it is prepared."
            )

    return prepare(make, argument, data_dir, check)


def _keys(name: str, features: Mapping[str, Any]) -> tuple[str, str]:
    """Return the names of the features that are the picture and its class."""
    pictures = [key for key, feature in features.items() if isinstance(feature, tfds.features.Image) and feature.shape[-1] in (1, 3)]
    labels = [key for key, feature in features.items() if isinstance(feature, tfds.features.ClassLabel)]
    pictures = ["image"] if "image" in pictures else pictures
    labels = ["label"] if "label" in labels else labels
    if len(pictures) != 1 or len(labels) != 1:
        raise CanonError(f"{name} has not one picture and one class label in each example, but {', '.join(features)}.")
    return pictures[0], labels[0]


def _labelled(name: str, parts: Mapping[str, tuple[np.ndarray, np.ndarray]], classes: int) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return the parts that have labels, each of them one of so many classes."""
    found = {}
    for split, (images, labels) in parts.items():
        if split != "train" and (labels == _NO_LABEL).all():
            continue  # cut from train instead
        if outside := np.unique(labels[(labels < 0) | (labels >= classes)]).tolist():
            some = f"{', '.join(map(str, outside[:5]))}{', ...' if len(outside) > 5 else ''}"
            raise CanonError(f"{name} has labels in {split!r} that are outside its {classes} classes, 0 to {classes - 1}: {some}.")
        found[split] = images, labels
    return found


def _read(builder: tfds.core.DatasetBuilder, split: str, keys: tuple[str, str]) -> tuple[np.ndarray, np.ndarray]:
    """Return the encoded pictures, bytes objects of shape (N,), and the labels."""
    batches = list(read(builder, split, decoders={keys[0]: tfds.decode.SkipDecoding()}))
    images = np.concatenate([batch[keys[0]].numpy() for batch in batches])
    return images, np.concatenate([batch[keys[1]].numpy() for batch in batches]).astype(np.int64)
