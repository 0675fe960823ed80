"""Several heads on one backbone."""

import keras
import numpy as np
import pytest

from keras_canon import training, zoo
from keras_canon.training.augment_section import AugmentSection
from keras_canon.training.augmentation import Augmentation
from keras_canon.training.data import load
from keras_canon.training.multi_task import MultiTaskCrossEntropy, fit_tasks, multi_task_model
from keras_canon.zoo.errors import CanonError

DATA = "synthetic:classes=4,size=12,channels=1,examples=200"
TASKS = {"stripe": 4, "odd": 2}


@pytest.fixture(scope="module")
def data():
    return load(DATA)


def labels_of(split, missing=0.0):
    odd = split.labels % 2
    hidden = np.random.default_rng(0).random(len(split)) < missing
    return {"stripe": split.labels, "odd": np.where(hidden, -1, odd)}


def test_loss_by_hand_and_missing_labels_count_nothing():
    generator = np.random.default_rng(0)
    logits = {"a": generator.normal(size=(3, 2)), "b": generator.normal(size=(3, 4))}
    labels = np.array([[0, 3], [1, -1], [-1, -1]])  # columns: a, b

    def entropy(values, label):
        return 0.0 if label < 0 else np.log(np.exp(values).sum()) - values[label]

    expected = [entropy(logits["a"][row], labels[row, 0]) + 0.5 * entropy(logits["b"][row], labels[row, 1]) for row in range(3)]
    loss = MultiTaskCrossEntropy({"b": 0.5}, reduction="none")
    np.testing.assert_allclose(loss(labels, logits), expected, rtol=1e-5)
    assert MultiTaskCrossEntropy.from_config(loss.get_config()).weights == {"b": 0.5}


def test_both_tasks_are_learnt_although_half_of_one_tasks_labels_are_missing(data):
    keras.utils.set_random_seed(0)
    model = zoo.create("lenet5_modern", num_classes=4)
    tasks = training.multi_task_model(model, TASKS)
    labels = {"train": labels_of(data.train, 0.5), "validation": labels_of(data.validation)}
    how = training.ShortTraining(epochs=10, batch_size=16, learning_rate=3e-3)
    history = training.fit_tasks(model, tasks, data, labels, weights={"odd": 0.5}, how=how)
    assert history["val_loss"][-1] < history["val_loss"][0]
    found = training.task_accuracies(model, tasks, data.test, labels_of(data.test))
    assert found["stripe"] >= 0.9
    assert found["odd"] >= 0.9
    nothing = training.task_accuracies(model, tasks, data.test, {**labels_of(data.test), "odd": np.full(len(data.test), -1)})
    assert np.isnan(nothing["odd"])


def test_the_backbone_is_shared():
    model = zoo.create("lenet5_modern", num_classes=4)
    tasks = training.multi_task_model(model, TASKS, dropout=0.2)
    assert {name: output.shape for name, output in tasks.output.items()} == {"stripe": (None, 4), "odd": (None, 2)}
    shared = {id(weight) for weight in model.weights} & {id(weight) for weight in tasks.weights}
    assert len(shared) == len(model.weights) - 2, "all but the old head"


def test_what_does_not_fit_is_refused(data):
    model = zoo.create("lenet5_modern", num_classes=4)
    tasks = training.multi_task_model(model, TASKS)
    good = labels_of(data.train)
    for bad, message in (
        ({"stripe": good["stripe"]}, "The tasks are odd, stripe, but there are labels for stripe"),
        ({**good, "odd": good["odd"][:-1]}, r"Task 'odd' needs 144 labels for train, got an array of shape \(143,\)"),
        ({**good, "odd": good["stripe"]}, "Labels of task 'odd' must be from 0 to 1, or -1, got 0 to 3"),
    ):
        with pytest.raises(zoo.CanonError, match=message):
            training.fit_tasks(model, tasks, data, {"train": bad, "validation": labels_of(data.validation)})
    for heads in ({}, {"one": 1}):
        with pytest.raises(zoo.CanonError, match="at least"):
            training.multi_task_model(model, heads)


@pytest.mark.parametrize("way", ["tasks", "distil", "pseudo", "pretrain"])
def test_mixed_labels_are_refused_where_they_have_no_place(way):
    model, data = zoo.create("lenet5_modern", num_classes=4), load(DATA)
    mixed = Augmentation(AugmentSection(mixup=0.2), seed=0, classes=4)
    calls = {
        "tasks": lambda: fit_tasks(model, multi_task_model(model, TASKS), data, {}, augmentation=mixed),
        "distil": lambda: training.distil(model, model, data, augmentation=mixed),
        "pseudo": lambda: training.pseudo_label_rounds(lambda: model, data, data.train, augmentation=mixed),
        "pretrain": lambda: training.pretrain(model, data.train, augmentation=mixed),
    }
    with pytest.raises(CanonError, match="mixup and cutmix"):
        calls[way]()


def test_labels_of_a_split_that_are_missing():
    model, data = zoo.create("lenet5_modern", num_classes=4), load(DATA)
    with pytest.raises(CanonError, match="no labels for validation"):
        fit_tasks(model, multi_task_model(model, TASKS), data, {"train": {}})
