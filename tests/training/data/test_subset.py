import numpy as np
import pytest

from keras_canon.training.data import load
from keras_canon.zoo import CanonError

NAME = "synthetic:classes=5,size=8,channels=1,examples=200"


@pytest.fixture(scope="module")
def whole(data_dir):
    return load(NAME, data_dir=data_dir)


def test_classes_are_numbered_anew_and_keep_their_pictures(whole, data_dir):
    part = load(f"{NAME}[classes=1+3-4]", data_dir=data_dir)
    assert part.class_names == ("stripes_01", "stripes_03", "stripes_04")
    assert part.name == f"{NAME}[classes=1+3-4]"
    for name, split in part.splits.items():
        old = whole.splits[name]
        kept = np.isin(old.labels, [1, 3, 4])
        assert split.ids.tolist() == old.ids[kept].tolist()
        assert split.labels.tolist() == np.searchsorted([1, 3, 4], old.labels[kept]).tolist()
        example = next(iter(split.dataset(np.array([2]))))
        np.testing.assert_array_equal(example["image"], old.image(int(np.flatnonzero(kept)[2])))
    assert part.facts["counts"]["test"] == dict.fromkeys(part.class_names, 8)
    assert part.facts["subset"] == {"classes": "1+3-4"}


def test_classes_by_name(data_dir):
    assert load(f"{NAME}[classes=stripes_04+stripes_00]", data_dir=data_dir).class_names == ("stripes_00", "stripes_04")


def test_the_digits_are_names_first(data_dir):
    assert load("digits[classes=5-9]", data_dir=data_dir).class_names == tuple("56789")


def test_per_class_caps_train_and_validation_and_leaves_test(whole, data_dir):
    part = load(f"{NAME}[per_class=3]", data_dir=data_dir)
    assert np.bincount(part.train.labels).tolist() == [3] * 5
    assert np.bincount(part.validation.labels).max() <= 3
    np.testing.assert_array_equal(part.test.ids, whole.test.ids)
    assert set(part.train.ids) <= set(whole.train.ids)
    again = load(f"{NAME}[per_class=3]", data_dir=data_dir)
    np.testing.assert_array_equal(again.train.ids, part.train.ids)
    larger = load(f"{NAME}[per_class=5]", data_dir=data_dir)
    assert set(part.train.ids) < set(larger.train.ids), "20 a class are among 50 a class"


def test_the_seed_chooses(data_dir):
    first, second = (load(f"{NAME}[per_class=3]", seed=seed, data_dir=data_dir) for seed in (0, 1))
    assert set(first.train.ids) != set(second.train.ids)


def test_more_than_there_are_is_all(whole, data_dir):
    np.testing.assert_array_equal(load(f"{NAME}[per_class=999]", data_dir=data_dir).train.ids, whole.train.ids)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("classes=0-5", r"numbers from 0 to 4, .* got '0-5'"),
        ("classes=3-1", "got '3-1'"),
        ("classes=cat", "got 'cat'"),
        ("classes=2", "at least two classes, got '2'"),
    ],
)
def test_bad_classes_are_refused(options, message, data_dir):
    with pytest.raises(CanonError, match=message):
        load(f"{NAME}[{options}]", data_dir=data_dir)
