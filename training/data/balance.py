"""Class weights for data in which some classes are rarer than others."""

import dataclasses
import warnings
from collections.abc import Sequence

import numpy as np

from ...zoo.errors import CanonError
from .source import Dataset

STRONG_IMBALANCE = 10
FEW = 5
NAMED_AT_MOST = 10


def class_weights(labels: np.ndarray, class_names: Sequence[str]) -> dict[int, float]:
    r"""Return the weight by which each class counts equally in the loss, as Keras's `class_weight` takes it.

    $$w_k = \frac{N}{K \, n_k} \tag{1}$$

    Args:
        labels: class number of each of the $N$ training examples.
        class_names: the names of the $K$ classes; $n_k$ examples have class $k$.

    Returns:
        The weight $w_k$ by class number; the mean weight over the examples is 1. A class 10 times rarer than another one
        gives a warning, because weights then make training noisy and more pictures help more.

    Raises:
        CanonError: (a ValueError) a class without examples, or a label outside the classes.

    Example:
        >>> class_weights([0, 0, 0, 1], ["cat", "dog"])
        {0: 0.6666666666666666, 1: 2.0}
    """
    labels = np.asarray(labels, dtype=np.int64).reshape(-1)
    if labels.size and not 0 <= labels.min() <= labels.max() < len(class_names):
        raise CanonError(
            f"Labels run from {labels.min()} to {labels.max()}, but the {len(class_names)} classes are 0 to {len(class_names) - 1}."
        )
    counts = np.bincount(labels, minlength=len(class_names))
    if missing := [name for name, count in zip(class_names, counts, strict=True) if count == 0]:
        raise CanonError(f"No weight exists for a class without examples: {', '.join(missing)}.")
    most, least = int(counts.argmax()), int(counts.argmin())
    if counts[most] >= STRONG_IMBALANCE * counts[least]:
        warnings.warn(
            f"The classes are strongly imbalanced: {counts[most]} examples of {class_names[most]!r} "
            f"against {counts[least]} of {class_names[least]!r}.",
            stacklevel=2,
        )
    return {label: float(labels.size / (len(class_names) * count)) for label, count in enumerate(counts)}


def with_balance(dataset: Dataset) -> Dataset:
    """Return a data set with class weights among its facts, after the warnings of `balance_of`.

    Raises:
        CanonError: a class without training examples.
    """
    labels = dataset.train.labels
    if missing := [name for number, name in enumerate(dataset.class_names) if number not in labels]:
        some = f"{', '.join(missing[:NAMED_AT_MOST])}{', ...' if len(missing) > NAMED_AT_MOST else ''}"
        raise CanonError(f"{dataset.name} has no training example of {some}: name the classes to take, as in [classes=0-2].")
    return dataclasses.replace(dataset, facts={**dataset.facts, "class_weights": balance_of(labels, dataset.class_names)})


def balance_of(labels: np.ndarray, class_names: Sequence[str]) -> dict[str, float]:
    """Warn of classes with too few examples to learn from, and return class weights by name where one has far fewer than others.

    Args:
        labels: class number of each training example; every class has one at least.
        class_names: by class number.
    """
    counts = np.bincount(labels, minlength=len(class_names))
    weights = {name: float(labels.size / (len(class_names) * count)) for name, count in zip(class_names, counts, strict=True)}
    few = [f"{name} ({count})" for name, count in zip(class_names, counts.tolist(), strict=True) if count < FEW]
    if few:
        shown = ", ".join(few[:NAMED_AT_MOST]) + (f" and {len(few) - NAMED_AT_MOST} more" if len(few) > NAMED_AT_MOST else "")
        warnings.warn(f"Classes with fewer than {FEW} training examples are hardly learnt: {shown}.", stacklevel=2)
    if counts.max() < STRONG_IMBALANCE * counts.min():
        return {}
    most, least = class_names[int(counts.argmax())], class_names[int(counts.argmin())]
    warnings.warn(
        f"The classes are strongly imbalanced: {counts.max()} training examples of {most!r} against {counts.min()} of {least!r}; "
        f'class weights of {weights[most]:.5g} and {weights[least]:.5g} make them count alike (train.class_weights = "balanced").',
        stacklevel=2,
    )
    return weights
