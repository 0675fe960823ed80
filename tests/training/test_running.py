"""Runs end to end: every recipe's small version, run folders, reports, determinism, the commands."""

import csv
import json
import re
import shutil
import zipfile
from pathlib import Path

import keras
import numpy as np
import pytest
import typer
from PIL import Image
from typer.testing import CliRunner

from keras_canon import training, zoo
from keras_canon.cli import evaluate as evaluate_command
from keras_canon.cli import predict as predict_command
from keras_canon.cli import train as train_command
from keras_canon.training.recipe import load_recipe
from keras_canon.training.run_folder import check_folder
from keras_canon.zoo.errors import CanonError

FAST = "lenet5_modern_fashion_mnist"
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "finished"
    return training.run(FAST, out, smoke=True, overrides={"train.epochs": 3, "train.patience": 9}, verbose=False)


def test_the_folder_holds_what_it_should(finished):
    names = {path.name for path in finished.folder.iterdir()}
    assert names - {"mistakes.png"} == {
        *("recipe.toml", "history.csv", "events", "curves.png", "confusion.png"),
        *("checkpoints", "model.keras", "report.md", "report.html", "metrics.json"),
    }
    for picture in ("curves.png", "confusion.png"):
        content = (finished.folder / picture).read_bytes()
        assert content.startswith(PNG)
        assert len(content) > 10_000
    assert [path.name for path in (finished.folder / "checkpoints").iterdir()] == ["best.weights.h5"]
    assert {path.parent.name for path in (finished.folder / "events").rglob("events.out.tfevents.*")} == {"train", "validation"}
    rows = list(csv.DictReader((finished.folder / "history.csv").read_text(encoding="utf-8").splitlines()))
    assert [row["epoch"] for row in rows] == ["0", "1", "2"]
    assert set(rows[0]) == {"epoch", "loss", "accuracy", "val_loss", "val_accuracy", "learning_rate", "seconds"}
    np.testing.assert_allclose([float(row["val_loss"]) for row in rows], finished.history["val_loss"])


def test_the_recipe_in_the_folder_is_the_one_that_ran(finished):
    recipe = load_recipe(finished.folder / "recipe.toml")
    assert recipe == load_recipe(FAST, {"train.epochs": 3, "train.patience": 9}, smoke=True)


def test_metrics_are_those_of_the_test_split(finished):
    metrics = json.loads((finished.folder / "metrics.json").read_text(encoding="utf-8"))
    assert metrics["status"] == "finished"
    assert metrics["test"] == finished.test_metrics
    assert metrics["best_epoch"] == int(np.argmin(finished.history["val_loss"])) + 1
    assert metrics["validation"]["loss"] == min(finished.history["val_loss"])
    again = training.evaluate(finished.folder)
    assert again.accuracy == finished.test.accuracy
    np.testing.assert_array_equal(again.predicted, finished.test.predicted)


def test_the_best_weights_are_saved_with_all_that_belongs_to_them(finished):
    model = zoo.load_model(finished.folder / "model.keras")
    for one, other in zip(model.get_weights(), finished.model.get_weights(), strict=True):
        np.testing.assert_array_equal(one, other)
    assert model.record.labels == finished.test.class_names
    assert model.record.weights == f"recipe {FAST}, seed 0"
    assert model.record.preprocessing is not None
    validation = training.evaluate(finished.folder, split="validation")
    np.testing.assert_allclose(validation.cross_entropy, min(finished.history["val_loss"]), rtol=1e-5)
    with zipfile.ZipFile(finished.folder / "model.keras") as archive:
        assert not json.loads(archive.read("config.json")).get("compile_config")


def test_the_report_says_it_all(finished):
    report = (finished.folder / "report.md").read_text(encoding="utf-8")
    for heading in (
        "Result",
        "Curves",
        "Classes",
        "Confusion matrix",
        "Worst mistakes",
        "Model",
        "Data",
        "Environment",
        "How to reproduce",
    ):
        assert f"## {heading}\n" in report
    assert f"{finished.test.accuracy:.4f}" in report
    command = f"canon train {FAST} --smoke --set train.epochs=3 --set train.patience=9 --out {finished.folder}"
    assert command in report
    for picture in re.findall(r"!\[.*?\]\((.*?)\)", report):
        assert (finished.folder / picture).is_file()
    for name in finished.test.class_names:
        assert name in report


