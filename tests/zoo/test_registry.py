"""The registry: names, rows, overrides and what it says to wrong ones."""

import zipfile
from typing import get_type_hints

import numpy as np
import pytest

from keras_canon import zoo
from keras_canon.zoo import registry
from keras_canon.zoo.fields import read_fields


def test_oldest_paper_first():
    years = [zoo.info(name).year for name in zoo.list_models()]
    assert years == sorted(years)


def test_filters():
    assert zoo.list_models("lenet*") == ["lenet5", "lenet5_modern"]
    assert zoo.list_models(family="lenet") == zoo.list_models("lenet*")
    assert "lenet5" in zoo.list_models(task="image-classification", max_parameters=60_000)
    assert "lenet5_modern" not in zoo.list_models(max_parameters=60_000)
    assert all(zoo.info(name).weights for name in zoo.list_models(pretrained=True))


def test_info_is_frozen_and_complete():
    info = zoo.info("lenet5")
    assert (info.family, info.task, info.year, info.input_shape) == ("lenet", "image-classification", 1998, (32, 32, 1))
    assert info.preprocessing.size == (32, 32)
    with pytest.raises(AttributeError):
        info.name = "other"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: zoo.info("lenet"), r"no model 'lenet'.*'lenet5'"),
        (lambda: zoo.create("resnet2O"), r"no model 'resnet2O'.*'resnet20'"),
        (lambda: zoo.list_models(task="classification"), r"no task 'classification'.*'image-classification'"),
        (lambda: zoo.list_models(family="lennet"), r"no family 'lennet'.*'lenet'"),
        (lambda: zoo.create("lenet5", overrides={"dropuot": 0.5}), r"overrides of 'lenet5' called 'dropuot'.*allowed"),
        (lambda: zoo.create("lenet5_modern", overrides={"dropuot": 0.5}), r"'dropuot'.*'dropout'"),
        (lambda: zoo.create("lenet5_modern", overrides={"dropout": "high"}), r"dropout in .* must be a number, got 'high'"),
        (lambda: zoo.create("lenet5_modern", overrides={"dropout": 1.5}), r"lenet5_modern.*cannot be built.*1\.5"),
        (lambda: zoo.create("lenet5", weights="nowhere"), r"'lenet5' has no published weights 'nowhere'"),
        (lambda: zoo.create("lenet5", num_classes=-1), r"num_classes must be an integer of at least 0, got -1"),
        (lambda: zoo.create("lenet5", num_classes=2.5), r"num_classes.*2\.5"),
        (lambda: zoo.create("lenet5", input_shape=(32, 32)), r"input_shape"),
        (lambda: zoo.create("lenet5", input_shape=5), r"input_shape must be a tuple of integers of at least 1, .* got 5"),
        (lambda: zoo.create("lenet5", input_shape=("a", 32, 3)), r"input_shape must be a tuple of .*got \('a', 32, 3\)"),
        (lambda: zoo.create("lenet5", input_shape=(32, 32, 0)), r"input_shape must be a tuple of .*got \(32, 32, 0\)"),
        (lambda: zoo.create("lenet5", input_shape=(32, True, 3)), r"input_shape must be a tuple of"),
        (lambda: zoo.create("zfnet", overrides={"widths": [8, 8]}), r"widths in .*'zfnet' must be a list of 5, got 2"),
        (lambda: zoo.create("alexnet", overrides={"widths": [8, 8]}), r"widths in .*'alexnet' must be a list of 5, got 2"),
        (lambda: zoo.create("vgg11", overrides={"hidden_units": [8]}), r"hidden_units in .*'vgg11' must be a list of 2, got 1"),
        (lambda: zoo.create("all_cnn_c", overrides={"widths": [8, 8]}), r"widths in .*'all_cnn_c' must be a list of 3, got 2"),
        (lambda: zoo.create("mcdnn", overrides={"column": {"widths": []}}), r"widths in column in .* must hold at least one entry"),
        (lambda: zoo.create("transformer_tiny", overrides={"depth": [0, 2]}), r"depth in .* integers of at least 1, got \(0, 2\)"),
        (lambda: zoo.create("fitnet1", overrides={"widths": [[], [8]]}), r"widths in .* at least one entry in each list, got"),
    ],
)
def test_bad_names_and_values_are_one_sentence(call, message):
    with pytest.raises(zoo.CanonError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


# what a variant may have none of: id 0 or no vocabulary where floats are read, a seed, the middle flow of a small
# Xception, bypasses
NONE_IS_LEGAL = {"vocabulary_size", "embedding_dim", "seed", "middle_blocks", "bypassed"}


def test_sizes_of_nothing_are_one_sentence_in_every_variant():
    for name in zoo.list_models():
        builder = registry._builder(zoo.info(name))
        config = read_fields(get_type_hints(builder)["config"], zoo.info(name).config, name)
        for key, value in vars(config).items():
            none = key in NONE_IS_LEGAL
            wrong = {int: [-1] if none and value in (0, 8) else [0, -1], tuple: [] if none else [()]}.get(type(value), [])
            for size in wrong:
                with pytest.raises(zoo.CanonError, match=rf"^{key} in the overrides of '{name}' must [^\n]*\.$|^the overrides of [^\n]*$"):
                    zoo.create(name, overrides={key: size})


def test_created_model_carries_its_record(tmp_path):
    model = zoo.create("lenet5_modern", num_classes=3, input_shape=(32, 32, 3), overrides={"dropout": 0.25})
    model.update_record(labels=("a", "b", "c"), weights="a test")
    model.save(tmp_path / "model.keras")
    loaded = zoo.load_model(tmp_path / "model.keras")
    assert isinstance(loaded, zoo.Model)
    assert loaded.record == model.record
    assert loaded.record.variant == "lenet5_modern"
    assert loaded.record.overrides == {"dropout": 0.25}
    assert loaded.record.labels == ("a", "b", "c")
    assert loaded.record.preprocessing.channels == 3
    images = np.random.RandomState(0).standard_normal((2, 32, 32, 3)).astype("float32")
    np.testing.assert_array_equal(np.asarray(loaded(images)), np.asarray(model(images)))


def test_labels_must_fit_the_head():
    model = zoo.create("lenet5")
    with pytest.raises(zoo.CanonError, match="10 classes, got 2 labels"):
        model.update_record(labels=("a", "b"))


def test_load_model_refuses_what_is_no_model(tmp_path):
    with pytest.raises(zoo.CanonError, match="no model file"):
        zoo.load_model(tmp_path / "none.keras")
    (tmp_path / "model.h5").write_bytes(b"x")
    with pytest.raises(zoo.CanonError, match=r"not a \.keras file"):
        zoo.load_model(tmp_path / "model.h5")
    (tmp_path / "broken.keras").write_bytes(b"PK damaged")
    with pytest.raises(zoo.CanonError, match="could not be loaded"):
        zoo.load_model(tmp_path / "broken.keras")


def test_load_model_and_weights_refuse_a_damaged_file(tmp_path):
    model = zoo.create("elman", num_classes=2, overrides={"units": 4})
    model.save(tmp_path / "model.keras")
    whole = (tmp_path / "model.keras").read_bytes()
    with zipfile.ZipFile(tmp_path / "model.keras") as archive:
        starts = [archive.getinfo(name).header_offset for name in ("config.json", "model.weights.h5")]
    for place in (*starts, *(start + 200 for start in starts), len(whole) // 2, len(whole) - 22):
        damaged = bytearray(whole)
        damaged[place] ^= 0xFF
        (tmp_path / "model.keras").write_bytes(damaged)
        for load in (zoo.load_model, lambda path: zoo.load_weights(model, path)):
            with pytest.raises(zoo.CanonError, match="could not be loaded") as caught:
                load(tmp_path / "model.keras")
            assert "\n" not in str(caught.value)


def test_decode_names_the_best_classes():
    model = zoo.create("lenet5_modern", num_classes=3)
    model.update_record(labels=("cat", "dog", "bird"))
    (row,) = zoo.decode(np.log([[0.2, 0.7, 0.1]]), model, top=2)
    assert [name for name, _ in row] == ["dog", "cat"]
    np.testing.assert_allclose([p for _, p in row], [0.7, 0.2], rtol=1e-6)
    with pytest.raises(zoo.CanonError, match=r"shape \(batch, classes\)"):
        zoo.decode(np.zeros(3), model)
