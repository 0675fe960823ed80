"""From logits to named classes."""

from functools import cache
from pathlib import Path

import numpy as np

from .errors import CanonError, unknown_name
from .model import Model


@cache
def class_names(name: str) -> tuple[str, ...]:
    """Return a list of class names, in the order of the logits of the networks trained on it.

    Args:
        name: "imagenet" for the 1,000 classes of the ILSVRC 2012 challenge, sorted by their WordNet numbers; "fashion_mnist" for
            the 10 of Fashion-MNIST.

    Raises:
        CanonError: for a list that does not exist.
    """
    known = {path.stem.removesuffix("_classes"): path for path in Path(__file__).parent.glob("*_classes.txt")}
    if name not in known:
        raise unknown_name("list of class names", name, known)
    return tuple(known[name].read_text(encoding="utf-8").splitlines())


def decode(logits, model: Model, top: int = 5) -> list[list[tuple[str, float]]]:
    """Name the most probable classes of each row.

    Args:
        logits: (B, num_classes), as the model returns them.
        model: a `zoo.Model`; its record's labels name the classes, else their numbers do.
        top: how many classes a row, at most.

    Returns:
        a list of (label, probability) for each row, most probable first.

    Raises:
        CanonError: for logits of another rank, or of another number of classes than the model has labels.
    """
    logits = np.asarray(logits, "float64")
    if logits.ndim != 2:
        raise CanonError(f"logits must have shape (batch, classes), got {logits.shape}.")
    labels = model.record.labels or tuple(str(index) for index in range(logits.shape[1]))
    if len(labels) != logits.shape[1]:
        raise CanonError(f"Model {model.name!r} has {len(labels)} labels, but the logits have {logits.shape[1]} classes.")
    exponential = np.exp(logits - logits.max(axis=1, keepdims=True))
    probabilities = exponential / exponential.sum(axis=1, keepdims=True)
    order = np.argsort(-probabilities, axis=1, kind="stable")[:, :top]
    return [[(labels[i], float(row[i])) for i in best] for row, best in zip(probabilities, order, strict=True)]