def test_the_expected_and_the_papers_figures_stand_beside_the_result(finished, tmp_path):
    import dataclasses
    import datetime

    from keras_canon.training.report import Outcome, write_report
    from keras_canon.training.sections import ExpectSection, Measured

    recipe = load_recipe(finished.folder / "recipe.toml")
    measured = Measured(0.9123, datetime.date(2026, 11, 29), 0, 15, 100.0, "2 CPU cores")
    recipe = dataclasses.replace(recipe, expect=ExpectSection(0.9905, "table 1 of the paper", measured))
    data = training.data.load(recipe.data.name)
    write_report(tmp_path, Outcome(recipe, "canon", data, finished.history, 0, finished.test, 1, 1.0, {"Python": "3"}))
    report = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "| expected | 0.9123 |" in report
    assert "2026-11-29" in report
    assert "| paper | 0.9905 | table 1 of the paper |" in report


def test_two_runs_are_equal_bit_for_bit(finished, tmp_path):
    again = training.run(finished.folder / "recipe.toml", tmp_path / "again", verbose=False)
    for one, other in zip(again.model.get_weights(), finished.model.get_weights(), strict=True):
        np.testing.assert_array_equal(one, other)
    for name in set(again.history) - {"seconds"}:
        assert again.history[name] == finished.history[name]


@pytest.mark.slow
def test_a_run_of_another_seed_is_another(finished, tmp_path):
    other_seed = training.run(finished.folder / "recipe.toml", tmp_path / "other", seed=1, verbose=False)
    assert other_seed.history["loss"] != finished.history["loss"]


@pytest.mark.slow
def test_early_stopping_keeps_the_best_epoch(tmp_path):
    class Spoil(keras.callbacks.Callback):
        """Break the weights from the second epoch on, so that the first stays the best."""

        def on_epoch_begin(self, epoch, logs=None):
            if epoch:
                self.model.set_weights([100.0 * weight for weight in self.model.get_weights()])

    overrides = {"train.epochs": 9, "train.patience": 2}
    result = training.run(FAST, tmp_path / "run", smoke=True, overrides=overrides, verbose=False, callbacks=[Spoil()])
    assert len(result.history["loss"]) == 3
    assert result.best_epoch == 0
    loss = training.evaluate(result.folder, split="validation").cross_entropy
    np.testing.assert_allclose(loss, result.history["val_loss"][0], rtol=1e-5)


class Interrupt(keras.callbacks.Callback):
    def __init__(self, epoch):
        super().__init__()
        self.epoch = epoch

    def on_epoch_begin(self, epoch, logs=None):
        if epoch == self.epoch:
            raise KeyboardInterrupt


def test_ctrl_c_keeps_the_best_weights_so_far(finished, tmp_path):
    out, changes = tmp_path / "run", {"train.epochs": 3, "train.patience": 9}
    with pytest.raises(training.RunInterrupted, match=r"epoch 1, val_loss .* are in .*model\.keras") as caught:
        training.run(FAST, out, smoke=True, overrides=changes, verbose=False, callbacks=[Interrupt(1)])
    assert "\n" not in str(caught.value)
    assert zoo.load_model(out / "model.keras").record.labels
    assert json.loads((out / "metrics.json").read_text(encoding="utf-8"))["status"] == "interrupted"
    # started again it goes on, and ends as if nothing had happened
    resumed = training.run(FAST, out, smoke=True, overrides=changes, verbose=False)
    for one, other in zip(resumed.model.get_weights(), finished.model.get_weights(), strict=True):
        np.testing.assert_array_equal(one, other)
    assert [name for name in resumed.history if resumed.history[name] != finished.history[name]] == ["seconds"]


def test_ctrl_c_in_the_first_epoch(tmp_path):
    with pytest.raises(training.RunInterrupted, match="before the end of the first epoch"):
        training.run(FAST, tmp_path / "run", smoke=True, verbose=False, callbacks=[Interrupt(0)])
    assert not (tmp_path / "run" / "model.keras").exists()
    assert check_folder(tmp_path / "run", load_recipe(FAST, smoke=True))


def test_a_finished_run_is_not_lost(finished, tmp_path):
    before = (finished.folder / "model.keras").read_bytes()
    with pytest.raises(CanonError, match=r"another folder with --out, or replace it with --overwrite"):
        training.run(FAST, finished.folder, smoke=True, verbose=False)
    with pytest.raises(CanonError, match="no key 'epoch'"):
        training.run(FAST, finished.folder, overrides={"train.epoch": 1}, smoke=True, overwrite=True, verbose=False)
    with pytest.raises(CanonError, match="has no option"):
        training.run(FAST, finished.folder, overrides={"optimizer.options": {"x": 1}}, smoke=True, overwrite=True, verbose=False)
    assert (finished.folder / "model.keras").read_bytes() == before
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(CanonError, match="no run wrote it"):
        training.run(FAST, tmp_path, smoke=True, overwrite=True, verbose=False)
    with pytest.raises(CanonError, match="is a file"):
        training.run(FAST, tmp_path / "thesis.txt", smoke=True, verbose=False)
    assert (tmp_path / "thesis.txt").read_text() == "mine"


