"""Every family of the vision canon has a recipe; all of them read, build, and run in their small version."""

import math
from pathlib import Path

import numpy as np
import pytest
from checks.residual import unallocated

from keras_canon import training, zoo
from keras_canon.training.auxiliary import auxiliary_outputs
from keras_canon.training.building import build
from keras_canon.training.data import load
from keras_canon.training.recipe import list_recipes, load_recipe
from keras_canon.training.schedules import learning_rate

FOLDER = Path(__file__).parents[2] / "training" / "recipes"
RECIPES = [name for name in list_recipes() if zoo.info(load_recipe(name).model.name).preprocessing is not None]
# the cheapest; test_running.py runs another one, test_finetuning.py one with normalisation, and the rest run with `-m slow`
DEFAULT = ("lenet5_digits",)
LONGEST = 72.0  # minutes; a recipe trains on two processor cores in about an hour


def header(name: str) -> str:
    return (FOLDER / f"{name}.toml").read_text(encoding="utf-8").split("\nname =")[0]


def test_every_vision_family_has_a_recipe():
    families = {zoo.info(name).family for name in zoo.list_models(task="image-classification")}
    assert families - {zoo.info(load_recipe(name).model.name).family for name in RECIPES} == set()


@pytest.mark.parametrize("name", RECIPES)
def test_the_header_says_paper_section_command_hardware_and_time(name):
    lines = header(name).splitlines()
    assert all(line.startswith("#") for line in lines)
    entries = {line[2:].partition(":")[0]: line.partition(":")[2].strip() for line in lines if line[2:3].isalpha()}
    assert list(entries)[-4:] == ["Paper", "Command", "Hardware", "Time"]
    assert any(word in header(name) for word in ("section", "appendix", "table"))
    assert any(place in header(name) for place in ("arXiv:", "https://doi.org/"))
    assert entries["Command"] == f"canon train {name}"
    assert entries["Hardware"] == "2 CPU cores"
    # what nobody has measured is called an estimate
    measured = load_recipe(name).expect.measured
    if measured is None and name != "resnet20_fashion_mnist":
        assert entries["Time"].startswith("estimated ")
    words = entries["Time"].partition(",")[0].removeprefix("estimated ").removeprefix("about ").split()
    assert words[1:2] in (["minute"], ["minutes"]) or words == ["under", "a", "minute"]
    if words[0].isdigit():
        assert int(words[0]) <= LONGEST


@pytest.mark.parametrize("name", RECIPES)
def test_the_paper_and_the_measurement_are_kept_apart(name):
    recipe = load_recipe(name)
    assert recipe.data.name in ("digits", "fashion_mnist")
    assert recipe.expect.paper_accuracy is None, "no paper has a figure for these data"
    assert recipe.expect.paper_source.endswith(".")


@pytest.mark.parametrize("name", RECIPES)
def test_the_model_of_a_recipe_can_be_created(name):
    section, row = load_recipe(name).model, zoo.info(load_recipe(name).model.name)
    # built without weights, which takes a part of the time
    model = unallocated(section.name, num_classes=10, input_shape=section.input_shape, overrides=section.overrides)
    assert 0 < sum(math.prod(weight.shape) for weight in model.trainable_weights) < 2e7
    assert row.preprocessing.fitted(section.input_shape or row.input_shape).channels == 1


@pytest.mark.parametrize("smoke", [False, True])
@pytest.mark.parametrize("name", RECIPES)
def test_the_schedule_of_a_recipe_fits_its_epochs(name, smoke):
    recipe = load_recipe(name, smoke=smoke)
    rate = learning_rate(recipe.optimizer, recipe.schedule, recipe.train, 20)
    last = 20 * recipe.train.epochs - 1
    values = [rate] if isinstance(rate, float) else [float(rate(0)), float(rate(last))]
    assert all(0.0 < value <= 1.00001 * recipe.optimizer.learning_rate for value in values)


def test_the_recipe_of_googlenet_weighs_its_auxiliary_losses():
    recipe = load_recipe("googlenet_auxiliary_fashion_mnist", smoke=True)
    assert recipe.train.auxiliary_weight == 0.3
    model = build(recipe, load(recipe.data.name))
    assert auxiliary_outputs(model) == ("auxiliary1", "auxiliary2")
    assert model.loss.weight == 0.3


@pytest.mark.parametrize("name", [pytest.param(name, marks=[] if name in DEFAULT else [pytest.mark.slow]) for name in RECIPES])
def test_every_recipe_runs_small(name, tmp_path):
    result = training.run(name, tmp_path / "run", smoke=True, verbose=False)
    assert np.all(np.isfinite(result.history["loss"]))
    assert 0.0 <= result.test_metrics["accuracy"] <= 1.0
    assert result.test_metrics["examples"] == len(result.test.truth)
    assert result.model.record.variant == load_recipe(name).model.name
    assert (tmp_path / "run" / "model.keras").is_file()
