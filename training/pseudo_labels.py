"""Pseudo-labelling: a model labels pictures that nobody has labelled, and learns from those that it is sure of."""

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import keras
import numpy as np
import tensorflow as tf

from ..zoo.errors import CanonError
from ..zoo.model import Model
from ..zoo.preprocessing import apply_preprocessing
from ..zoo.records import Preprocessing
from .augmentation import Augmentation
from .data import Dataset, Split
from .evaluation import evaluate
from .few_labels import ShortTraining, checked, refuse_mixed
from .losses import CrossEntropy
from .pipeline import batches as split_batches
from .pipeline import epoch_order
from .steps import compiled


@dataclass(frozen=True, eq=False)
class Round:
    """One round.

    Args:
        number: 0 trains on the labels alone.
        pseudo_labels: how many pictures without labels were taken in.
        validation_accuracy: after training.
        validation_loss: mean cross-entropy after training.
    """

    number: int
    pseudo_labels: int
    validation_accuracy: float
    validation_loss: float


def pseudo_label_rounds(
    make_model: Callable[[], Model],
    data: Dataset | str,
    unlabelled: Split,
    *,
    rounds: int = 3,
    threshold: float = 0.9,
    how: ShortTraining | None = None,
    augmentation: Augmentation | None = None,
) -> tuple[Model, list[Round]]:
    """Train on the labels, label what the model is sure of, train a new model on both, and so on.

    Every round starts from a new model, so that early mistakes are not carried on in the weights. No class gives more than an equal
    part of the pictures that the model is sure of: else a class that is easy would crowd out the others.

    Args:
        make_model: returns a model to start each round from, such as one with pretrained weights.
        data: labelled; a data set or its name.
        unlabelled: more pictures, as `data.load_unlabelled` returns them; labels that they have are not looked at.
        rounds: how often labels are given, at least 1.
        threshold: least probability of a label that is taken, above 0 and at most 1.
        how: epochs and the like; None for the defaults.
        augmentation: changes of the pictures; None for none.

    Returns:
        the model of the round with the lowest validation loss, and all rounds.

    Raises:
        CanonError: (a ValueError) for a bad threshold or number of rounds, a model that does not fit the data, or augmentation that mixes
            labels.

    Reference:
        Lee, 2013, "Pseudo-Label: The Simple and Efficient Semi-Supervised Learning Method for Deep Neural Networks", section 2.
        There labels are given anew at each update; rounds and a threshold are those of Xie et al., 2020, "Self-Training With Noisy
        Student Improves ImageNet Classification", section 2, arXiv:1911.04252.
    """
    if isinstance(rounds, bool) or not isinstance(rounds, int) or rounds < 1:
        raise CanonError(f"rounds must be an integer of at least 1, got {rounds!r}.")
    if not 0.0 < threshold <= 1.0:
        raise CanonError(f"threshold must be above 0 and at most 1, got {threshold!r}.")
    refuse_mixed(augmentation)
    how = how or ShortTraining()
    best, found, taken = None, [], None
    for number in range(rounds + 1):
        model = make_model()
        preprocessing, data = checked(model, data)
        parts = [data.train] if taken is None or not len(taken) else [data.train, taken]
        validation = split_batches(data.validation, preprocessing, 256)
        read = _Mixture(parts, preprocessing, how, augmentation).batches
        how.fit(model, read, validation, CrossEntropy())
        model.update_record(labels=data.class_names, weights=f"pseudo-labels on {data.name}, round {number}")
        judged = evaluate(model, data, "validation")
        found.append(Round(number, 0 if taken is None else len(taken), judged.accuracy, judged.cross_entropy))
        if best is None or judged.cross_entropy < min(item.validation_loss for item in found[:-1]):
            best = model
        if number < rounds:
            taken = _sure(model, unlabelled, preprocessing, threshold)
    assert best is not None
    return best, found


@dataclass(frozen=True)
class _Mixture:
    """Examples of several splits in one shuffled order."""

    splits: Sequence[Split]
    preprocessing: Preprocessing
    how: ShortTraining
    augmentation: Augmentation | None

    def batches(self, epoch: int) -> tf.data.Dataset:
        """Return the batches of an epoch."""
        sizes = [len(split) for split in self.splits]
        order = epoch_order(sum(sizes), self.how.seed, epoch)
        starts = np.cumsum([0, *sizes])
        which = np.searchsorted(starts, order, side="right") - 1  # the split of each position
        parts = []
        for number, split in enumerate(self.splits):
            positions = order[which == number] - starts[number]
            # one example at a time: pictures of two splits may differ in shape until they are prepared
            prepared = split.dataset(positions).map(self._prepare(epoch), num_parallel_calls=tf.data.AUTOTUNE, deterministic=True)
            parts.append(prepared)
        mixed = tf.data.Dataset.choose_from_datasets(parts, tf.data.Dataset.from_tensor_slices(which.astype("int64")))
        return mixed.batch(self.how.batch_size).prefetch(tf.data.AUTOTUNE)

    def _prepare(self, epoch: int):
        def prepare(example):
            images, index = example["image"][None], example["index"][None]
            if self.augmentation is not None:
                images = self.augmentation.pictures(images, index, tf.constant(epoch, "int64"))
            return apply_preprocessing(images, self.preprocessing)[0], example["label"]

        return prepare


def _sure(model: keras.Model, unlabelled: Split, preprocessing: Preprocessing, threshold: float) -> Split:
    """Return the pictures that the model is sure of, with its labels, balanced."""
    pictures = split_batches(unlabelled, preprocessing, 256)
    forward = compiled(
        lambda images: tf.nn.softmax(tf.cast(model(images, training=False), "float32")), tf.nest.flatten(pictures.element_spec)[:1]
    )
    probabilities = np.concatenate([forward(images).numpy() for images, _ in pictures])
    labels, confidence = probabilities.argmax(axis=1), probabilities.max(axis=1)
    kept = np.flatnonzero(confidence >= threshold)
    cap = -(-len(kept) // probabilities.shape[1])  # an equal part
    rows = []
    for label in range(probabilities.shape[1]):
        mine = kept[labels[kept] == label]
        rows.append(mine[np.argsort(-confidence[mine], kind="stable")][: max(cap, 1)])
    chosen = np.sort(np.concatenate(rows))
    return dataclasses.replace(unlabelled, labels=labels[chosen].astype(np.int64), ids=unlabelled.ids[chosen], rows=unlabelled.rows[chosen])
