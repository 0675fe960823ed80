"""Weights that come with the package: they load without a network, are what their records say, and take another head."""

import hashlib
import json
import shlex
from pathlib import Path

import numpy as np
import pytest

from keras_canon import training, zoo
from keras_canon.training.finetuning import finetune_recipe
from keras_canon.training.finetuning_weights import start_from_weights
from keras_canon.training.recipe import load_recipe
from keras_canon.training.transfer_section import TransferSection
from keras_canon.zoo import fetch

FOLDER = Path(fetch.__file__).parent / "weights"
AT_MOST = 12e6  # bytes of all files together
SHIPPED = {name: one for name in zoo.list_models(pretrained=True) for one in zoo.info(name).weights if one.url.startswith(fetch.PACKAGE)}


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    def refuse(*arguments, **options):
        raise AssertionError("weights that come with the package need no network")

    monkeypatch.setattr("keras_canon.zoo.fetch.urlopen", refuse)


def file_of(one):
    return FOLDER / one.url.removeprefix(fetch.PACKAGE)


def test_which_they_are():
    assert set(SHIPPED) == {"lenet5", "lenet5_modern", "resnet20", "mobilenet_v2", "vit_tiny_16"}
    assert {path.name for path in FOLDER.iterdir()} == {file_of(one).name for one in SHIPPED.values()}
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < AT_MOST


@pytest.mark.parametrize("name", SHIPPED)
def test_they_load_offline(name):
    one = SHIPPED[name]
    model = zoo.create(name, weights=one.tag)
    assert f"sha256:{hashlib.sha256(file_of(one).read_bytes()).hexdigest()}" == one.hash
    assert model.record.labels == zoo.class_names("fashion_mnist")
    assert model.record.weights == "fashion_mnist"
    assert model.output_shape == (None, 10)
    before = model.get_weights()
    assert zoo.load_weights(model, file_of(one)).format == "canon"
    for was, now in zip(before, model.get_weights(), strict=True):
        np.testing.assert_array_equal(was, now)


QUICK = ("lenet5_modern", "resnet20")


@pytest.mark.parametrize("name", [pytest.param(name, marks=[] if name in QUICK else [pytest.mark.slow]) for name in SHIPPED])
def test_another_head_on_the_same_body(name):
    one = SHIPPED[name]
    whole, other = zoo.create(name, weights=one.tag), zoo.create(name, weights=one.tag, num_classes=3)
    assert other.output_shape == (None, 3)
    assert other.record.labels == ()
    ours = {weight.path: np.asarray(weight) for weight in other.weights if "seed_generator" not in weight.path}
    for weight in whole.weights:
        if not weight.path.startswith("logits/") and "seed_generator" not in weight.path:
            np.testing.assert_array_equal(np.asarray(weight), ours[weight.path], err_msg=weight.path)


def test_another_number_of_channels():
    grey, colour = (zoo.create("resnet20", weights="fashion_mnist", num_classes=3, input_shape=(28, 28, n)) for n in (1, 3))
    np.testing.assert_allclose(np.asarray(colour.weights[0]), np.repeat(np.asarray(grey.weights[0]) / 3, 3, axis=2), rtol=1e-5)


@pytest.mark.parametrize("name", SHIPPED)
def test_the_command_in_the_record_makes_such_a_network(name):
    one = SHIPPED[name]
    words = shlex.split(one.training.command)
    assert words[:2] == ["canon", "train"]
    changes = dict(word.split("=", 1) for word in words[3:] if word != "--set")
    recipe = load_recipe(words[2], {key: json.loads(value) for key, value in changes.items()})
    row = zoo.info(name)
    assert recipe.model.name == name
    assert recipe.data.name == "fashion_mnist"
    assert recipe.train.seed == one.training.seed
    assert recipe.train.epochs >= one.training.epochs
    assert tuple(recipe.model.input_shape or row.input_shape) == (one.input_shape or row.input_shape)
    assert dict(recipe.model.overrides) == dict(one.overrides)
    assert (one.num_classes or row.num_classes) == 10
    assert one.preprocessing == row.preprocessing.fitted(one.input_shape or row.input_shape)


def test_fine_tuning_starts_from_them_without_being_told():
    data = "synthetic:classes=3,size=28,channels=1,examples=60"
    recipe = finetune_recipe("resnet20", data)
    assert recipe.transfer.weights == "fashion_mnist"
    assert recipe.model.input_shape == (28, 28, 1)
    recipe = finetune_recipe("mobilenet_v2", data, weights="fashion_mnist")
    assert recipe.model.overrides["width_multiplier"] == SHIPPED["mobilenet_v2"].overrides["width_multiplier"]
    model = zoo.create("resnet20", num_classes=3, input_shape=(28, 28, 1))
    model, report = start_from_weights(model, TransferSection(weights="fashion_mnist").filled(4))
    assert len(report.loaded) + len(report.skipped) == len(model.weights)
    assert model.record.weights == "fashion_mnist"


def test_a_file_that_was_damaged_or_lost_is_refused_in_one_sentence(monkeypatch, tmp_path):
    (tmp_path / "weights").mkdir()
    monkeypatch.setattr(fetch, "__file__", str(tmp_path / "fetch.py"))
    with pytest.raises(zoo.CanonError, match="'fashion_mnist' of 'lenet5' is missing: install keras-canon again") as caught:
        zoo.create("lenet5", weights="fashion_mnist")
    assert "\n" not in str(caught.value)
    (tmp_path / "weights" / file_of(SHIPPED["lenet5"]).name).write_bytes(b"other")
    with pytest.raises(zoo.CanonError, match=r"has sha256 .*, expected .*: install keras-canon again"):
        zoo.create("lenet5", weights="fashion_mnist")


def test_a_safetensors_file_says_what_it_is_of(tmp_path):
    model = zoo.create("lenet5_modern", num_classes=3)
    for path in ("a.safetensors", "b.safetensors"):
        model.save_weights(tmp_path / path)
    assert (tmp_path / "a.safetensors").read_bytes() == (tmp_path / "b.safetensors").read_bytes()
    with pytest.raises(zoo.CanonError, match="There is a file"):
        model.save_weights(tmp_path / "a.safetensors", overwrite=False)
    other = zoo.create("lenet5_modern", num_classes=3)
    zoo.load_weights(other, tmp_path / "a.safetensors")
    for one, mine in zip(model.get_weights(), other.get_weights(), strict=True):
        np.testing.assert_array_equal(one, mine)
    with pytest.raises(zoo.CanonError, match="Weights of 'lenet5_modern' are not weights of 'lenet5'"):
        zoo.load_weights(zoo.create("lenet5", num_classes=3), tmp_path / "a.safetensors")
    with pytest.raises(zoo.CanonError, match="could not be written"):
        model.save_weights(tmp_path / "absent" / "a.safetensors")


@pytest.mark.slow
@pytest.mark.parametrize("name", SHIPPED)
def test_the_accuracy_in_the_record_is_that_of_the_file(name):
    found = training.evaluate(zoo.create(name, weights="fashion_mnist"), "fashion_mnist")
    assert found.accuracy == pytest.approx(SHIPPED[name].accuracy, abs=2e-4)
