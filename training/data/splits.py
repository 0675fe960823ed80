"""Which examples go into which split: by content, class by class, the same on every machine and at every pass."""

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...zoo.errors import CanonError


def check_share(name: str, value: float) -> float:
    """Return `value` when it is a share of examples that leaves some on both sides."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1:
        raise CanonError(f"{name} must be a share above 0 and below 1, got {value!r}.")
    return float(value)


def cut(labels: np.ndarray, digests: Sequence[str], share: float, salt: str) -> tuple[np.ndarray, np.ndarray]:
    """Cut examples in two, stratified by class, by a hash of their content.

    Examples with equal content stay on one side, whatever their labels, so that no copy of a training picture is ever
    validated on. The hash decides alone: adding or removing examples moves few others, and no random generator whose
    stream may change between versions is involved.

    Args:
        labels: class numbers, shape (N,).
        digests: N strings, equal where the content is equal.
        share: how much to cut off, above 0 and below 1; the number of different contents cut off is `round(share * number)`
            where every class can give its part. A class with two or more contents has at least one on each side.
        salt: another salt cuts off other examples.

    Returns:
        The positions that stay and the positions that are cut off, both ascending and int64.
    """
    first = {}
    for position, digest in enumerate(digests):
        first.setdefault(digest, position)
    contents = sorted(first, key=lambda digest: hashlib.sha256(f"{salt}:{digest}".encode()).digest())
    content_labels = labels[[first[digest] for digest in contents]]

    quota = _quotas(np.bincount(content_labels), share)
    cut_off = set()
    for digest, label in zip(contents, content_labels.tolist(), strict=True):
        if quota[label] > 0:
            quota[label] -= 1
            cut_off.add(digest)
    is_cut = np.fromiter((digest in cut_off for digest in digests), bool, len(digests))
    return np.flatnonzero(~is_cut), np.flatnonzero(is_cut)


def _quotas(counts: np.ndarray, share: float) -> np.ndarray:
    """Return how many of each class to cut off: the largest remainders are rounded up until the total is right."""
    exact = counts * share
    quota = np.floor(exact).astype(np.int64)
    missing = round(float(exact.sum())) - int(quota.sum())
    quota[np.argsort(quota - exact, kind="stable")[:missing]] += 1
    return np.clip(quota, np.minimum(1, np.maximum(counts - 1, 0)), np.maximum(counts - 1, 0))


def digests_of(images: np.ndarray) -> list[str]:
    """Return a hash of each picture of a batch (N, H, W, C)."""
    return [hashlib.sha256(image.tobytes()).hexdigest() for image in images]


def validation_parts(contents: Any, share: float, seed: int, labels: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Cut the training part in two by a hash of the examples' content, so that equal ones stay on one side.

    Args:
        contents: a text or an array of each example, one after the other.
        share: how much becomes the validation split.
        seed: another one takes other examples.
        labels: class numbers, each of which is cut alike; None for no classes.
    """
    raw = [content.encode() if isinstance(content, str) else np.asarray(content).tobytes() for content in contents]
    digests = [hashlib.sha256(content).hexdigest() for content in raw]
    return cut(np.zeros(len(digests), "int64") if labels is None else labels, digests, share, salt=f"validation {seed}")
