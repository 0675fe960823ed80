"""Several questions about one picture: heads on one backbone, trained together."""

from collections.abc import Mapping

import keras
import numpy as np
import tensorflow as tf

from ..zoo.errors import CanonError, unknown_name
from ..zoo.model import Model
from .augmentation import Augmentation
from .data import Dataset, Split
from .features import feature_vectors
from .few_labels import ShortTraining, preprocessing_of, refuse_mixed
from .pipeline import batches as split_batches
from .pipeline import epoch_order, reader

NO_LABEL = -1


@keras.saving.register_keras_serializable(package="keras_canon")
class MultiTaskCrossEntropy(keras.losses.Loss):
    """Cross-entropy of several tasks, added up; an example counts only in the tasks that it has labels for.

    loss = sum over tasks t of w_t CE(label_t, softmax(logits_t))                   (1)

    Args:
        weights: w_t by task; 1 for tasks left out.
        **kwargs: passed on to `keras.losses.Loss`.

    Input shapes:
        labels (batch, tasks), integers in the order of the sorted names, -1 where there is none; a dict of logits (batch, classes_t)

    Output shape:
        the mean over the batch; (batch,) with `reduction="none"`

    Raises:
        ValueError: a weight below 0.

    Reference:
        Caruana, 1997, "Multitask Learning", section 1.2, doi:10.1023/A:1007379606734.
    """

    def __init__(self, weights=None, **kwargs):
        super().__init__(**kwargs)
        self.weights = {str(name): float(value) for name, value in (weights or {}).items()}
        for name, value in self.weights.items():
            if value < 0.0:
                raise ValueError(f"The weight of task {name!r} must be at least 0, got {value}.")

    def call(self, y_true, y_pred):
        """Return the loss of each example, (B,)."""
        ops = keras.ops
        total = 0.0
        for column, name in enumerate(sorted(y_pred)):
            labels, logits = ops.cast(y_true[:, column], "int32"), ops.cast(y_pred[name], "float32")
            # the one-hot row of a label that is missing is all zeros
            shares = ops.one_hot(ops.where(labels < 0, logits.shape[-1], labels), logits.shape[-1])
            total = total - self.weights.get(name, 1.0) * ops.sum(shares * ops.log_softmax(logits), axis=-1)
        return total

    def get_config(self):
        """Return the arguments."""
        return {**super().get_config(), "weights": self.weights}


def multi_task_model(model: Model, tasks: Mapping[str, int], *, dropout: float = 0.0) -> keras.Model:
    """Return a model with one head a task on the features of a model, sharing its weights.

    Args:
        model: a `zoo.Model`; its own head is left out.
        tasks: number of classes by name of the task.
        dropout: rate of a dropout before all heads.

    Returns:
        a `keras.Model` from the same input to a dict of logits (B, classes) by task.

    Raises:
        CanonError: (a ValueError) for no tasks, or one with fewer than two classes.

    Example:
        >>> from keras_canon import training, zoo
        >>> model = training.multi_task_model(zoo.create("lenet5_modern"), {"digit": 10, "odd": 2})
        >>> sorted(model.output)
        ['digit', 'odd']
    """
    if not tasks:
        raise CanonError("A model of several tasks needs at least one, such as {'species': 5}.")
    for name, classes in tasks.items():
        if isinstance(classes, bool) or not isinstance(classes, int) or classes < 2:
            raise CanonError(f"Task {name!r} must have at least 2 classes, got {classes!r}.")
    x = feature_vectors(model).output
    if dropout:
        x = keras.layers.Dropout(dropout, name="heads_dropout")(x)
    heads = {name: keras.layers.Dense(classes, name=f"{name}_logits", dtype="float32")(x) for name, classes in sorted(tasks.items())}
    return keras.Model(model.input, heads, name=f"{model.name}_tasks")


