"""What earlier releases saved is loaded and answers as it did then: models, weights, bundles, recipes."""

import importlib.util
import json
from pathlib import Path

import keras
import numpy as np
import pytest

from keras_canon import serving, training, zoo

HERE = Path(__file__).parent
SPEC = importlib.util.spec_from_file_location("compatibility_make", HERE / "make.py")
make = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(make)

RELEASES = sorted(path.name for path in HERE.iterdir() if (path / "answers.json").exists())
SAVED = [(release, name) for release in RELEASES for name in json.loads((HERE / release / "answers.json").read_text(encoding="utf-8"))]


def answers(release: str, name: str) -> np.ndarray:
    return np.array(json.loads((HERE / release / "answers.json").read_text(encoding="utf-8"))[name], "float32")


def near(found, wanted: np.ndarray) -> None:
    np.testing.assert_allclose(np.asarray(found), wanted, rtol=0, atol=1e-5 * float(np.abs(wanted).max()))


def test_there_is_a_release():
    assert RELEASES


@pytest.mark.parametrize(("release", "name"), SAVED)
def test_a_saved_model_answers_as_it_did(release, name):
    model = zoo.load_model(HERE / release / name / "model.keras")
    assert model.record.variant == name
    near(model(make.inputs(name), training=False), answers(release, name))


@pytest.mark.parametrize(("release", "name"), SAVED)
def test_saved_weights_are_loaded_into_a_new_model(release, name):
    keras.utils.set_random_seed(7)
    model = zoo.create(name, **make.MODELS[name])
    report = zoo.load_weights(model, HERE / release / name / "model.weights.h5")
    assert not report.missing
    assert not report.unused
    near(model(make.inputs(name), training=False), answers(release, name))


@pytest.mark.parametrize(("release", "name"), [(release, name) for release, name in SAVED if (HERE / release / name / "bundle").exists()])
def test_a_bundle_answers_as_it_did(release, name):
    servable = serving.load(HERE / release / name / "bundle")
    assert servable.labels == ("a", "b", "c")
    near(servable.predict(make.inputs(name))["logits"], answers(release, name))


@pytest.mark.parametrize("release", RELEASES)
def test_a_resolved_recipe_is_read(release):
    recipe = training.load_recipe(HERE / release / "recipe.toml")
    assert recipe.model.name == "lenet5"
    assert recipe.train.epochs > 1
