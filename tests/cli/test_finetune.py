"""`canon finetune`."""

import re

import pytest
from typer.testing import CliRunner

from keras_canon import zoo
from keras_canon.cli.main import app
from keras_canon.training.recipe import load_recipe
from keras_canon.zoo.errors import CanonError

DATA = "synthetic:classes=4,size=16,channels=1,examples=60"


@pytest.fixture(autouse=True)
def prepared(monkeypatch, tmp_path_factory):
    monkeypatch.setenv("KERAS_CANON_DATA", str(tmp_path_factory.mktemp("prepared")))


def invoke(*arguments):
    return CliRunner().invoke(app, ["finetune", *map(str, arguments)])


def test_from_a_file_to_a_run(tmp_path):
    zoo.create("lenet5_modern", num_classes=7).save(tmp_path / "start.keras")
    data = "synthetic:classes=4,size=32,channels=1,examples=60"
    out = tmp_path / "run"
    found = invoke(
        tmp_path / "start.keras",
        "--data",
        data,
        "--out",
        out,
        "--epochs",
        2,
        "--seed",
        3,
        "--set",
        "transfer.stages=1",
        "--set",
        "train.batch_size=16",
    )
    assert found.exit_code == 0, found.output
    assert "phase 1/2 head" in found.output
    assert "the head is new" in found.output
    assert "test accuracy" in found.output
    recipe = load_recipe(out / "recipe.toml")
    assert (recipe.train.seed, recipe.train.epochs, recipe.transfer.stages) == (3, 2, 1)


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        (["resnet32", "--data", DATA], r"No weights are published for 'resnet32'.*--from-scratch"),
        (["lenet5_moderne", "--data", DATA], "'lenet5_modern'"),
        (["lenet5_modern", "--data", "absent/", "--from-scratch"], "There is no folder"),
        (["lenet5_modern", "--data", DATA, "--weights", "absent.keras"], "There are no weights 'absent.keras'"),
        (["lenet5_modern", "--data", DATA, "--from-scratch", "--weights", "x"], "keep one of them"),
        (["lenet5_modern", "--data", DATA, "--from-scratch", "--set", "transfer.stage=2"], "stages"),
    ],
)
def test_bad_input_is_one_sentence(arguments, match, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = invoke(*arguments)
    assert isinstance(found.exception, CanonError), found.output
    assert re.search(match, str(found.exception)), found.exception
    assert "\n" not in str(found.exception)
    assert not (tmp_path / "runs").exists()


def test_help_shows_an_example():
    found = CliRunner().invoke(app, ["finetune", "--help"])
    assert "canon finetune mobilenet_v2 --data photos/" in " ".join(found.output.split())
