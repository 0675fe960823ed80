"""Augmentation: the same for an example whatever batch it is in, and each change against a picture worked out by hand."""

import numpy as np
import pytest
import tensorflow as tf
from PIL import Image, ImageEnhance, ImageOps

from keras_canon.training import augmentation_colour as colour
from keras_canon.training.augment_section import AugmentSection
from keras_canon.training.augmentation import Augmentation
from keras_canon.training.augmentation_erase import cut_out, erase
from keras_canon.training.augmentation_geometry import flip_and_crop
from keras_canon.training.augmentation_mix import mix
from keras_canon.training.augmentation_rand import OPERATIONS, apply_operations
from keras_canon.training.augmentation_random import Draws
from keras_canon.training.pipeline import batches, epoch_order, load_data, reader
from keras_canon.training.sections import DataSection
from keras_canon.zoo import Preprocessing

EVERYTHING = AugmentSection(
    flip_horizontal=True,
    flip_vertical=True,
    crop_padding=2,
    crop_fill="reflect",
    randaugment_ops=2,
    randaugment_magnitude=7.0,
    brightness=0.3,
    contrast=0.3,
    saturation=0.3,
    hue=0.1,
    noise=8.0,
    cutout=5,
    erasing=0.5,
    mixup=0.4,
    cutmix=1.0,
)


def pictures(count=12, size=9, channels=3, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (count, size, size, channels), dtype="uint8")


def draws(count, seed=0, epoch=0):
    return Draws(seed, tf.constant(epoch, "int64"), tf.range(count))


@pytest.fixture(scope="module")
def everything():
    return Augmentation(EVERYTHING, seed=5, classes=4)


def test_a_picture_changes_in_the_same_way_in_any_batch_and_order(everything):
    images, index = pictures(), np.arange(100, 112)
    whole = everything.pictures(images, index, 3).numpy()
    order = np.random.default_rng(1).permutation(12)
    np.testing.assert_array_equal(everything.pictures(images[order], index[order], 3), whole[order])
    for start in (0, 5, 11):
        np.testing.assert_array_equal(everything.pictures(images[start:], index[start:], 3), whole[start:])
    assert whole.dtype == np.uint8


def test_epoch_seed_and_index_each_change_the_picture(everything):
    images = np.repeat(pictures(1), 12, axis=0)
    first = everything.pictures(images, np.arange(12), 0).numpy()
    assert len({image.tobytes() for image in first}) == 12
    other_epoch = everything.pictures(images, np.arange(12), 1).numpy()
    other_seed = Augmentation(EVERYTHING, seed=6, classes=4).pictures(images, np.arange(12), 0).numpy()
    for other in (other_epoch, other_seed):
        assert sum(np.array_equal(one, two) for one, two in zip(first, other, strict=True)) == 0


def test_one_more_change_leaves_the_draws_of_the_others_alone():
    images, index = pictures(), np.arange(12)
    flips = Augmentation(AugmentSection(flip_horizontal=True), 0, 4).pictures(images, index, 0).numpy()
    both = Augmentation(AugmentSection(flip_horizontal=True, cutout=3), 0, 4).pictures(images, index, 0).numpy()
    left = both != 0
    np.testing.assert_array_equal(both[left], flips[left])


def test_draws_are_even_and_without_correlation():
    many = draws(20_000, seed=3, epoch=2)
    values = np.stack([many.uniform(stream).numpy() for stream in range(4)])
    assert values.min() >= 0.0
    assert values.max() < 1.0
    np.testing.assert_allclose(values.mean(axis=1), 0.5, atol=0.01)
    np.testing.assert_allclose(values.var(axis=1), 1.0 / 12.0, atol=0.003)
    counts = np.stack([np.histogram(row, 16, (0.0, 1.0))[0] for row in values])
    assert np.all(((counts - 1250.0) ** 2 / 1250.0).sum(axis=1) < 45.0)  # chi-square, 15 degrees of freedom: 38 at p = 0.001
    np.testing.assert_allclose(np.corrcoef(values), np.eye(4), atol=0.03)
    assert abs(np.corrcoef(values[0][1:], values[0][:-1])[0, 1]) < 0.03
    epochs = [draws(20_000, seed=3, epoch=epoch).uniform(0).numpy() for epoch in (0, 1)]
    assert abs(np.corrcoef(epochs)[0, 1]) < 0.03
    normal = draws(10).normal(0, tf.constant([10, 25, 25, 3])).numpy()
    np.testing.assert_allclose([normal.mean(), normal.std(), (normal**4).mean()], [0.0, 1.0, 3.0], atol=0.1)
    assert set(draws(500).integer(0, 3).numpy()) == {0, 1, 2}


