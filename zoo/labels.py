"""From logits to named classes."""

import numpy as np

from .errors import CanonError
from .model import Model


def decode(logits, model: Model, top: int = 5) -> list[list[tuple[str, float]]]:
    """Name the most probable classes of each row.

    Args:
        logits: (B, num_classes), as the model returns them.
        model: a `zoo.Model`; its record's labels name the classes, else their numbers do.
        top: how many classes a row, at most.

    Returns:
        a list of (label, probability) for each row, most probable first.
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
