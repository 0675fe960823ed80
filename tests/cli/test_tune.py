"""`canon tune`: what is shown and what is refused; runs are stood in for."""

import json

import pytest
from typer.testing import CliRunner

from keras_canon.cli.main import app
from keras_canon.training import tuning_search
from keras_canon.zoo.errors import CanonError

RECIPE = """
[model]
name = "lenet5_modern"
[data]
name = "digits"
[optimizer]
name = "adam"
learning_rate = 0.01
[train]
epochs = 2
batch_size = 8
[tune.space]
optimizer.learning_rate = { floats = [1e-4, 1e-1], sampling = "log" }
train.batch_size = { choices = [8, 16, 32] }
"""


def fake_run(recipe, folder, *, verbose):
    if recipe.train.batch_size == 8:
        raise CanonError("The loss became nan in epoch 1: lower optimizer.learning_rate.")
    folder.mkdir(parents=True)
    loss = recipe.optimizer.learning_rate
    figures = {
        "status": "finished",
        "validation": {"loss": loss, "accuracy": 0.5},
        "epochs": 2,
        "best_epoch": 1,
        "parameters": 9,
        "seconds": 3.0,
    }
    (folder / "metrics.json").write_text(json.dumps(figures))


@pytest.fixture
def invoke(tmp_path, monkeypatch):
    (tmp_path / "own.toml").write_text(RECIPE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tuning_search, "run", fake_run)
    return lambda *arguments: CliRunner().invoke(app, ["tune", *arguments])


def test_progress_and_result(invoke, tmp_path):
    found = invoke("own.toml", "--max-trials", "6")
    assert found.exit_code == 0, found.output
    assert "trial 1 of 6: optimizer.learning_rate=" in found.output
    assert "val_loss" in found.output
    assert "failed: The loss became nan in epoch 1" in found.output
    for name in ("tuning.md", "best.toml"):
        assert f"runs/own_tune/{name}" in found.output
        assert (tmp_path / "runs" / "own_tune" / name).is_file()
    # finished: shown again, nothing run
    again = invoke("own.toml", "--max-trials", "6")
    assert again.exit_code == 0
    assert "trial 1 of 6:" not in again.output


def test_restart(invoke):
    assert invoke("own.toml", "--max-trials", "2").exit_code == 0
    changed = ["own.toml", "--max-trials", "2", "--set", "train.epochs=3"]
    refused = invoke(*changed)
    with pytest.raises(CanonError, match=r"train.epochs changed.*--restart"):
        raise refused.exception
    assert invoke(*changed, "--restart").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        (["lenet5_digits"], r"no \[tune.space\]"),
        (["own.toml", "--method", "grid"], "no method of tuning"),
        (["own.toml", "--max-trials", "0"], "at least 1"),
        (["own.toml", "--workers", "0"], "at least 1"),
        (["own.toml", "--set", "tune.space.train.batch=8"], "must be a table"),
        (["absent.toml"], "no recipe file"),
        (["own.toml", "--out", "own.toml"], "is a file"),
    ],
)
def test_bad_input_is_one_sentence(arguments, match, invoke):
    found = invoke(*arguments)
    with pytest.raises(CanonError, match=match) as caught:
        raise found.exception
    assert "\n" not in str(caught.value)