def test_flips_by_hand():
    images = pictures(40)
    flipped = flip_and_crop(tf.constant(images), draws(40), 0, (True, True), 0, "zeros").numpy()
    seen = set()
    for image, found in zip(images, flipped, strict=True):
        choices = {
            "none": image,
            "left": image[:, ::-1],
            "up": image[::-1],
            "both": image[::-1, ::-1],
        }
        seen |= {name for name, choice in choices.items() if np.array_equal(choice, found)}
    assert seen == {"none", "left", "up", "both"}


@pytest.mark.parametrize(("fill", "mode"), [("zeros", "constant"), ("reflect", "symmetric")])
def test_crops_are_windows_of_the_padded_picture(fill, mode):
    images = pictures(60, channels=1)
    cropped = flip_and_crop(tf.constant(images), draws(60), 0, (False, False), 2, fill).numpy()
    places = set()
    for image, found in zip(images, cropped, strict=True):
        padded = np.pad(image, [(2, 2), (2, 2), (0, 0)], mode=mode)
        here = {(top, left) for top in range(5) for left in range(5) if np.array_equal(padded[top : top + 9, left : left + 9], found)}
        assert here
        places |= here
    assert {top for top, _ in places} == {left for _, left in places} == set(range(5))


def test_cutout_by_hand():
    images = np.full((50, 9, 9, 3), 200, "uint8")
    holes = cut_out(tf.constant(images), draws(50), 0, 4).numpy()[..., 0] == 0
    for hole in holes:
        rows, columns = np.flatnonzero(hole.any(axis=1)), np.flatnonzero(hole.any(axis=0))
        assert 1 <= len(rows) <= 4
        assert 1 <= len(columns) <= 4
        assert hole.sum() == len(rows) * len(columns)
    assert max(hole.sum() for hole in holes) == 16


def test_erasing_fills_a_rectangle_in_some_pictures():
    images = np.zeros((400, 20, 20, 1), "uint8")
    changed = erase(tf.constant(images), draws(400), 0, 0.25).numpy()[..., 0] != 0
    touched = changed.any(axis=(1, 2))
    assert 0.18 < touched.mean() < 0.32
    # a random byte is 0 in one of 256 pixels
    areas = changed[touched].mean(axis=(1, 2))
    assert 0.01 < areas.min() < areas.max() < 0.42


def test_noise_has_the_size_asked_for():
    images = np.full((20, 16, 16, 3), 128, "uint8")
    noisy = Augmentation(AugmentSection(noise=10.0), 0, 4).pictures(images, np.arange(20), 0).numpy()
    np.testing.assert_allclose([noisy.mean(), noisy.std()], [128.0, 10.0], atol=0.3)


def test_colour_changes_against_pillow():
    images = pictures(4, 12)
    floats = tf.cast(images, "float32")
    strengths = [0.4, 0.9, 1.3, 1.8]
    for change, enhance in (
        (colour.change_brightness, ImageEnhance.Brightness),
        (colour.change_contrast, ImageEnhance.Contrast),
        (colour.change_saturation, ImageEnhance.Color),
        (colour.sharpen, ImageEnhance.Sharpness),
    ):
        found = colour.to_bytes(change(floats, tf.constant(strengths))).numpy()
        for image, strength, one in zip(images, strengths, found, strict=True):
            expected = np.asarray(enhance(Image.fromarray(image)).enhance(strength))
            assert np.abs(one.astype(int) - expected).max() <= 2
    for image in images:
        one = tf.cast(image, "float32")[None]
        picture = Image.fromarray(image)
        np.testing.assert_array_equal(colour.to_bytes(colour.equalize(one))[0], ImageOps.equalize(picture))
        assert (
            np.abs(colour.to_bytes(colour.auto_contrast(one))[0].numpy().astype(int) - np.asarray(ImageOps.autocontrast(picture))).max()
            <= 1
        )
        np.testing.assert_array_equal(colour.to_bytes(colour.posterize(one, tf.constant([3.0])))[0], ImageOps.posterize(picture, 3))
        np.testing.assert_array_equal(colour.to_bytes(colour.solarize(one, tf.constant([100.0])))[0], ImageOps.solarize(picture, 100))
    flat = tf.fill((1, 6, 6, 3), 90.0)
    for change in (colour.equalize, colour.auto_contrast):
        np.testing.assert_array_equal(change(flat), flat)


