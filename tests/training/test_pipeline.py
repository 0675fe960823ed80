"""Order and batches: case B39, and entering an epoch in its middle."""

import numpy as np
import pytest
from PIL import Image

from keras_canon.training.augmentation import Augmentation
from keras_canon.training.memory_batches import MemoryBatches
from keras_canon.training.pipeline import batches, epoch_order, load_data, reader
from keras_canon.training.sections import AugmentSection, DataSection
from keras_canon.zoo import CanonError, Preprocessing

PREPROCESSING = Preprocessing(size=(12, 12), channels=1)


@pytest.fixture(scope="module")
def data():
    return load_data(DataSection("synthetic:classes=4,size=8,channels=1,examples=100", seed=1))


def labels(dataset):
    return np.concatenate([batch.numpy() for _, batch in dataset])


def test_an_epochs_order_is_a_permutation_by_seed_and_number():
    first = epoch_order(100, seed=1, epoch=0)
    assert sorted(first) == list(range(100))
    np.testing.assert_array_equal(first, epoch_order(100, seed=1, epoch=0))
    for other in (epoch_order(100, seed=1, epoch=1), epoch_order(100, seed=2, epoch=0), epoch_order(100, seed=0, epoch=1)):
        assert not np.array_equal(first, other)


def test_b39_no_example_is_in_two_splits_on_any_pass(data):
    seen = {name: set() for name in data.splits}
    for epoch in range(2):
        for name, split in data.splits.items():
            order = epoch_order(len(split), 1, epoch)
            seen[name] |= {split.ids[int(example["index"])] for example in split.dataset(order)}
    assert [len(ids) for ids in seen.values()] == [len(split) for split in data.splits.values()]
    assert len(set().union(*seen.values())) == sum(map(len, data.splits.values()))


def test_b39_training_order_differs_between_epochs_and_validation_order_does_not(data):
    passes = [labels(batches(data.train, PREPROCESSING, 16, epoch_order(len(data.train), 1, epoch))) for epoch in (0, 1, 0)]
    assert not np.array_equal(passes[0], passes[1])
    np.testing.assert_array_equal(passes[0], passes[2])
    validation = batches(data.validation, PREPROCESSING, 16)
    np.testing.assert_array_equal(labels(validation), labels(validation))
    np.testing.assert_array_equal(labels(validation), data.validation.labels)


def test_an_epoch_can_be_entered_in_its_middle(data):
    order = epoch_order(len(data.train), 3, 5)
    whole = list(batches(data.train, PREPROCESSING, 16, order))
    rest = list(batches(data.train, PREPROCESSING, 16, order[32:]))
    assert len(rest) == len(whole) - 2
    for (images, numbers), (expected_images, expected_numbers) in zip(rest, whole[2:], strict=True):
        np.testing.assert_array_equal(images, expected_images)
        np.testing.assert_array_equal(numbers, expected_numbers)


def test_batches_are_prepared_and_the_last_one_is_short(data):
    found = list(batches(data.train, PREPROCESSING, 16))
    assert found[0][0].shape == (16, 12, 12, 1)
    assert found[-1][0].shape[0] == len(data.train) % 16 or 16
    assert 0.0 <= float(found[0][0].numpy().min()) <= float(found[0][0].numpy().max()) <= 1.0


@pytest.mark.parametrize("memory", [0, 2**30], ids=["prepared anew", "prepared once"])
def test_a_reader_gives_the_same_batches_from_memory_or_not(memory, data):
    read = reader(data.train, PREPROCESSING, 16, memory=memory)
    for order in (epoch_order(len(data.train), 1, 2)[7:], None):
        expected = batches(data.train, PREPROCESSING, 16, order)
        for found, right in zip(read(order), expected, strict=True):
            for one, other in zip(found, right, strict=True):
                np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    "section",
    [AugmentSection(flip_horizontal=True, crop_padding=1), AugmentSection(noise=2.0, mixup=0.4), AugmentSection(cutmix=1.0)],
    ids=["changed", "changed and mixed", "mixed"],
)
@pytest.mark.parametrize("memory", [10**4, 2**30], ids=["too much to keep", "kept where nothing changes"])
def test_changed_pictures_are_the_same_from_memory_or_from_a_pipeline(section, memory, data):
    augmentation = Augmentation(section, 3, 4)
    read = reader(data.train, PREPROCESSING, 16, augmentation, memory=memory)
    for epoch, order in enumerate((epoch_order(len(data.train), 1, 2)[7:], None)):
        found = read(order, epoch)
        expected = batches(data.train, PREPROCESSING, 16, order, augmentation, epoch)
        assert isinstance(found, MemoryBatches)
        assert tuple(found.element_spec) == tuple(expected.element_spec)
        for one, other in zip(found, expected, strict=True):
            for values, right in zip(one, other, strict=True):
                np.testing.assert_array_equal(values, right)


def test_pictures_of_many_sizes(tmp_path, monkeypatch):
    monkeypatch.setenv("KERAS_CANON_DATA", str(tmp_path / "prepared"))
    random = np.random.default_rng(0)
    for name in ("cat", "dog"):
        (tmp_path / "photos" / name).mkdir(parents=True)
        for number in range(12):
            pixels = random.integers(0, 256, (6 + number, 9, 3), dtype="uint8")
            Image.fromarray(pixels).save(tmp_path / "photos" / name / f"{number}.png")
    photos = load_data(DataSection(f"folder:{tmp_path / 'photos'}"))
    found = list(batches(photos.train, Preprocessing(size=(10, 10)), 4))
    assert all(images.shape[1:] == (10, 10, 3) for images, _ in found)
    assert sum(len(numbers) for _, numbers in found) == len(photos.train)


def test_a_data_set_that_cannot_be_had():
    with pytest.raises(CanonError, match="nowhere"):
        load_data(DataSection("folder:/nowhere"))
