"""A folder of images as data: which pictures are read, and which class each has."""

import numpy as np
import pytest
import tensorflow as tf

from keras_canon.serving.bundle import TensorSpec
from keras_canon.serving.samples import read_samples
from keras_canon.zoo import CanonError
from keras_canon.zoo.records import Preprocessing

SPECS = {"images": TensorSpec("float32", (None, 4, 4, 3), "x:0")}
PREPARATION = Preprocessing(size=(4, 4))


def write(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(tf.io.encode_png(np.zeros((4, 4, 3), "uint8")).numpy())


def test_hidden_folders_are_passed_over(tmp_path):
    folder = tmp_path / ".cache" / "photos"
    for name in ("cat/1.png", "dog/1.png", "dog/.ipynb_checkpoints/1-checkpoint.png", "dog/.2.png"):
        write(folder / name)
    samples = read_samples(folder, SPECS, PREPARATION, ("cat", "dog"))
    assert samples.targets is not None
    assert samples.targets.tolist() == [0, 1]


def test_a_folder_that_is_no_class_is_named_unless_none_is(tmp_path):
    for name in ("cat/1.png", "cats/1.png"):
        write(tmp_path / name)
    with pytest.raises(CanonError, match="some folders of images are no class of the model: 'cats'"):
        read_samples(tmp_path, SPECS, PREPARATION, ("cat", "dog"))
    assert read_samples(tmp_path, SPECS, PREPARATION, ()).targets is None


def test_a_class_index_beyond_the_classes_is_refused():
    images = np.zeros((2, 4, 4, 3), "float32")
    for targets, labels, words in (([0, 2], ("cat", "dog"), "indices 0 to 1, got 0 to 2"), ([-1, 0], (), "0 or above, got -1 to 0")):
        with pytest.raises(CanonError, match=words):
            read_samples((images, np.array(targets)), SPECS, PREPARATION, labels)