def test_hue_turns_a_full_circle():
    images = tf.cast(pictures(4), "float32")
    np.testing.assert_allclose(colour.turn_hue(images, tf.ones(4)), images, atol=0.01)
    red = tf.constant([[[[255.0, 0.0, 0.0]]]])
    np.testing.assert_allclose(colour.turn_hue(red, tf.constant([1.0 / 3.0]))[0, 0, 0], [0.0, 255.0, 0.0], atol=0.01)


def test_each_operation_of_randaugment_changes_its_pictures_only():
    count = len(OPERATIONS)
    images = np.repeat(pictures(1, 15), count, axis=0)
    changed = apply_operations(tf.constant(images), tf.range(count), tf.ones(count), 0.5).numpy()
    for number, name in enumerate(OPERATIONS):
        alone = apply_operations(tf.constant(images[:1]), tf.constant([number]), tf.ones(1), 0.5).numpy()[0]
        np.testing.assert_array_equal(changed[number], alone, err_msg=name)
        if name not in {"identity", "auto_contrast", "equalize"}:
            assert not np.array_equal(alone, images[0]), name
    shifted = changed[OPERATIONS.index("translate_x")]
    # half of 150 / 331 of 15 pixels is 3.4, and 3 whole ones
    np.testing.assert_array_equal(shifted[:, :12], images[0][:, 3:])
    assert np.all(shifted[:, 12:] == 128)
    none = apply_operations(tf.constant(images), tf.range(count), tf.ones(count), 0.0).numpy()
    for name in set(OPERATIONS) - {"auto_contrast", "equalize"}:
        np.testing.assert_array_equal(none[OPERATIONS.index(name)], images[0], err_msg=name)


@pytest.mark.parametrize("channels", [1, 3])
def test_grey_and_colour_pictures_of_one_or_many_examples(channels, everything):
    for count in (1, 7):
        assert everything.pictures(pictures(count, channels=channels), np.arange(count), 0).shape == (count, 9, 9, channels)


@pytest.mark.parametrize("kind", ["mixup", "cutmix"])
def test_mixed_batches_by_hand(kind):
    images = np.random.default_rng(0).normal(size=(6, 8, 8, 2)).astype("float32")
    labels = np.array([0, 1, 2, 3, 0, 1])
    found, shares = mix(tf.constant(images), tf.constant(labels), draws(1, seed=4), classes=4, **{"mixup": None, "cutmix": None, kind: 1.0})
    found, shares = found.numpy(), shares.numpy()
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-6)
    for image, share, own, label in zip(found, shares, images, labels, strict=True):
        # the partner is whichever picture explains all pixels with the share that the label tells
        partners = []
        for other, other_label in zip(images, labels, strict=True):
            if kind == "mixup":
                weight = np.vdot(image - other, own - other) / max(np.vdot(own - other, own - other), 1e-9)
                explained = np.allclose(weight * own + (1.0 - weight) * other, image, atol=1e-5)
            else:
                kept = np.all(image == own, axis=-1)
                weight, explained = kept.mean(), np.array_equal(np.where(kept[..., None], own, other), image)
            expected = np.zeros(4)
            expected[label] += weight
            expected[other_label] += 1.0 - weight
            partners.append(explained and (np.allclose(expected, share, atol=1e-5) or np.array_equal(own, other)))
        assert any(partners)