def fit_tasks(
    model: Model,
    tasks: keras.Model,
    data: Dataset,
    labels: Mapping[str, Mapping[str, np.ndarray]],
    *,
    weights: Mapping[str, float] | None = None,
    how: ShortTraining | None = None,
    augmentation: Augmentation | None = None,
) -> dict[str, list[float]]:
    """Train a model of several tasks in place.

    Args:
        model: the one that `multi_task_model` was called with; its preprocessing is used.
        tasks: what it returned.
        data: pictures; its own labels are not used.
        labels: by split ("train" and "validation") and task, class numbers (N,), -1 where an example has no label for the task.
        weights: of the losses by task; 1 for tasks left out.
        how: epochs and the like; None for the defaults.
        augmentation: changes of the pictures that leave every label right; None for none.

    Returns:
        the figures by name, one for each epoch.

    Raises:
        CanonError: (a ValueError) for labels of unknown tasks, missing ones, ones that do not fit, or augmentation that mixes them.
    """
    refuse_mixed(augmentation)
    how, preprocessing = how or ShortTraining(), preprocessing_of(model)
    if missing := [name for name in ("train", "validation") if name not in labels]:
        raise CanonError(f"There are no labels for {' and '.join(missing)}: give those of train and validation, by split and task.")
    columns = {name: _columns(data.splits[name], labels[name], tasks) for name in ("train", "validation")}
    for task in weights or {}:
        if task not in tasks.output:
            raise unknown_name("task", task, tasks.output)
    read = reader(data.train, preprocessing, how.batch_size, augmentation, memory=0)
    table = tf.constant(columns["train"])

    def batches(epoch: int) -> tf.data.Dataset:
        order = epoch_order(len(data.train), how.seed, epoch)
        targets = tf.data.Dataset.from_tensor_slices(tf.gather(table, order)).batch(how.batch_size)
        return tf.data.Dataset.zip(read(order, epoch), targets).map(lambda batch, target: (batch[0], target))

    pictures = split_batches(data.validation, preprocessing, 256)
    targets = tf.data.Dataset.from_tensor_slices(columns["validation"]).batch(256)
    validation = tf.data.Dataset.zip(pictures, targets).map(lambda batch, target: (batch[0], target))
    return how.fit(tasks, batches, validation, MultiTaskCrossEntropy(weights), {})


def task_accuracies(model: Model, tasks: keras.Model, split: Split, labels: Mapping[str, np.ndarray]) -> dict[str, float]:
    """Return the accuracy of each task over the examples of a split that have a label for it; nan where none has.

    Args:
        model: the trunk, whose preprocessing the pictures get.
        tasks: what `multi_task_model` returned.
        split: of a data set.
        labels: labels of each task by name, (examples,), as `fit_tasks` takes them.
    """
    columns = _columns(split, labels, tasks)
    answers = [tasks(images, training=False) for images, _ in split_batches(split, preprocessing_of(model), 256)]
    found = {}
    for column, name in enumerate(sorted(tasks.output)):
        predicted = np.concatenate([np.asarray(answer[name]).argmax(axis=1) for answer in answers])
        truth = columns[:, column]
        known = truth != NO_LABEL
        found[name] = float(np.mean(predicted[known] == truth[known])) if known.any() else float("nan")
    return found


def _columns(split: Split, labels: Mapping[str, np.ndarray], tasks: keras.Model) -> np.ndarray:
    """Return the labels of a split, int64 (N, tasks) in the order of the sorted names."""
    if sorted(labels) != sorted(tasks.output):
        raise CanonError(
            f"The tasks are {', '.join(sorted(tasks.output))}, but there are labels for {', '.join(sorted(labels)) or 'none'}."
        )
    columns = []
    for name in sorted(labels):
        values, classes = np.asarray(labels[name]), tasks.output[name].shape[-1]
        if values.shape != (len(split),):
            raise CanonError(f"Task {name!r} needs {len(split)} labels for {split.name}, got an array of shape {values.shape}.")
        if values.size and not NO_LABEL <= values.min() <= values.max() < classes:
            raise CanonError(f"Labels of task {name!r} must be from 0 to {classes - 1}, or -1, got {values.min()} to {values.max()}.")
        columns.append(values.astype(np.int64))
    return np.stack(columns, axis=1)
