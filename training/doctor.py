"""Sanity checks of a recipe: what is cheap to find before training and dear to find after it."""

import itertools
import math
import platform
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import keras
import numpy as np
import tensorflow as tf

from ..zoo.errors import CanonError
from ..zoo.model import Model
from ..zoo.records import Preprocessing
from .cross_entropy import CrossEntropy, accuracy
from .data import Dataset, Split
from .environment import has_onednn
from .gradient_norms import probe
from .memory_batches import MemoryBatches
from .pipeline import batches
from .steps import Totals, TrainStep

_PROBE = 32  # examples of the batch that is looked at
_NAMED = 3
_OVERFIT_EXAMPLES, _OVERFIT_UPDATES, _OVERFIT_SECONDS = 16, 200, 60.0
_TIMED = 20


@dataclass(frozen=True)
class Finding:
    """What one check found.

    Args:
        check: its name.
        verdict: "ok", "warning", or "error" for what makes training pointless.
        sentence: what was found and, unless all is well, what to do.
    """

    check: str
    verdict: str
    sentence: str


def first_look(model: Model, data: Dataset) -> list[Finding]:
    """Make the checks that take a moment, as every run does before its first update; the model is left as it was.

    Args:
        model: compiled, untrained.
        data: what it will be trained on.
    """
    findings = [check_labels(split, data.num_classes) for split in data.splits.values()]
    if any(finding.verdict == "error" for finding in findings):
        return findings
    preprocessing = model.record.preprocessing
    assert preprocessing is not None  # recipes train on images
    inputs, labels = probe_batch(data.train, preprocessing)
    findings.append(check_inputs(inputs, preprocessing))
    losses, gradients = probe(model, inputs, labels)
    return [*findings, check_first_loss(model.loss, losses, data.num_classes), check_gradients(model, gradients)]


def probe_batch(split: Split, preprocessing: Preprocessing, examples: int = _PROBE) -> tuple[tf.Tensor, tf.Tensor]:
    """Return a batch of prepared pictures and labels from all over a split."""
    order = np.linspace(0, len(split) - 1, min(examples, len(split))).astype("int64")
    return next(iter(batches(split, preprocessing, len(order), order)))


def check_labels(split: Split, classes: int) -> Finding:
    """Compare labels with the number of classes."""
    check, labels = f"labels of {split.name}", np.asarray(split.labels)
    if labels.size and not 0 <= labels.min() <= labels.max() < classes:
        sentence = f"Labels run from {labels.min()} to {labels.max()}, but the {classes} classes are 0 to {classes - 1}: number them anew."
        return Finding(check, "error", sentence)
    seen = len(np.unique(labels))
    if split.name == "train" and seen < classes:
        sentence = f"{classes - seen} of {classes} classes have no training example: leave them out or add examples."
        return Finding(check, "warning", sentence)
    return Finding(check, "ok", f"{len(labels):,} labels of {seen} classes.")


def check_inputs(inputs, preprocessing: Preprocessing) -> Finding:
    """Compare prepared pictures with what the model's preprocessing makes of pixels from 0 to 255."""
    check, values = "inputs", np.asarray(inputs, "float64")
    if not np.all(np.isfinite(values)):
        return Finding(check, "error", "Prepared pictures hold values that are no numbers: look for damaged files.")
    corners = [(pixel * preprocessing.scale - np.asarray(preprocessing.mean)) / np.asarray(preprocessing.std) for pixel in (0.0, 255.0)]
    low, high = float(np.min(corners)), float(np.max(corners))
    used = (values.max() - values.min()) / (high - low)
    found = f"inputs run from {values.min():.3g} to {values.max():.3g}, and the model expects {low:.3g} to {high:.3g}"
    if used < 0.02:
        return Finding(check, "warning", f"All {found}: give pixels from 0 to 255, not yet scaled.")
    slack = 0.2 * (high - low)  # resizing with cubic curves goes beyond the range at edges
    if values.min() < low - slack or values.max() > high + slack:
        return Finding(check, "warning", f"The {found}: give pixels from 0 to 255.")
    return Finding(check, "ok", f"The {found}; mean {values.mean():.3g}, deviation {values.std():.3g}.")


def check_first_loss(loss, losses, classes: int) -> Finding:
    """Compare the loss of untrained weights with that of a guess."""
    check, value = "loss at start", float(np.mean(losses))
    if not math.isfinite(value):
        return Finding(
            check, "error", f"The loss of the untrained model is {value}: look at the initial weights and the scale of the inputs."
        )
    if not isinstance(loss, CrossEntropy | keras.losses.SparseCategoricalCrossentropy):
        return Finding(check, "ok", f"The loss of the untrained model is {value:.3f}; {type(loss).__name__} has no value of a guess.")
    guess = math.log(classes)
    found = f"the untrained model has a loss of {value:.3f}, and a guess among {classes} classes has ln {classes} = {guess:.3f}"
    if value > 1.5 * guess + 1.0:
        return Finding(check, "warning", f"{_upper(found)}: make the initial weights of the last layer or the inputs smaller.")
    if value < 0.5 * guess:
        return Finding(check, "warning", f"{_upper(found)}: look for labels among the inputs, or for classes that hardly occur.")
    return Finding(check, "ok", f"{_upper(found)}.")