def test_overwriting_removes_the_old_run_and_nothing_else(finished, tmp_path):
    out = tmp_path / "run"
    shutil.copytree(finished.folder, out)
    (out / "notes.txt").write_text("mine")
    (out / "events" / "old").mkdir()
    training.run(FAST, out, smoke=True, overwrite=True, overrides={"train.epochs": 1}, verbose=False)
    assert (out / "notes.txt").read_text() == "mine"
    assert not (out / "events" / "old").exists()


@pytest.mark.parametrize(
    ("overrides", "match"),
    [
        ({"train.batch_size": 1000}, "train.batch_size is 1000.*training examples"),
        ({"model.overrides": {"dropuot": 0.1}}, "dropuot"),
        ({"model.input_shape": [8, 8, 1]}, "cannot be built"),
        ({"schedule.warmup_epochs": 50.0}, "warmup_epochs must be at most"),
        ({"optimizer.name": "adamm"}, "'adam'"),
    ],
)
def test_what_cannot_be_run_is_refused_before_anything_is_written(overrides, match, tmp_path):
    with pytest.raises(CanonError, match=match):
        training.run(FAST, tmp_path / "run", overrides=overrides, smoke=True, verbose=False)
    assert not (tmp_path / "run").exists()


def test_a_recipe_object_is_run_as_it_stands(tmp_path):
    recipe = load_recipe(FAST, smoke=True)
    with pytest.raises(CanonError, match="load_recipe instead"):
        training.run(recipe, tmp_path / "run", seed=3)


def commands():
    app = typer.Typer()
    app.command("train")(train_command.train)
    app.command("evaluate")(evaluate_command.evaluate)
    app.command("predict")(predict_command.predict)
    return app


def test_the_commands_from_recipe_to_prediction(tmp_path):
    invoke = CliRunner().invoke
    out = str(tmp_path / "run")
    trained = invoke(commands(), ["train", FAST, "--smoke", "--set", "train.epochs=1", "--seed", "4", "--out", out])
    assert trained.exit_code == 0, trained.output
    assert "epoch 1/1" in trained.output
    assert "test accuracy" in trained.output
    assert load_recipe(Path(out) / "recipe.toml").train.seed == 4

    evaluated = invoke(commands(), ["evaluate", out, "--json"])
    assert json.loads(evaluated.output)["examples"] == 30
    assert "accuracy" in invoke(commands(), ["evaluate", out, "--split", "validation"]).output

    data = training.data.load(load_recipe(Path(out) / "recipe.toml").data.name)
    Image.fromarray(data.test.image(0)[..., 0]).save(tmp_path / "one.png")
    predicted = invoke(commands(), ["predict", out, str(tmp_path / "one.png"), "--top", "2", "--json"])
    [answer] = json.loads(predicted.output)
    assert next(iter(answer["classes"])) == data.class_names[training.evaluate(out).predicted[0]]
    assert "one.png" in "".join(invoke(commands(), ["predict", out, str(tmp_path / "one.png")]).output.split())


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        (["train", "lenet5_digit"], "lenet5_digits"),
        (["train", "lenet5_digits", "--set", "train.epochs"], "KEY=VALUE"),
        (["train", "lenet5_digits", "--set", "train.epochs=many"], "an integer"),
        (["evaluate", "absent"], "There is no model file"),
        (["predict", ".", "x.png"], "no model.keras"),
    ],
)
def test_bad_input_is_one_sentence(arguments, match, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(commands(), arguments)
    assert isinstance(result.exception, CanonError)
    assert re.search(match, str(result.exception))
    assert "\n" not in str(result.exception)


def test_changes_are_read_as_toml():
    changes = ["train.epochs=3", "model.overrides={ dropout = 0.2 }", "data.name=folder:a b", 'data.name="x"', "train.deterministic=false"]
    assert [train_command.parse_changes([change]) for change in changes] == [
        {"train.epochs": 3},
        {"model.overrides": {"dropout": 0.2}},
        {"data.name": "folder:a b"},
        {"data.name": "x"},
        {"train.deterministic": False},
    ]
