"""Recipes: strict, changeable, written back."""

import datetime
import subprocess
import sys

import pytest

from keras_canon.training.data.names import is_sequence
from keras_canon.training.recipe import list_recipes, load_recipe, recipe_toml
from keras_canon.zoo.errors import CanonError

MINIMAL = """
[model]
name = "lenet5_modern"
[data]
name = "digits"
[optimizer]
name = "sgd"
learning_rate = 0.1
[train]
epochs = 2
batch_size = 8
"""


def write(folder, text, name="own.toml"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_the_package_brings_its_recipes():
    expected = {"lenet5_digits", "lenet5_fashion_mnist", "lenet5_modern_fashion_mnist", "resnet20_fashion_mnist"}
    assert expected <= set(list_recipes())


@pytest.mark.parametrize("name", list_recipes())
def test_every_recipe_is_documented_and_can_be_shrunk(name):
    recipe = load_recipe(name)
    assert recipe.name == name
    assert recipe.summary
    assert recipe.smoke
    from keras_canon.training import recipe as module

    header = (module._FOLDER / f"{name}.toml").read_text(encoding="utf-8").split("name =")[0]
    for word in ("Paper:", "Command:", "Hardware:", "Time:", f"canon train {name}"):
        assert word in header
    small = load_recipe(name, smoke=True)
    assert small.data.name.startswith("synthetic") or is_sequence(small.data.name)
    assert small.train.epochs <= 2
    assert small.smoke == {}
    assert small.expect.measured is None


@pytest.mark.parametrize("smoke", [False, True])
@pytest.mark.parametrize("name", list_recipes())
def test_a_recipe_is_written_back_as_it_is(name, smoke, tmp_path):
    recipe = load_recipe(name, {"train.seed": 5}, smoke)
    assert load_recipe(write(tmp_path, recipe_toml(recipe, "one\ntwo"))) == recipe


def test_awkward_values_are_written_back_as_they_are(tmp_path):
    changes = {
        "summary": 'quote " back \\ line \n tab \t del \x7f é 漢 😀',
        "model.overrides": {"odd key": [1, 2.5, "x"], "deep": {"deeper": {"on": True}}},
        "train.loss_options": {"tiny": 1e-300, "huge": float("inf"), "round": 3.0},
        "data.name": "folder:a b/ü",
        "expect.measured": {
            "test_accuracy": 0.9,
            "parameters": 1000,
            "date": datetime.date(2026, 11, 29),
            "seed": 0,
            "epochs": 1,
            "seconds": 1.5,
            "hardware": "none",
        },
        "smoke": {"train": {"epochs": 1}},
    }
    recipe = load_recipe(write(tmp_path, MINIMAL), changes)
    assert load_recipe(write(tmp_path, recipe_toml(recipe), "again.toml")) == recipe


def test_the_file_name_stands_in_for_a_missing_name(tmp_path):
    recipe = load_recipe(write(tmp_path, MINIMAL))
    assert recipe.name == "own"
    assert recipe.schedule.name == "constant"


def test_overrides_win_over_smoke():
    recipe = load_recipe("lenet5_digits", {"train.epochs": 7, "train.loss_options.rubbish_penalty": 2.0}, smoke=True)
    assert recipe.train.epochs == 7
    assert recipe.train.loss_options == {"rubbish_penalty": 2.0}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"train.epoch": 3}, ["'epoch'", "[train]", "lenet5_digits.toml", "'epochs'", "batch_size", "patience"]),
        ({"trian.epochs": 3}, ["'trian'", "lenet5_digits.toml", "'train'", "optimizer"]),
        ({"epochs": 3}, ["'epochs'", "train.epochs"]),
        ({"train.epochs": "three"}, ["epochs", "[train]", "lenet5_digits.toml", "an integer", "'three'"]),
        ({"train.epochs": 2.5}, ["epochs", "an integer", "2.5"]),
        ({"train.epochs": 0}, ["epochs", "at least 1"]),
        ({"train.epochs.x": 0}, ["train.epochs.x", "holds a value"]),
        ({"train": 3}, ["[train]", "table"]),
        ({"train.loss": "hinge"}, ["loss", "'cross_entropy'", "'rbf_maximum_a_posteriori'", "'hinge'"]),
        ({"train.monitor": "loss"}, ["monitor", "'val_loss'", "'loss'"]),
        ({"optimizer.learning_rate": -1.0}, ["learning_rate", "above 0"]),
        ({"schedule.power": 2.0}, ["power", "does nothing", "warmup_epochs"]),
        ({"schedule.floor": -0.1}, ["floor", "at least 0"]),
        ({"model.name": "lenet6"}, ["'lenet6'", "'lenet5'"]),
        ({"data.name": "digit"}, ["'digit'", "digits"]),
        ({"smoke": {"train": {"epoch": 1}}}, ["'epoch'", "'epochs'"]),
        ({"smoke": 3}, ["smoke"]),
    ],
)
def test_mistakes_are_told_in_one_sentence(changes, words):
    with pytest.raises(CanonError) as caught:
        load_recipe("lenet5_digits", changes)
    message = str(caught.value)
    assert "\n" not in message
    for word in words:
        assert word in message


def test_a_mistake_in_the_smoke_section_is_found_without_asking_for_it(tmp_path):
    with pytest.raises(CanonError, match="epochz"):
        load_recipe(write(tmp_path, MINIMAL + "[smoke]\ntrain.epochz = 1\n"))


def test_missing_sections_and_broken_files(tmp_path):
    with pytest.raises(CanonError, match="lacks the key 'train'"):
        load_recipe(write(tmp_path, MINIMAL.split("[train]")[0]))
    with pytest.raises(CanonError, match="no valid TOML"):
        load_recipe(write(tmp_path, "[model"))
    with pytest.raises(CanonError, match="There is no recipe file"):
        load_recipe(tmp_path / "absent.toml")


def test_an_unknown_recipe_names_the_nearest():
    with pytest.raises(CanonError, match="lenet5_digits"):
        load_recipe("lenet5_digit")


def test_reading_recipes_needs_no_tensorflow():
    code = (
        "import sys; from keras_canon import training; training.load_recipe(training.list_recipes()[0]);"
        "sys.exit(any(name in sys.modules for name in ('tensorflow', 'keras', 'matplotlib')))"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode == 0
