import numpy as np
import pytest
from sklearn.neighbors import NearestCentroid

from keras_canon.training.data import load
from keras_canon.training.data.synthetic import SyntheticOptions, picture
from keras_canon.zoo import CanonError

NAME = "synthetic:classes=4,size=12,channels=3,examples=200"


def test_options_decide_shape_and_counts(data_dir):
    dataset = load(NAME, data_dir=data_dir)
    assert dataset.image_shape == (12, 12, 3)
    assert dataset.channels == 3
    assert dataset.class_names == ("stripes_00", "stripes_01", "stripes_02", "stripes_03")
    assert {name: len(split) for name, split in dataset.splits.items()} == {"train": 144, "validation": 16, "test": 40}


def test_defaults():
    assert SyntheticOptions.parse("") == SyntheticOptions(classes=10, size=28, channels=1, examples=1000)


def test_the_same_number_gives_the_same_picture():
    options = SyntheticOptions()
    np.testing.assert_array_equal(picture(17, options), picture(17, options))
    assert (picture(17, options) != picture(27, options)).any()


def test_a_simple_classifier_learns_it():
    options = SyntheticOptions(classes=10, size=16, examples=500)
    images = np.stack([picture(row, options) for row in range(500)]).reshape(500, -1) / 255
    labels = np.arange(500) % 10
    model = NearestCentroid().fit(images[:400], labels[:400])
    assert model.score(images[400:], labels[400:]) > 0.9


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("classes=1", "classes of 2 to 100, got 1"),
        ("size=3", "size of 4 to 512, got 3"),
        ("channels=2", "channels of 1 or 3, got 2"),
        ("examples=99", "examples of 100 to 1000000, got 99"),
        ("colour=1", "whole numbers for classes, size, channels, examples, .* got 'colour=1'"),
        ("classes", "got 'classes'"),
        ("classes=x", "got 'classes=x'"),
        ("classes=-4", "got 'classes=-4'"),
    ],
)
def test_bad_options_are_refused(argument, message, data_dir):
    with pytest.raises(CanonError, match=message):
        load(f"synthetic:{argument}", data_dir=data_dir)
