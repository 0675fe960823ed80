"""The learning-rate range test, and `canon train --find-lr`."""

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from keras_canon.cli import train as train_command
from keras_canon.training import diagnosis, rate_range
from keras_canon.training.diagnosis import diagnose
from keras_canon.training.figures import draw_rate_range
from keras_canon.training.rate_range import find_rate, smooth, suggest
from keras_canon.training.recipe import load_recipe
from keras_canon.zoo.errors import CanonError

FAST = "lenet5_modern_fashion_mnist"
DATA = "synthetic:classes=10,size=28,channels=1,examples=120"


def test_smoothing_by_hand():
    np.testing.assert_allclose(smooth([2.0, 1.0]), [2.0, (0.9 * 0.2 + 0.1) / 0.19])
    np.testing.assert_allclose(smooth([3.0] * 5), [3.0] * 5)


def test_the_suggestion_is_where_the_loss_falls_fastest():
    rates = np.geomspace(1e-6, 1.0, 200)
    # a step down around 1e-3 over the logarithm, then a wall at 1e-1
    losses = 2.0 - 1.5 / (1.0 + np.exp(-3.0 * (np.log(rates) - np.log(1e-3)))) + (rates / 0.3) ** 4
    assert 1e-3 < suggest(rates, losses) < 4e-3  # smoothing comes a little later
    with pytest.raises(CanonError, match="ran away before it fell"):
        suggest(rates, np.exp(np.arange(200.0)))
    with pytest.raises(CanonError, match="ran away before it fell"):
        suggest([], [])


def test_a_recipe_is_tested_with_its_own_data_and_optimizer(tmp_path):
    recipe = load_recipe(FAST, {"augment.mixup": 0.2, "optimizer.clip_global_norm": 5.0}, smoke=True)
    found = find_rate(recipe, updates=60)
    assert found.rates[0] == np.float32(1e-6)
    np.testing.assert_allclose(np.diff(np.log(found.rates)), np.log(1e7) / 59, rtol=1e-3)
    assert len(found.rates) == len(found.losses) == len(found.smoothed) > 20
    assert 1e-6 < found.suggestion < 1.0
    again = find_rate(recipe, updates=60)
    np.testing.assert_allclose(again.losses[:20], found.losses[:20], rtol=1e-4)
    draw_rate_range(found.rates, found.losses, found.smoothed, found.suggestion, tmp_path / "range.png", title="a test")
    assert (tmp_path / "range.png").stat().st_size > 10_000


@pytest.mark.parametrize("keys", [{"low": 0.0}, {"low": 2.0, "high": 1.0}, {"updates": 3}])
def test_bad_bounds(keys):
    with pytest.raises(CanonError, match="range test"):
        find_rate(load_recipe(FAST, smoke=True), **keys)


def test_the_command_draws_a_picture_and_touches_no_run(tmp_path):
    app = typer.Typer()
    app.command()(train_command.train)
    result = CliRunner().invoke(app, [FAST, "--smoke", "--find-lr", "--out", str(tmp_path / "runs")])
    assert result.exit_code == 0, result.output
    assert "optimizer.learning_rate=" in result.output
    assert [path.name for path in (tmp_path / "runs").iterdir()] == [f"{FAST}_learning_rate.png"]


@pytest.mark.parametrize("look", [find_rate, diagnose])
def test_what_is_not_for_pictures_from_random_weights_is_refused(look):
    with pytest.raises(CanonError, match="holds sequences"):
        look(load_recipe("adding_lstm", smoke=True))
    with pytest.raises(CanonError, match=r"\[transfer\]"):
        look(load_recipe(FAST, {"transfer.weights": "imagenet"}, smoke=True))


@pytest.mark.parametrize(("module", "look"), [(rate_range, find_rate), (diagnosis, diagnose)])
def test_the_precision_auto_is_resolved(module, look, monkeypatch):
    def build(recipe, data):
        raise InterruptedError(recipe.train.precision)

    monkeypatch.setattr(module, "build", build)
    recipe = load_recipe(FAST, {"train.precision": "auto", "data.name": DATA}, smoke=True)
    with pytest.raises(InterruptedError, match=r"float32|mixed"):
        look(recipe)