def test_mixing_draws_follow_their_beta_distribution():
    images, labels = tf.zeros((2, 4, 4, 1)), tf.constant([0, 1])
    blend = tf.function(lambda index: mix(images, labels, Draws(0, tf.constant(0), index), classes=2, mixup=0.4, cutmix=None)[1])
    shares = np.array([blend(tf.constant([index])).numpy()[0, 0] for index in range(600)])
    shares = shares[shares < 1.0]  # where a picture is not its own partner
    # Beta(a, a) has mean 1 / 2 and variance 1 / (4 (2 a + 1))
    np.testing.assert_allclose([shares.mean(), shares.var()], [0.5, 1.0 / (4.0 * 1.8)], atol=0.05)


def test_both_ways_of_mixing_are_drawn(everything):
    images, labels = np.random.default_rng(0).normal(size=(4, 9, 9, 3)).astype("float32"), np.arange(4)
    kinds = {bool(np.isin(everything.batch(images, labels, np.arange(4), epoch)[0].numpy(), images).all()) for epoch in range(12)}
    assert kinds == {True, False}


@pytest.fixture(scope="module")
def data():
    return load_data(DataSection("synthetic:classes=4,size=8,channels=1,examples=100", seed=1))


@pytest.mark.parametrize("mixes_only", [pytest.param(False, marks=pytest.mark.slow), True], ids=["everything", "mixing only"])
def test_an_augmented_epoch_entered_in_its_middle_repeats_bit_for_bit(data, mixes_only):
    section = AugmentSection(mixup=0.4, cutmix=1.0) if mixes_only else EVERYTHING
    preprocessing = Preprocessing(size=(12, 12), channels=1)
    order = epoch_order(len(data.train), 3, 5)
    whole = list(reader(data.train, preprocessing, 16, Augmentation(section, 9, 4))(order, 5))
    rest = list(reader(data.train, preprocessing, 16, Augmentation(section, 9, 4))(order[32:], 5))
    assert len(rest) == len(whole) - 2
    for found, expected in zip(rest, whole[2:], strict=True):
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other)
    assert whole[0][1].shape == (16, 4)
    other = next(iter(reader(data.train, preprocessing, 16, Augmentation(section, 9, 4))(order, 6)))
    assert not np.array_equal(other[0], whole[0][0])


def test_pictures_of_many_sizes_are_changed_one_by_one(tmp_path, monkeypatch):
    monkeypatch.setenv("KERAS_CANON_DATA", str(tmp_path / "prepared"))
    for name in ("cat", "dog"):
        (tmp_path / "photos" / name).mkdir(parents=True)
        for number in range(8):
            Image.fromarray(pictures(1, 9 + number, seed=number)[0]).save(tmp_path / "photos" / name / f"{number}.png")
    photos = load_data(DataSection(f"folder:{tmp_path / 'photos'}"))
    # a change of each kind: where, of colours, of pairs
    some = Augmentation(AugmentSection(flip_horizontal=True, crop_padding=2, brightness=0.3, mixup=0.4), seed=5, classes=4)
    found = list(batches(photos.train, Preprocessing(size=(10, 10)), 4, None, some, 1))
    assert all(images.shape[1:] == (10, 10, 3) and labels.shape[1:] == (4,) for images, labels in found)
    again = list(batches(photos.train, Preprocessing(size=(10, 10)), 4, None, some, 1))
    np.testing.assert_array_equal(found[0][0], again[0][0])


@pytest.mark.parametrize(
    ("keys", "match"),
    [
        ({"crop_padding": 0}, "crop_padding must be at least 1"),
        ({"crop_fill": "zeros"}, "nothing without crop_padding"),
        ({"randaugment_ops": 2}, "belong together"),
        ({"randaugment_ops": 2, "randaugment_magnitude": 11.0}, "from 0 to 10"),
        ({"hue": 0.6}, "at most 0.5"),
        ({"erasing": 1.5}, "at most 1"),
        ({"mixup": 0.0}, "above 0"),
        ({"noise": -1.0}, "above 0"),
    ],
)
def test_values_that_cannot_be_are_refused(keys, match):
    with pytest.raises(ValueError, match=match):
        AugmentSection(**keys)
