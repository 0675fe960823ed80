import numpy as np
import pytest
from sklearn.datasets import load_digits

from keras_canon.training.data import load
from keras_canon.training.data.splits import digests_of
from keras_canon.zoo import CanonError


@pytest.fixture(scope="module")
def digits(data_dir):
    return load("digits", data_dir=data_dir)


def test_counts_names_and_shape(digits):
    assert {name: len(split) for name, split in digits.splits.items()} == {"train": 1257, "validation": 180, "test": 360}
    assert digits.class_names == tuple("0123456789")
    assert digits.num_classes == 10
    assert digits.image_shape == (8, 8, 1)
    assert digits.channels == 1
    assert digits.facts["version"] == "canon_digits/1.0.0"
    assert digits.facts["counts"]["validation"] == dict.fromkeys("0123456789", 18)
    assert sum(digits.facts["counts"]["test"].values()) == 360


def test_pictures_are_those_of_scikit_learn_stretched_to_255(digits):
    bunch = load_digits()
    expected = np.rint(bunch.images * 255 / 16).astype(np.uint8)[..., np.newaxis]
    label_of = dict(zip(digests_of(expected), bunch.target.tolist(), strict=True))
    got = {}
    for split in digits.splits.values():
        got |= dict(zip(digests_of(split.store.images[split.rows]), split.labels.tolist(), strict=True))
    assert got == label_of
    assert len(got) == 1797
    assert digits.train.store.images.max() == 255


def test_splits_share_no_example_and_no_content(digits):
    ids = [set(split.ids.tolist()) for split in digits.splits.values()]
    assert sum(map(len, ids)) == len(set.union(*ids)) == 1797
    contents = [set(digests_of(split.store.images[split.rows])) for split in digits.splits.values()]
    assert sum(map(len, contents)) == len(set.union(*contents)) == 1797


def test_equal_arguments_give_equal_splits(digits, data_dir):
    again = load("digits", data_dir=data_dir)
    for name, split in digits.splits.items():
        np.testing.assert_array_equal(again.splits[name].ids, split.ids)
        np.testing.assert_array_equal(again.splits[name].labels, split.labels)


def test_seed_moves_validation_and_never_test(digits, data_dir):
    other = load("digits", seed=1, data_dir=data_dir)
    assert len(set(digits.validation.ids) & set(other.validation.ids)) < 60
    np.testing.assert_array_equal(other.test.store.images, digits.test.store.images)
    np.testing.assert_array_equal(other.test.ids, digits.test.ids)


def test_validation_share(data_dir):
    dataset = load("digits", validation=0.3, data_dir=data_dir)
    assert (len(dataset.train), len(dataset.validation), len(dataset.test)) == (1006, 431, 360)


def test_store_and_pipeline_agree(digits):
    for element in digits.validation.dataset().take(20):
        position = int(element["index"])
        np.testing.assert_array_equal(element["image"], digits.validation.store.images[digits.validation.rows[position]])
        assert int(element["label"]) == digits.validation.labels[position]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"seed": "0"}, "seed must be an integer"),
        ({"validation": 1}, "validation must be a share"),
        ({"test": 0}, "test must be a share"),
        ({"unreadable": "ignore"}, "unreadable must be 'error' or 'skip'"),
    ],
)
def test_bad_option_is_refused(arguments, message, data_dir):
    with pytest.raises(CanonError, match=message):
        load("digits", data_dir=data_dir, **arguments)
