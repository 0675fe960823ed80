"""How good a trained model is on a split, class by class."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from ..zoo.errors import CanonError, unknown_name
from ..zoo.model import Model, load_model
from .auxiliary import main_output
from .compiled_steps import kept
from .data import Dataset, SequenceDataset
from .pipeline import batches, load_any
from .recipe import load_recipe
from .sections import DataSection
from .steps import compiled


@dataclass(frozen=True)
class ClassFigures:
    """How one class fared; a share of nothing is nan.

    Args:
        name: of the class.
        precision: share of those called so that are.
        recall: share of those that are so that were called so.
        f1: harmonic mean of the two.
        examples: how many there are.
    """

    name: str
    precision: float
    recall: float
    f1: float
    examples: int


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The answers of a model on one split.

    Args:
        data: name of the data set.
        split: name of the split.
        class_names: by class number.
        truth: class number of each example, (N,).
        predicted: the most probable class of each example, (N,).
        confidence: its probability, (N,).
        cross_entropy: mean over examples of minus the log-probability of the right class, in nats.
    """

    data: str
    split: str
    class_names: tuple[str, ...]
    truth: np.ndarray
    predicted: np.ndarray
    confidence: np.ndarray
    cross_entropy: float

    @property
    def accuracy(self) -> float:
        """Share of examples whose most probable class is the right one."""
        return float(np.mean(self.truth == self.predicted))

    @property
    def confusion(self) -> np.ndarray:
        """Counts (classes, classes): row = right class, column = predicted class."""
        counts = np.zeros((len(self.class_names),) * 2, "int64")
        np.add.at(counts, (self.truth, self.predicted), 1)
        return counts

    @property
    def mistakes(self) -> np.ndarray:
        """Positions of the wrong answers, the most confident first."""
        wrong = np.flatnonzero(self.truth != self.predicted)
        return wrong[np.argsort(-self.confidence[wrong], kind="stable")]

    def by_class(self) -> list[ClassFigures]:
        """Return precision, recall and F1 of each class."""
        counts = self.confusion.astype("float64")
        hits, called, real = np.diag(counts), counts.sum(axis=0), counts.sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            rows = zip(self.class_names, hits / called, hits / real, 2 * hits / (called + real), real, strict=True)
        return [ClassFigures(name, float(p), float(r), float(f), int(n)) for name, p, r, f, n in rows]

    def metrics(self) -> dict[str, float]:
        """Return the figures that sum up the split."""
        return {
            "accuracy": self.accuracy,
            "cross_entropy": self.cross_entropy,
            "macro_f1": float(np.nanmean([row.f1 for row in self.by_class()])),
            "examples": len(self.truth),
        }


def evaluate(
    model: Model | str | Path, data: Dataset | SequenceDataset | str | None = None, split: str = "test", *, batch_size: int = 256
) -> Any:
    """Evaluate a model on one split of a data set.

    Args:
        model: a `zoo.Model`, a run's folder, or a `.keras` file.
        data: a data set or its name; None for the one that the run's recipe names, split as it was there.
        split: "train", "validation" or "test".
        batch_size: examples at a time; it changes the speed only.

    Returns:
        an `Evaluation`, or for sequences what `evaluate_sequences` returns.

    Raises:
        CanonError: for a missing file, an unknown data set or split, or classes that are not the model's.
    """
    section = None
    if not isinstance(model, Model):
        model, section = load_trained(model)
    data = _dataset(data, section)
    if isinstance(data, SequenceDataset):
        from .sequence_evaluation import evaluate_sequences

        return evaluate_sequences(model, data, split, batch_size=batch_size)
    if split not in data.splits:
        raise unknown_name("split", split, data.splits)
    record = model.record
    if record.num_classes != data.num_classes or (record.labels and record.labels != data.class_names):
        raise CanonError(
            f"Model {model.name!r} knows {_classes(record.labels or record.num_classes)}, "
            f"but {data.name!r} has {_classes(data.class_names)}: evaluate it on data with its own classes, in the same order."
        )
    if record.preprocessing is None:
        raise CanonError(f"Model {model.name!r} has no preprocessing in its record: its inputs are not images.")
    if not len(data.splits[split]):
        raise CanonError(f"The {split} split of {data.name!r} is empty: name another split or data set.")
    logits = _logits(model, batches(data.splits[split], record.preprocessing, batch_size))
    return judged(logits, data.name, data.class_names, split, data.splits[split].labels)


def load_trained(source: str | Path) -> tuple[Model, DataSection | None]:
    """Return the model of a run's folder or a `.keras` file, and for a run what data it was trained on.

    Raises:
        CanonError: when there is no such folder or file, or no model in it.
    """
    path = Path(source)
    if not path.is_dir():
        return load_model(path), None
    recipe = path / "recipe.toml"
    return load_model(path), load_recipe(recipe).data if recipe.is_file() else None


def _dataset(data: Dataset | SequenceDataset | str | None, section: DataSection | None) -> Dataset | SequenceDataset:
    if isinstance(data, Dataset | SequenceDataset):
        return data
    if data is not None and (section is None or data != section.name):
        section = DataSection(name=data)
    if section is None:
        raise CanonError("No data set was named: name one, such as digits, or give a run's folder, whose recipe names it.")
    return load_any(section)


def _logits(model: Model, dataset: tf.data.Dataset) -> np.ndarray:
    def outputs(images):
        return tf.cast(main_output(model(images, training=False)), "float32")

    signature = tf.nest.flatten(dataset.element_spec)[:1]
    forward = kept(model, ("outputs", signature), lambda: compiled(outputs, signature))
    return np.concatenate([forward(images).numpy() for images, _ in dataset])


def judged(logits: np.ndarray, data: str, class_names: tuple[str, ...], split: str, truth: np.ndarray) -> Evaluation:
    """Return logits (N, classes) as answers.

    Args:
        logits: of each example.
        data, class_names, split: as in the answers.
        truth: right class numbers, (N,).
    """
    shifted = logits.astype("float64") - logits.max(axis=1, keepdims=True)
    log_probabilities = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    predicted = logits.argmax(axis=1)
    rows = np.arange(len(truth))
    return Evaluation(
        data=data,
        split=split,
        class_names=class_names,
        truth=truth,
        predicted=predicted,
        confidence=np.exp(log_probabilities[rows, predicted]),
        cross_entropy=float(-log_probabilities[rows, truth].mean()),
    )


def _classes(labels: tuple[str, ...] | int) -> str:
    if isinstance(labels, int):
        return f"{labels} classes"
    return f"{len(labels)} classes ({', '.join(labels[:3])}{', ...' if len(labels) > 3 else ''})"
