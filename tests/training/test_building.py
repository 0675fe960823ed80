"""From a recipe to a model: how pictures become its input can be changed, and stays with the model."""

import dataclasses

import numpy as np
import pytest

from keras_canon import training, zoo
from keras_canon.training.building import build
from keras_canon.training.data import load
from keras_canon.training.data.loading_sequences import load_sequences

DATA = "synthetic:classes=3,size=28,channels=1,examples=60"
SMALL = {
    "data.name": DATA,
    "train.epochs": 1,
    "train.batch_size": 24,
    "model.overrides": {"widths": [4, 4, 4, 4, 4], "hidden_units": [8, 8]},
}
NAME = "vgg11_bn_fashion_mnist"


def changed(**preprocessing):
    return training.load_recipe(NAME, {**SMALL, "model.preprocessing": preprocessing})


def test_what_changes_is_what_was_asked_for():
    data = load(DATA)
    plain, whole = build(changed(), data).record.preprocessing, build(changed(fraction=1, resize="squash"), data).record.preprocessing
    assert plain.fraction == 0.875
    assert whole == dataclasses.replace(plain, fraction=1.0, resize="squash")
    frame = np.pad(np.zeros((1, 26, 26, 1), "uint8"), ((0, 0), (1, 1), (1, 1), (0, 0)), constant_values=255)
    borders = [np.asarray(zoo.apply_preprocessing(frame, one))[0, 0, 16, 0] for one in (plain, whole)]
    assert borders[0] == pytest.approx(-float(plain.mean[0]))  # the border is cut off
    assert borders[1] > 0.0


def test_it_is_saved_with_the_model_and_in_the_runs_recipe(tmp_path):
    training.run(changed(fraction=1.0), tmp_path / "run", verbose=False)
    assert zoo.load_model(tmp_path / "run").record.preprocessing.fraction == 1.0
    assert training.load_recipe(tmp_path / "run" / "recipe.toml").model.preprocessing == {"fraction": 1.0}


def test_fine_tuning_changes_what_the_weights_brought(tmp_path):
    training.run(changed(fraction=0.75), tmp_path / "run", verbose=False)
    kept, asked = tmp_path / "kept", tmp_path / "asked"
    options = {"train.epochs": 2, "transfer.head_epochs": 1, "transfer.stages": 1, "train.batch_size": 16}
    model = training.finetune("vgg11_bn", DATA, kept, weights=str(tmp_path / "run"), overrides=options, verbose=False).model
    assert model.record.preprocessing.fraction == 0.75
    options = {**options, "model.preprocessing.fraction": 0.9}
    model = training.finetune("vgg11_bn", DATA, asked, weights=str(tmp_path / "run"), overrides=options, verbose=False).model
    assert model.record.preprocessing.fraction == 0.9


@pytest.mark.parametrize(
    ("preprocessing", "message"),
    [
        ({"fractoin": 1.0}, r"key in model\.preprocessing called 'fractoin'.*fraction"),
        ({"fraction": 1.5}, r"model\.preprocessing.*fraction must be above 0 and at most 1, got 1\.5"),
        ({"size": [28, 28]}, r"size in model\.preprocessing follows from model\.input_shape"),
        ({"channels": 3}, r"channels in model\.preprocessing follows from model\.input_shape"),
        ({"mean": [0.0, 1.0]}, r"model\.preprocessing.*mean must have 1 or 1 values, got 2"),
    ],
)
def test_refusals(preprocessing, message):
    with pytest.raises(zoo.CanonError, match=message):
        build(changed(**preprocessing), load(DATA))


def test_sequences_have_none():
    recipe = training.load_recipe("adding_lstm", {"model.preprocessing": {"fraction": 1.0}}, smoke=True)
    with pytest.raises(zoo.CanonError, match=r"model\.preprocessing changes pictures, and 'adding.*' holds sequences"):
        build(recipe, load_sequences(recipe.data.name))
