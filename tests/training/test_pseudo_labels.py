"""Pseudo-labels: few labels and many pictures without."""

import dataclasses

import keras
import numpy as np
import pytest
from PIL import Image

from keras_canon import training, zoo
from keras_canon.training.data import load, load_unlabelled
from keras_canon.training.pseudo_labels import _Mixture, _sure

DATA = "synthetic:classes=4,size=12,channels=1,examples=200"
HOW = training.ShortTraining(epochs=8, batch_size=8, learning_rate=3e-3)


def fresh():
    keras.utils.set_random_seed(0)
    return zoo.create("lenet5_modern", num_classes=4)


@pytest.mark.slow
def test_rounds_take_in_pictures_and_the_best_one_is_kept():
    few, unlabelled = load(f"{DATA}[per_class=4]"), load_unlabelled(DATA)
    assert set(unlabelled.labels) == {-1}
    best, rounds = training.pseudo_label_rounds(fresh, few, unlabelled, rounds=1, threshold=0.6, how=HOW)
    assert [item.number for item in rounds] == [0, 1]
    assert rounds[0].pseudo_labels == 0
    assert rounds[1].pseudo_labels > 20
    assert min(item.validation_loss for item in rounds) == pytest.approx(training.evaluate(best, few, "validation").cross_entropy, abs=1e-5)
    assert best.record.weights.startswith("pseudo-labels on ")


@pytest.mark.slow
def test_pictures_without_labels_help_on_digits():
    """Five labels a class; the mean of three seeds on the test split, with and without 1,257 pictures without labels."""
    gains = []
    for seed in range(3):

        def make(seed=seed):
            keras.utils.set_random_seed(seed)
            return zoo.create("lenet5_modern", num_classes=10)

        data = load("digits[per_class=5]", seed=seed)
        how = training.ShortTraining(epochs=30, batch_size=16, learning_rate=3e-3, seed=seed)
        alone = make()
        training.distil(alone, make(), data, share=0.0, how=how)  # the labels alone
        best, rounds = training.pseudo_label_rounds(make, data, load_unlabelled("digits"), rounds=3, threshold=0.9, how=how)
        figures = [training.evaluate(model, data).accuracy for model in (alone, best)]
        print(
            f"seed {seed}: {figures[0]:.4f} on labels alone, {figures[1]:.4f} with pseudo-labels ({rounds[-1].pseudo_labels} in the last)"
        )
        gains.append(figures[1] - figures[0])
    assert np.mean(gains) > 0.0


def test_sure_ones_are_balanced_and_carry_the_models_labels():
    unlabelled, model = load_unlabelled(DATA), fresh()
    taken = _sure(model, unlabelled, model.record.preprocessing, 1e-6)
    images = zoo.preprocess(taken.store.images[taken.rows[:5]], model)
    np.testing.assert_array_equal(model(images).numpy().argmax(1), taken.labels[:5])
    assert np.bincount(taken.labels).max() <= -(-len(unlabelled) // 4)
    assert len(_sure(model, unlabelled, model.record.preprocessing, 1.0)) == 0
    assert taken.dataset().cardinality() == len(taken)


def test_a_mixture_gives_every_example_once_an_epoch():
    data, model = load(DATA), fresh()
    other = dataclasses.replace(data.validation, labels=data.validation.labels + 10)
    mixture = _Mixture([data.train, other], model.record.preprocessing, HOW, None)
    batches = list(mixture.batches(0))
    labels = np.concatenate([labels for _, labels in batches])
    assert sorted(labels.tolist()) == sorted([*data.train.labels.tolist(), *other.labels.tolist()])
    assert len(set(labels[:64] >= 10)) == 2, "the two are shuffled among one another"
    again = np.concatenate([labels for _, labels in mixture.batches(0)])
    np.testing.assert_array_equal(again, labels)
    assert (np.concatenate([labels for _, labels in mixture.batches(1)]) != labels).any()
    found = np.flatnonzero(labels >= 10)[0]
    image = np.concatenate([images for images, _ in batches])[found]
    candidates = zoo.preprocess(other.store.images[other.rows[other.labels == labels[found]]], model).numpy()
    assert np.abs(candidates - image).max(axis=(1, 2, 3)).min() < 1e-6


def test_a_folder_without_classes(tmp_path):
    for number in range(3):
        path = tmp_path / "photos" / "deep" / f"{number}.PNG"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.full((5, 6 + number, 3), number, "uint8")).save(path)
    (tmp_path / "photos" / "bad.jpg").write_text("no picture")
    with pytest.warns(UserWarning, match=r"1 pictures .* cannot be decoded and are left out: bad\.jpg"):
        split = load_unlabelled(tmp_path / "photos", data_dir=tmp_path / "prepared")
    assert split.ids.tolist() == ["deep/0.PNG", "deep/1.PNG", "deep/2.PNG"]
    assert [int(split.image(position).max()) for position in range(3)] == [0, 1, 2]
    (tmp_path / "none").mkdir()
    with pytest.raises(zoo.CanonError, match="holds no picture"):
        load_unlabelled(tmp_path / "none")


@pytest.mark.parametrize(("options", "message"), [({"rounds": 0}, "rounds must be"), ({"threshold": 1.5}, "threshold must be")])
def test_bad_arguments(options, message):
    with pytest.raises(zoo.CanonError, match=message):
        training.pseudo_label_rounds(fresh, DATA, None, **options)
