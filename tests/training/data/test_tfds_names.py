import numpy as np
import pytest
import tensorflow_datasets as tfds

from keras_canon.training.data import load
from keras_canon.zoo import CanonError

URL = "http://pictures.invalid/stamps.zip"


class CanonTestStamps(tfds.core.GeneratorBasedBuilder):
    """Pictures of different shapes with classes, and a validation split that is called so."""

    VERSION = tfds.core.Version("1.0.0")
    BUILDER_CONFIGS = [tfds.core.BuilderConfig(name="plain"), tfds.core.BuilderConfig(name="grey")]

    def _info(self):
        shape = (None, None, 3) if self.builder_config.name == "plain" else (6, 6, 1)
        features = {"image": tfds.features.Image(shape=shape), "label": tfds.features.ClassLabel(names=["red", "blue"]), "n": np.int64}
        return tfds.core.DatasetInfo(builder=self, description="Stamps.", features=tfds.features.FeaturesDict(features))

    def _split_generators(self, dl_manager):
        return {"train": self._generate_examples(0, 30), "validation": self._generate_examples(30, 36)}

    def _generate_examples(self, first, last):
        for number in range(first, last):
            yield number, {"image": self.picture(number), "label": number % 2, "n": number}

    def picture(self, number):
        shape = (5 + number % 3, 7, 3) if self.builder_config.name == "plain" else (6, 6, 1)
        return np.random.default_rng(number).integers(0, 256, shape, dtype="uint8")


class CanonTestNumbers(tfds.core.GeneratorBasedBuilder):
    """No pictures."""

    VERSION = tfds.core.Version("1.0.0")

    def _info(self):
        return tfds.core.DatasetInfo(builder=self, description="Numbers.", features=tfds.features.FeaturesDict({"n": np.int64}))

    def _split_generators(self, dl_manager):
        return {"train": self._generate_examples()}

    def _generate_examples(self):
        yield 0, {"n": 1}


class CanonTestContest(CanonTestStamps):
    """Test pictures without labels; no training picture of one class, and few of another."""

    BUILDER_CONFIGS = [tfds.core.BuilderConfig(name="plain"), tfds.core.BuilderConfig(name="torn")]

    def _info(self):
        features = {"image": tfds.features.Image(shape=(6, 6, 1)), "label": tfds.features.ClassLabel(names=["red", "blue", "green"])}
        return tfds.core.DatasetInfo(builder=self, description="Contest.", features=tfds.features.FeaturesDict(features))

    def _split_generators(self, dl_manager):
        torn = self.builder_config.name == "torn"
        return {"train": self._labelled([0] * 50 + [1] * 5), "test": self._labelled([-1] * 5 + [1] * torn)}

    def _labelled(self, labels):
        for number, label in enumerate(labels):
            yield number, {"image": np.full((6, 6, 1), number, "uint8"), "label": label}


class CanonTestRemote(CanonTestStamps):
    """Comes from an address."""

    url_infos = {URL: None}


def test_pictures_of_different_shapes_and_the_splits_that_exist(tmp_path):
    dataset = load("tfds:canon_test_stamps", data_dir=tmp_path)
    assert {name: len(split) for name, split in dataset.splits.items()} == {"train": 27, "validation": 6, "test": 3}
    assert dataset.class_names == ("red", "blue")
    assert dataset.image_shape is None
    assert dataset.channels == 3
    assert dataset.facts["version"] == "canon_test_stamps/plain/1.0.0"
    expected = {CanonTestStamps.picture(tfds.builder("canon_test_stamps", data_dir=tmp_path), n).tobytes(): n % 2 for n in range(36)}
    seen = {}
    for split in dataset.splits.values():
        for example in split.dataset():
            seen[example["image"].numpy().tobytes()] = int(example["label"])
    assert seen == expected


def test_a_config_and_grey_pictures_of_one_shape(tmp_path):
    dataset = load("tfds:canon_test_stamps/grey[per_class=5]", data_dir=tmp_path)
    assert dataset.image_shape == (6, 6, 1)
    assert dataset.channels == 1
    assert next(iter(dataset.train.dataset(batch_size=4)))["image"].shape == (4, 6, 6, 1)
    assert np.bincount(dataset.train.labels).tolist() == [5, 5]


def test_b50_prepared_needs_no_network_and_unprepared_is_one_sentence(tmp_path, connections):
    with pytest.raises(CanonError, match=r"canon_test_remote is not prepared in .*stamps\.zip cannot be reached") as caught:
        load("tfds:canon_test_remote", data_dir=tmp_path)
    assert str(tmp_path) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert connections
    connections.clear()
    first = load("tfds:canon_test_stamps", data_dir=tmp_path)
    again = load("tfds:canon_test_stamps", data_dir=tmp_path)
    assert again.train.ids.tolist() == first.train.ids.tolist()
    assert connections == []


def test_names_that_tfds_does_not_have(tmp_path, connections):
    with pytest.raises(CanonError, match="cannot give 'no_such_set'"):
        load("tfds:no_such_set", data_dir=tmp_path)
    with pytest.raises(CanonError, match="not one picture and one class label in each example, but n"):
        load("tfds:canon_test_numbers", data_dir=tmp_path)


def test_labels_that_are_none_and_classes_without_pictures_or_with_few(tmp_path):
    with pytest.raises(CanonError, match=r"no training example of green: .*\[classes=0-2\]"):
        load("tfds:canon_test_contest", data_dir=tmp_path)
    with pytest.warns(UserWarning, match="fewer than 5 training examples"), pytest.warns(UserWarning, match="strongly imbalanced"):
        dataset = load("tfds:canon_test_contest[classes=red+blue]", data_dir=tmp_path)
    assert set(dataset.facts["class_weights"]) == {"red", "blue"}
    assert min(dataset.test.labels) >= 0, "a part without labels is cut from train instead"
    assert sum(len(split) for split in dataset.splits.values()) == 55
    with pytest.raises(CanonError, match=r"labels in 'test' that are outside its 3 classes, 0 to 2: -1"):
        load("tfds:canon_test_contest/torn", data_dir=tmp_path)


def test_pictures_are_one_encoding_each(tmp_path):
    split = load("tfds:canon_test_stamps", data_dir=tmp_path).test
    assert all(isinstance(item, bytes) for item in split.store.encoded)