def check_gradients(model: keras.Model, gradients: Iterable) -> Finding:
    """Look for weights that the loss does not depend on."""
    unreached, wild = [], []
    for weight, gradient in zip(model.trainable_weights, gradients, strict=True):
        values = None if gradient is None else np.asarray(tf.convert_to_tensor(gradient), "float64")
        if values is None or not values.any():
            unreached.append(weight.path)
        elif not np.all(np.isfinite(values)):
            wild.append(weight.path)
    if wild:
        return Finding("gradients", "error", f"The gradient of {_names(wild)} is not finite: look at the scale of the inputs.")
    if unreached:
        sentence = f"No gradient reaches {_names(unreached)}: connect it to the output, or look for units that are off for every input."
        return Finding("gradients", "warning", sentence)
    return Finding("gradients", "ok", f"Gradients reach all {len(model.trainable_weights)} weights.")


def check_overfit(model: Model, data: Dataset) -> Finding:
    """Train on one small batch, which any sound model learns by heart; the model is changed.

    Args:
        model: compiled with an optimizer whose learning rate is a number.
        data: where the batch comes from.
    """
    preprocessing = model.record.preprocessing
    assert preprocessing is not None
    inputs, labels = probe_batch(data.train, preprocessing, _OVERFIT_EXAMPLES)
    totals = Totals(["loss", "accuracy"])
    signature = tf.nest.map_structure(lambda tensor: tf.TensorSpec(tensor.shape, tensor.dtype), (inputs, labels))
    step = TrainStep(model, {"accuracy": accuracy}, totals, signature)
    began, first, means = time.perf_counter(), None, {}
    updates = 0
    try:
        while updates < _OVERFIT_UPDATES and means.get("accuracy") != 1.0 and time.perf_counter() - began < _OVERFIT_SECONDS:
            totals.reset()
            step(inputs, labels)
            updates += 1
            means = totals.means()
            first = means["loss"] if first is None else first
    except ArithmeticError:
        return Finding(
            "overfit", "error", f"The loss was no longer finite after {updates} updates on one batch: lower optimizer.learning_rate."
        )
    found = f"{len(labels)} examples reached an accuracy of {means['accuracy']:.2f} in {updates} updates"
    if means["accuracy"] < 1.0:
        return Finding(
            "overfit", "warning", f"Only {found} (loss {first:.3g} to {means['loss']:.3g}): try another optimizer.learning_rate."
        )
    return Finding("overfit", "ok", f"{_upper(found)}.")


def check_speed(model: Model, dataset: tf.data.Dataset | MemoryBatches) -> Finding:
    """Compare the speed of the input pipeline with that of the update; the model is changed.

    Args:
        model: compiled.
        dataset: the batches of an epoch, as a run reads them.
    """
    step = TrainStep(model, {}, Totals(["loss"]), dataset.element_spec)
    iterator = itertools.islice(itertools.chain.from_iterable(itertools.repeat(dataset)), _TIMED + 1)
    inputs, labels = next(iterator)
    examples = int(tf.shape(tf.nest.flatten(labels)[0])[0])
    began = time.perf_counter()
    for _ in iterator:
        pass
    reading = (time.perf_counter() - began) / _TIMED
    try:
        step(inputs, labels)
        began = time.perf_counter()
        for _ in range(_TIMED):
            step(inputs, labels)
        rate = step(inputs, labels)
        float(rate)
    except ArithmeticError:
        return Finding(
            "speed", "warning", "The speed cannot be measured, since the loss does not stay finite: lower optimizer.learning_rate."
        )
    updating = (time.perf_counter() - began) / (_TIMED + 1)
    found = f"the input pipeline gives {examples / reading:,.0f} images a second, and the updates take {examples / updating:,.0f}"
    if reading > 0.9 * updating:
        cure = "prepare smaller pictures, use less costly [augment] keys, or give the machine more processor cores"
        return Finding("speed", "warning", f"{_upper(found)}: {cure}.")
    if platform.machine() in ("x86_64", "AMD64") and not has_onednn():
        found += "; TensorFlow has oneDNN switched off here, with which convolutions are mostly faster: try TF_ENABLE_ONEDNN_OPTS=1"
    return Finding("speed", "ok", f"{_upper(found)}.")


def refuse_errors(findings: Sequence[Finding]) -> None:
    """Raise what makes training pointless.

    Raises:
        CanonError: with the first error.
    """
    for finding in findings:
        if finding.verdict == "error":
            raise CanonError(finding.sentence)


def _names(paths: Sequence[str]) -> str:
    more = len(paths) - _NAMED
    return ", ".join(paths[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def _upper(sentence: str) -> str:
    return sentence[0].upper() + sentence[1:]
