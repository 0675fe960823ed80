import json
import os
import resource
import time

import numpy as np
import pytest
import tensorflow as tf
from PIL import Image

from keras_canon.training.data import class_weights, load
from keras_canon.training.data.folder import scan
from keras_canon.zoo import CanonError, decode_image

# most folders here are as small as the thing that they show allows
pytestmark = pytest.mark.filterwarnings("ignore:Classes with fewer than 5 training examples:UserWarning")


def paint(path, number, size=(9, 7)):
    """Write a picture whose content depends on `number`; the suffix decides the format."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.random.default_rng(number).integers(0, 256, (*size, 3), dtype=np.uint8)
    formats = {".jpg": "JPEG", ".jpeg": "JPEG", ".png": "PNG", ".gif": "GIF", ".bmp": "BMP", ".webp": "WEBP"}
    Image.fromarray(pixels).save(path, formats[path.suffix.lower()])


@pytest.fixture
def photos(tmp_path):
    """Three classes of ten pictures."""
    for label, name in enumerate(("ant", "bee", "cat")):
        for number in range(10):
            paint(tmp_path / "photos" / name / f"{number}.png", 100 * label + number)
    return tmp_path / "photos"


@pytest.fixture
def prepared(tmp_path):
    return tmp_path / "prepared"


def counts(dataset):
    return {name: len(split) for name, split in dataset.splits.items()}


def test_b49_class_order_hidden_folders_suffixes_and_names(tmp_path, prepared):
    root = tmp_path / "photos"
    for label, name in enumerate(("é", "a", "Z", "2", "10", ".ipynb_checkpoints")):
        for number in range(3):
            paint(root / name / f"{number}.JPG", 10 * label + number)
    dataset = load(f"folder:{root}", data_dir=prepared)
    assert dataset.class_names == ("10", "2", "Z", "a", "é")
    assert counts(dataset) == {"train": 5, "validation": 5, "test": 5}
    for split in dataset.splits.values():
        for label, identity in zip(split.labels.tolist(), split.ids.tolist(), strict=True):
            assert identity.split("/")[0] == dataset.class_names[label]


def test_b49_a_single_class_is_refused(tmp_path, prepared):
    paint(tmp_path / "photos" / "ant" / "0.png", 0)
    with pytest.raises(CanonError, match="holds only the class 'ant', and a classifier needs at least two"):
        load(f"folder:{tmp_path / 'photos'}", data_dir=prepared)


def test_b49_an_empty_class_is_named(photos, prepared):
    (photos / "dog").mkdir()
    (photos / "elk").mkdir()
    (photos / "elk" / "readme.txt").write_text("none yet")
    with pytest.raises(CanonError, match="no training picture in dog, elk"):
        load(f"folder:{photos}", data_dir=prepared)


def test_b49_a_validation_folder_that_lacks_a_class_keeps_the_mapping(tmp_path, prepared):
    root = tmp_path / "photos"
    for label, name in enumerate(("ant", "bee", "cat")):
        for number in range(4):
            paint(root / "train" / name / f"{number}.png", 10 * label + number)
    for number in range(2):
        paint(root / "val" / "cat" / f"{number}.png", 50 + number)
        paint(root / "test" / "bee" / f"{number}.png", 60 + number)
    dataset = load(f"folder:{root}", data_dir=prepared)
    assert dataset.class_names == ("ant", "bee", "cat")
    assert counts(dataset) == {"train": 12, "validation": 2, "test": 2}
    assert dataset.validation.labels.tolist() == [2, 2]
    assert dataset.test.labels.tolist() == [1, 1]
    assert dataset.facts["counts"]["validation"] == {"ant": 0, "bee": 0, "cat": 2}


def test_b49_99_against_1(tmp_path, prepared):
    root = tmp_path / "photos"
    for number in range(99):
        paint(root / "train" / "cat" / f"{number}.png", number, size=(2, 2))
    paint(root / "train" / "dog" / "0.png", 200, size=(2, 2))
    for name in ("cat", "dog"):
        paint(root / "validation" / name / "0.png", 300 + len(name) + ord(name[0]), size=(2, 2))
        paint(root / "test" / name / "0.png", 400 + len(name) + ord(name[0]), size=(2, 2))
    with pytest.warns(UserWarning, match=r"99 training examples of 'cat' against 1 of 'dog'; class weights of 0\.50505 and 50 make"):
        dataset = load(f"folder:{root}", data_dir=prepared)
    assert load(f"folder:{root}[per_class=5]", data_dir=prepared).facts["class_weights"] == {}
    assert dataset.facts["class_weights"] == {"cat": pytest.approx(0.50505, abs=1e-5), "dog": 50.0}
    with pytest.warns(UserWarning, match="strongly imbalanced"):
        weights = class_weights(dataset.train.labels, dataset.class_names)
    assert weights == {0: pytest.approx(0.50505, abs=1e-5), 1: 50.0}


def test_counts_shape_and_facts(photos, prepared):
    dataset = load(f"folder:{photos}", data_dir=prepared)
    assert counts(dataset) == {"train": 24, "validation": 3, "test": 3}
    assert dataset.image_shape == (9, 7, 3)
    assert dataset.channels == 3
    assert dataset.facts["counts"]["test"] == {"ant": 1, "bee": 1, "cat": 1}
    assert dataset.facts["source"] == str(photos)
    assert json.loads(json.dumps(dataset.facts)) == dataset.facts
    ids = [set(split.ids.tolist()) for split in dataset.splits.values()]
    assert len(set.union(*ids)) == sum(map(len, ids)) == 30


def test_shares(photos, prepared):
    dataset = load(f"folder:{photos}", validation=0.25, test=0.2, data_dir=prepared)
    assert counts(dataset) == {"train": 18, "validation": 6, "test": 6}


def test_pixels_and_labels_in_any_order(photos, prepared):
    train = load(f"folder:{photos}", data_dir=prepared).train
    order = np.random.default_rng(0).permutation(len(train))
    elements = list(train.dataset(order))
    assert [int(element["index"]) for element in elements] == order.tolist()
    for position, element in zip(order.tolist(), elements, strict=True):
        expected = decode_image(tf.constant((photos / train.ids[position]).read_bytes()))
        np.testing.assert_array_equal(element["image"], expected)
        assert int(element["label"]) == train.labels[position]
    assert next(iter(train.dataset(batch_size=5)))["image"].shape == (5, 9, 7, 3)


def test_pictures_of_different_shapes(photos, prepared):
    paint(photos / "ant" / "large.jpg", 1000, size=(30, 40))
    dataset = load(f"folder:{photos}", data_dir=prepared)
    assert dataset.image_shape is None
    assert dataset.channels == 3
    shapes = {element["image"].shape.as_list()[0] for split in dataset.splits.values() for element in split.dataset()}
    assert shapes == {9, 30}
    with pytest.raises(ValueError, match="differ in shape and cannot be batched"):
        dataset.train.dataset(batch_size=2)


def test_formats_and_nested_folders(photos, prepared):
    for number, suffix in enumerate((".jpeg", ".GIF", ".bmp", ".Webp", ".JPEG")):
        paint(photos / "bee" / "more" / "still more" / f"ü {number}{suffix}", 1000 + number)
    dataset = load(f"folder:{photos}", data_dir=prepared)
    assert sum(counts(dataset).values()) == 35
    assert sum(dataset.facts["counts"][split]["bee"] for split in dataset.splits) == 15
    assert all(element["image"].shape == (9, 7, 3) for split in dataset.splits.values() for element in split.dataset())


def test_all_unreadable_files_are_named_in_one_error(photos, prepared):
    (photos / "ant" / "empty.jpg").write_bytes(b"")
    (photos / "bee" / "text.png").write_text("no picture")
    (photos / "cat" / "cut.png").write_bytes((photos / "cat" / "0.png").read_bytes()[:-30])
    (photos / "cat" / "gone.jpg").symlink_to(photos / "nowhere.jpg")
    with pytest.raises(CanonError) as caught:
        load(f"folder:{photos}", data_dir=prepared)
    message = str(caught.value)
    assert message.startswith(
        f"4 pictures in {photos} cannot be decoded ([unreadable=skip] behind the name leaves them out): "
        "ant/empty.jpg (empty file), bee/text.png ("
    )
    assert "cat/cut.png (Invalid PNG data" in message
    assert "cat/gone.jpg (No such file or directory)" in message
    assert "\n" not in message
    with pytest.warns(UserWarning, match="4 pictures .* are left out"):
        dataset = load(f"folder:{photos}", unreadable="skip", data_dir=prepared)
    assert sum(counts(dataset).values()) == 30
    assert [name.split(" ")[0] for name in dataset.facts["unreadable"]] == ["ant/empty.jpg", "bee/text.png", "cat/cut.png", "cat/gone.jpg"]


def test_a_class_of_unreadable_files_only_is_named(photos, prepared):
    (photos / "dog").mkdir()
    (photos / "dog" / "0.png").write_text("no picture")
    with pytest.raises(CanonError, match="no readable training picture in dog"):
        load(f"folder:{photos}", unreadable="skip", data_dir=prepared)


def test_files_that_are_no_pictures_are_left_out_with_a_warning(photos, prepared):
    (photos / "ant" / "notes.txt").write_text("")
    (photos / "stray.png").write_bytes((photos / "ant" / "0.png").read_bytes())
    with pytest.warns(UserWarning, match=r"2 files .* are left out: ant/notes\.txt, stray\.png"):
        dataset = load(f"folder:{photos}", data_dir=prepared)
    assert dataset.facts["left_out"] == ["ant/notes.txt", "stray.png"]
    assert sum(counts(dataset).values()) == 30


def test_copies_of_a_picture_stay_in_one_split(tmp_path, prepared):
    for name, first in (("ant", 0), ("bee", 50)):
        for number in range(20):
            for copy in "abc":
                paint(tmp_path / "photos" / name / f"{number}{copy}.png", first + number)
    dataset = load(f"folder:{tmp_path / 'photos'}", validation=0.3, test=0.3, data_dir=prepared)
    stems = [{identity[:-5] for identity in split.ids.tolist()} for split in dataset.splits.values()]
    assert sum(map(len, stems)) == len(set.union(*stems)) == 40


def test_a_test_picture_that_is_in_train_is_told(tmp_path, prepared):
    root = tmp_path / "photos"
    for label, name in enumerate(("ant", "bee")):
        for number in range(4):
            paint(root / "train" / name / f"{number}.png", 10 * label + number)
        paint(root / "test" / name / "0.png", 10 * label + 5)
        paint(root / "valid" / name / "0.png", 10 * label + 6)
    paint(root / "test" / "ant" / "copy.png", 1)
    with pytest.warns(UserWarning, match="1 pictures of test are in train too"):
        load(f"folder:{root}", data_dir=prepared)


def test_a_changed_folder_is_noticed(photos, prepared):
    before = load(f"folder:{photos}", data_dir=prepared)
    assert load(f"folder:{photos}", data_dir=prepared).facts["version"] == before.facts["version"]
    paint(photos / "ant" / "new.png", 5000)
    added = load(f"folder:{photos}", data_dir=prepared)
    assert sum(counts(added).values()) == 31
    (photos / "ant" / "new.png").unlink()
    assert load(f"folder:{photos}", data_dir=prepared).facts["version"] == before.facts["version"]
    paint(photos / "ant" / "0.png", 6000, size=(20, 20))
    assert load(f"folder:{photos}", data_dir=prepared).image_shape is None


def test_a_moved_folder_keeps_its_splits(photos, prepared, tmp_path):
    before = load(f"folder:{photos}", data_dir=prepared)
    after = load(f"folder:{photos.rename(tmp_path / 'moved')}", data_dir=tmp_path / "elsewhere")
    for name, split in before.splits.items():
        assert after.splits[name].ids.tolist() == split.ids.tolist()


def test_a_link_to_the_folder_above_ends(photos, prepared):
    (photos / "ant" / "loop").symlink_to(photos / "ant")
    assert sum(counts(load(f"folder:{photos}", data_dir=prepared)).values()) == 30


def test_a_pipe_is_no_picture(photos, prepared):
    os.mkfifo(photos / "ant" / "pipe.png")
    assert sum(counts(load(f"folder:{photos}", data_dir=prepared)).values()) == 30


def test_names_that_are_no_text(photos, prepared):
    (photos / "ant" / os.fsdecode(b"caf\xe9.png")).write_bytes((photos / "ant" / "0.png").read_bytes()[:-30])
    paint(photos / "ant" / os.fsdecode(b"th\xe9.png"), 7000)
    with pytest.warns(UserWarning, match=r"ant/caf\\xe9\.png"):
        dataset = load(f"folder:{photos}", unreadable="skip", data_dir=prepared)
    assert sum(len(list(split.dataset())) for split in dataset.splits.values()) == 31
    json.dumps(dataset.facts).encode()


def test_a_class_name_that_is_no_text_is_named(tmp_path):
    paint(tmp_path / "photos" / "a" / "0.png", 0)
    paint(tmp_path / "photos" / os.fsdecode(b"caf\xe9") / "0.png", 1)
    with pytest.raises(CanonError, match=r"names are no valid UTF-8: caf\\xe9"):
        scan(tmp_path / "photos")


def test_one_name_in_two_spellings_is_one_class(tmp_path):
    paint(tmp_path / "photos" / "e\u0301" / "0.png", 0)
    paint(tmp_path / "photos" / "a" / "0.png", 1)
    assert scan(tmp_path / "photos").class_names == ("a", "\u00e9")


def test_classes_may_be_called_as_splits_are(tmp_path):
    for name in ("train", "bus"):
        paint(tmp_path / "photos" / name / "0.png", 0)
    assert scan(tmp_path / "photos").class_names == ("bus", "train")


def test_a_class_that_train_lacks_is_named(tmp_path):
    for path in ("train/a", "train/b", "test/c"):
        paint(tmp_path / "photos" / path / "0.png", 0)
    with pytest.raises(CanonError, match="classes that train lacks: test/c"):
        scan(tmp_path / "photos")


def test_too_few_pictures(tmp_path, prepared):
    for name in ("a", "b"):
        paint(tmp_path / "photos" / name / "0.png", ord(name))
    with pytest.raises(CanonError, match="none is left for test and validation"):
        load(f"folder:{tmp_path / 'photos'}", data_dir=prepared)


def test_paths_that_are_no_folder(photos, tmp_path):
    with pytest.raises(CanonError, match=r"There is no folder .*fotos; near it there are photos\."):
        load(f"folder:{tmp_path / 'fotos'}")
    with pytest.raises(CanonError, match="is a file"):
        load(f"folder:{photos / 'ant' / '0.png'}")
    (tmp_path / "empty").mkdir()
    with pytest.raises(CanonError, match="holds no class"):
        load(f"folder:{tmp_path / 'empty'}")


@pytest.mark.slow
def test_10000_pictures_in_200_folders_are_indexed_and_never_held(tmp_path, prepared):
    pixels = np.random.default_rng(0).integers(0, 256, (128, 128, 3), dtype=np.uint8)
    for label in range(200):
        (tmp_path / "photos" / f"{label:03d}").mkdir(parents=True)
        for number in range(50):
            pixels[0, 0] = label, number, 0
            Image.fromarray(pixels).save(tmp_path / "photos" / f"{label:03d}" / f"{number}.jpg")
    load("digits", data_dir=prepared)  # imports and traces what any data set needs
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start, processor = time.perf_counter(), time.process_time()
    dataset = load(f"folder:{tmp_path / 'photos'}", data_dir=prepared)
    seconds, processor = time.perf_counter() - start, time.process_time() - processor
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(f"10,000 pictures: {seconds:.1f} s, {processor:.1f} s of processor, {grown:.0f} MiB more memory at the peak")
    assert sum(counts(dataset).values()) == 10000
    assert grown < 10000 * pixels.nbytes / 2**20 / 4


def test_split_folders_in_any_case_and_only_some(tmp_path):
    for split in ("Train", "Test"):
        for label, name in enumerate(("cat", "dog")):
            paint(tmp_path / split / name / "0.png", 10 * label + len(split))
    found = scan(tmp_path)
    assert (found.class_names, found.splits) == (("cat", "dog"), ("train", "test"))
    (tmp_path / "labels").mkdir()
    with pytest.raises(CanonError, match=r"split folders \(Test, Train\) beside others \(labels\)"):
        scan(tmp_path)
    (tmp_path / "labels").rename(tmp_path / "val")
    (tmp_path / "Train").rename(tmp_path / "valid")
    with pytest.raises(CanonError, match="no folder train"):
        scan(tmp_path)
