"""Searches: cases B52, B53 and B55, each over all methods; folders and reports. Most runs are stood in for."""

import csv
import json
import math
import sys
import tomllib
from pathlib import Path

import keras
import pytest

from keras_canon import training
from keras_canon.training import tuning, tuning_search
from keras_canon.training.recipe import load_recipe
from keras_canon.training.tune_section import Range, TuneSection
from keras_canon.training.tuning_points import point
from keras_canon.zoo.errors import CanonError

RECIPE = """
[model]
name = "lenet5_modern"
[data]
name = "synthetic:classes=3,size=28,channels=1,examples=60"
[optimizer]
name = "adam"
learning_rate = 0.01
[train]
epochs = {epochs}
batch_size = 8
[tune.space]
optimizer.learning_rate = {{ floats = [1e-4, 1e-1], sampling = "log" }}
train.batch_size = {{ choices = [8, 16, 32] }}
augment.crop_padding = {{ integers = [1, 4] }}
"""
METHODS = ("random", "hyperband", "bayesian")


class Killed(BaseException):
    """Stands for the end of the process."""


class Runs:
    """In the place of `run`: a loss that the recipe decides, what a run leaves behind, and a kill when asked for."""

    def __init__(self, loss=None, kill_at=None):
        self.loss = loss or (lambda recipe: abs(math.log10(recipe.optimizer.learning_rate) + 2.0) + recipe.train.batch_size / 100.0)
        self.kill_at, self.recipes, self.folders = kill_at, [], []

    def __call__(self, recipe, folder, *, verbose):
        self.recipes.append(recipe)
        self.folders.append(folder.name)
        folder.mkdir(parents=True, exist_ok=True)
        if len(self.recipes) == self.kill_at:
            (folder / "half.h5").write_text("of a checkpoint")
            raise Killed
        loss = self.loss(recipe)
        figures = {"epochs": recipe.train.epochs, "best_epoch": 1, "parameters": 10, "seconds": 0.5, "test": {"accuracy": 0.0}}
        (folder / "metrics.json").write_text(
            json.dumps({"status": "finished", "validation": {"loss": loss, "accuracy": 1.0 - loss}, **figures})
        )


@pytest.fixture
def runs(monkeypatch):
    def stand_in(**arguments):
        made = Runs(**arguments)
        monkeypatch.setattr(tuning_search, "run", made)
        # nothing was built that would have to be forgotten
        monkeypatch.setattr(keras.utils, "clear_session", lambda: None)
        return made

    return stand_in


@pytest.fixture
def recipe(tmp_path):
    path = tmp_path / "own.toml"
    path.write_text(RECIPE.format(epochs=9), encoding="utf-8")
    return path


def search(recipe, out, trials, method="random", **arguments):
    return training.tune(recipe, out, max_trials=trials, method=method, verbose=False, **arguments)


def values(result):
    return [dict(trial.values) for trial in result.trials]


@pytest.mark.parametrize("method", [method if method == "random" else pytest.param(method, marks=pytest.mark.slow) for method in METHODS])
def test_b52_a_search_that_was_killed_goes_on(method, recipe, tmp_path, runs):
    if method == "bayesian":
        # with one key it draws from its model from the fourth point on
        recipe = recipe.with_name("own.toml")
        text = recipe.read_text(encoding="utf-8").splitlines()
        recipe.write_text("\n".join(line for line in text if not line.startswith(("train.", "augment."))), encoding="utf-8")
    runs()
    unbroken = search(recipe, tmp_path / "unbroken", 8, method)
    killed = runs(kill_at=3)
    with pytest.raises(Killed):
        search(recipe, tmp_path / "out", 6, method)
    assert killed.folders == ["001", "002", "003"]
    resumed = runs()
    six = search(recipe, tmp_path / "out", 6, method)
    # the first two are not run again, the third is the one that was killed
    assert resumed.folders == ["003", "004", "005", "006"]
    assert [trial.number for trial in six.trials] == [1, 2, 3, 4, 5, 6]
    assert all(trial.status == "finished" for trial in six.trials)
    assert six.best.objective == min(trial.objective for trial in six.trials)
    # once more, with nothing left to do
    nothing = runs()
    assert values(search(recipe, tmp_path / "out", 6, method)) == values(six)
    assert nothing.folders == []
    # more of them, and killed again on the way
    runs(kill_at=1)
    with pytest.raises(Killed):
        search(recipe, tmp_path / "out", 8, method)
    more = runs()
    eight = search(recipe, tmp_path / "out", 8, method)
    assert more.folders == ["007", "008"]
    assert values(eight) == values(unbroken)
    assert [trial.objective for trial in eight.trials] == [trial.objective for trial in unbroken.trials]
    assert eight.best == unbroken.best
    assert eight.best.objective == min(trial.objective for trial in eight.trials)


def test_b52_hyperband_gives_the_best_more_epochs(recipe, tmp_path, runs):
    runs(kill_at=12)
    with pytest.raises(Killed):
        search(recipe, tmp_path / "out", 15, "hyperband")
    runs()
    trials = search(recipe, tmp_path / "out", 15, "hyperband").trials
    first, second = trials[:9], [trial for trial in trials if trial.epochs == 3]
    assert [trial.epochs for trial in first] == [1] * 9
    best = sorted(first, key=lambda trial: trial.objective)[:2]
    assert [dict(trial.values) for trial in second[:2]] == [dict(trial.values) for trial in best]


def test_b52_killed_while_the_result_is_written(recipe, tmp_path, runs, monkeypatch):
    runs()
    real = tuning_search.write_trial

    def killed(search, trial):
        real(search, trial)
        raise Killed

    # after the file of the trial and before the journal; then before the file of the trial and after its run
    for stand_in in (killed, lambda search, trial: (_ for _ in ()).throw(Killed)):
        monkeypatch.setattr(tuning_search, "write_trial", stand_in)
        with pytest.raises(Killed):
            search(recipe, tmp_path / "out", 3)
    monkeypatch.setattr(tuning_search, "write_trial", real)
    resumed = runs()
    assert len(search(recipe, tmp_path / "out", 3).trials) == 3
    assert resumed.folders == ["003"]


def test_b52_another_seed_draws_other_points(recipe, tmp_path, runs):
    runs()
    first, again, other = (search(recipe, tmp_path / name, 4, seed=seed) for name, seed in (("a", 0), ("b", 0), ("c", 1)))
    assert values(first) == values(again)
    assert values(first) != values(other)


def b53_loss(recipe):
    if recipe.augment.crop_padding == 3:
        raise RuntimeError("cannot be built\nwith many lines")
    return math.nan if recipe.augment.crop_padding == 1 else 1.0


@pytest.fixture
def b53_recipe(tmp_path):
    path = tmp_path / "b53.toml"
    text = RECIPE.format(epochs=4).split("[tune.space]")[0]
    path.write_text(text + "[tune.space]\naugment.crop_padding = { choices = [1, 2, 3] }\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("method", METHODS)
def test_b53_failed_and_nan_trials_are_listed(method, b53_recipe, tmp_path, runs, capsys):
    runs(loss=b53_loss)
    result = search(b53_recipe, tmp_path / "out", 3, method, seed=3)
    assert sorted(trial.values["augment.crop_padding"] for trial in result.trials) == [1, 2, 3]
    assert result.best.objective == 1.0
    reasons = {trial.values["augment.crop_padding"]: trial.reason for trial in result.failed}
    assert reasons == {1: "val_loss is nan.", 3: "RuntimeError: cannot be built"}
    report = (tmp_path / "out" / "tuning.md").read_text(encoding="utf-8")
    for reason in reasons.values():
        assert reason in report
    [number] = [trial.number for trial in result.failed if trial.values["augment.crop_padding"] == 3]
    assert "with many lines" in (tmp_path / "out" / "trials" / f"{number:03d}" / "error.txt").read_text(encoding="utf-8")
    assert "Traceback" not in "".join(capsys.readouterr())


@pytest.mark.parametrize("method", METHODS)
def test_b53_when_all_fail_the_last_reason_is_told(method, recipe, tmp_path, runs):
    def fail(recipe):
        raise ValueError(f"not with {recipe.train.batch_size}")

    runs(loss=fail)
    with pytest.raises(RuntimeError, match=r"All 5 trials failed.*ValueError: not with") as caught:
        search(recipe, tmp_path / "out", 5, method)
    assert isinstance(caught.value, CanonError)
    rows = list(csv.DictReader((tmp_path / "out" / "trials.csv").read_text(encoding="utf-8").splitlines()))
    assert str(caught.value).endswith(rows[-1]["reason"])
    assert not (tmp_path / "out" / "best.toml").exists()


def test_b53_the_bayesian_method_goes_on_after_failures(recipe, tmp_path, runs):
    def fail(recipe):
        return math.nan if recipe.train.batch_size == 8 else recipe.optimizer.learning_rate

    runs(loss=fail)
    result = search(recipe, tmp_path / "out", 12, "bayesian")
    assert len(result.trials) == 12
    assert 0 < len(result.failed) < 5
    assert all(trial.values["train.batch_size"] == 8 for trial in result.failed)


def test_b53_a_full_disk_is_no_failed_trial(recipe, tmp_path, runs):
    def full(recipe):
        raise CanonError("The disk of 'x' is full.") from OSError(28, "No space left on device")

    runs(loss=full)
    with pytest.raises(CanonError, match="is full") as caught:
        search(recipe, tmp_path / "out", 3)
    assert not isinstance(caught.value, tuning.SearchFailed)
    resumed = runs()
    assert not search(recipe, tmp_path / "out", 3).failed
    assert resumed.folders == ["001", "002", "003"]


def test_b55_our_tuner_brings_what_it_needs():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert any(item.startswith("tensorboard>=") for item in project["dependencies"])
    assert any(item.startswith("keras-tuner>=1.4.8") for item in project["optional-dependencies"]["tune"])


@pytest.mark.parametrize("name", ["keras_tuner", "tensorboard"])
def test_b55_what_is_missing_is_told_before_the_first_trial(name, recipe, tmp_path, runs, monkeypatch):
    made = runs()
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(CanonError, match=r"pip install 'keras-canon\[tune\]'") as caught:
        search(recipe, tmp_path / "out", 2)
    assert "\n" not in str(caught.value)
    assert made.folders == []
    assert not (tmp_path / "out").exists()


def test_b55_two_real_trials(tmp_path):
    path = tmp_path / "own.toml"
    path.write_text(RECIPE.format(epochs=1), encoding="utf-8")
    result = search(path, tmp_path / "out", 2)
    assert [trial.status for trial in result.trials] == ["finished", "finished"]
    for trial in result.trials:
        folder = tmp_path / "out" / "trials" / f"{trial.number:03d}"
        metrics = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
        assert trial.objective == metrics["validation"]["loss"]
        assert trial.parameters == metrics["parameters"]
        ran = load_recipe(folder / "recipe.toml")
        assert ran.train.batch_size == trial.values["train.batch_size"]
        assert ran.tune == TuneSection()
    best = load_recipe(tmp_path / "out" / "best.toml")
    assert best.optimizer.learning_rate == result.best.values["optimizer.learning_rate"]
    assert best.name == "own_best"
    assert (tmp_path / "out" / "tuning.png").read_bytes().startswith(b"\x89PNG")


def test_the_objective_may_be_another_than_the_monitor(recipe, tmp_path, runs):
    runs()
    result = search(recipe, tmp_path / "out", 4, overrides={"tune.objective": "val_accuracy"})
    assert result.objective == "val_accuracy"
    assert result.best.objective == max(trial.objective for trial in result.trials)


def test_a_small_space_is_searched_to_its_end(b53_recipe, tmp_path, runs):
    runs(loss=lambda recipe: 1.0)
    assert len(search(b53_recipe, tmp_path / "out", 50).trials) == 3


def test_b52_the_bayesian_method_does_not_train_one_point_twice(b53_recipe, tmp_path, runs):
    made = runs(loss=lambda recipe: float(recipe.augment.crop_padding))
    result = search(b53_recipe, tmp_path / "out", 7, "bayesian")
    assert len(result.trials) == 7
    assert len(made.folders) == len({trial.objective for trial in result.trials}) <= 3
    repeated = [trial for trial in result.trials if trial.reason]
    assert len(repeated) == 7 - len(made.folders)
    assert all(trial.reason.startswith("the same point as trial") for trial in repeated)


def test_the_files_of_a_search(recipe, tmp_path, runs):
    runs(loss=lambda recipe: recipe.optimizer.learning_rate)
    result = search(recipe, tmp_path / "out", 5)
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        *("search.json", "recipe.toml", "best.toml", "trials.csv", "tuning.md", "tuning.png", "trials"),
    }
    rows = list(csv.DictReader((tmp_path / "out" / "trials.csv").read_text(encoding="utf-8").splitlines()))
    assert [float(row["optimizer.learning_rate"]) for row in rows] == [trial.objective for trial in result.trials]
    report = (tmp_path / "out" / "tuning.md").read_text(encoding="utf-8")
    table = report.split("## Trials")[1].splitlines()
    found = [int(line.split("|")[1]) for line in table if line.startswith("|") and line.split("|")[1].strip().isdigit()]
    assert found == [trial.number for trial in sorted(result.trials, key=lambda trial: trial.objective)]
    assert f"Trial {result.best.number}, val_loss {result.best.objective:.6g}" in report


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"overrides": {"tune.space.optimizer.learning_rate": {"floats": [1e-4, 1.0]}}}, "tune.space.optimizer.learning_rate.floats"),
        ({"overrides": {"tune.space.augment.noise": {"floats": [1.0, 2.0]}}}, "tune.space.augment.noise"),
        ({"overrides": {"train.epochs": 3}}, "train.epochs"),
        ({"overrides": {"tune.objective": "val_accuracy"}}, "tune.objective"),
        ({"method": "bayesian"}, "method"),
        ({"seed": 7}, "seed"),
    ],
)
def test_a_changed_search_is_refused_or_started_anew(change, match, recipe, tmp_path, runs):
    runs()
    before = search(recipe, tmp_path / "out", 3)
    unused = runs()
    with pytest.raises(CanonError, match=rf"search of something else \(.*{match}.*--restart") as caught:
        search(recipe, tmp_path / "out", 3, **change)
    assert "\n" not in str(caught.value)
    assert unused.folders == []
    assert values(search(recipe, tmp_path / "out", 3)) == values(before)
    anew = runs()
    search(recipe, tmp_path / "out", 2, restart=True, **change)
    assert anew.folders == ["001", "002"]
    assert len(list((tmp_path / "out" / "trials").iterdir())) == 2


def test_fewer_trials_than_there_are(recipe, tmp_path, runs):
    runs()
    search(recipe, tmp_path / "out", 4)
    assert len(search(recipe, tmp_path / "out", 2).trials) == 4


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"max_trials": 0}, "at least 1"),
        ({"method": "grid"}, "no method of tuning 'grid'"),
        ({"overrides": {"tune.space": {}}}, r"no \[tune.space\]"),
        ({"overrides": {"tune.space.train.batch_size": {"choices": [8, 0]}}}, "train.batch_size = 0.*at least 1"),
        ({"overrides": {"tune.space.optimizer.name": {"choices": [1, 2]}}}, "optimizer.name = 1.*a string"),
        ({"overrides": {"tune.space.train.epochs": {"integers": [1, 3]}}, "method": "hyperband"}, "itself sets train.epochs"),
    ],
)
def test_what_cannot_be_searched_is_refused_before_the_first_trial(arguments, match, recipe, tmp_path, runs):
    made = runs()
    with pytest.raises(CanonError, match=match) as caught:
        training.tune(recipe, tmp_path / "out", verbose=False, **arguments)
    assert "\n" not in str(caught.value)
    assert made.folders == []
    assert not (tmp_path / "out").exists()


def test_values_that_fit_to_some_others_may_be_searched(tmp_path, runs):
    path = tmp_path / "own.toml"
    text = RECIPE.format(epochs=4).split("[tune.space]")[0] + "[augment]\nmixup = 0.2\n"
    space = '[tune]\nobjective = "val_accuracy"\n[tune.space]\naugment.cutmix = { floats = [0.1, 0.9] }\n'
    path.write_text(
        text + space + "train.micro_batches = { choices = [1, 16] }\ntrain.batch_size = { choices = [8, 16] }\n", encoding="utf-8"
    )
    runs(loss=lambda recipe: 1.0 / recipe.train.batch_size)
    result = search(path, tmp_path / "out", 6)
    assert all("micro_batches must be at most" in trial.reason for trial in result.failed)
    assert all(trial.values["train.batch_size"] == 8 and trial.values["train.micro_batches"] == 16 for trial in result.failed)


def test_folders_of_others_are_left_alone(recipe, tmp_path, runs):
    runs()
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "one.txt").write_text("mine")
    with pytest.raises(CanonError, match="no search wrote it"):
        search(recipe, tmp_path / "thesis", 2, restart=True)
    with pytest.raises(CanonError, match="is a file"):
        search(recipe, tmp_path / "thesis" / "one.txt", 2)
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "search.json").write_text("{")
    with pytest.raises(CanonError, match="no journal"):
        search(recipe, tmp_path / "broken", 2)
    assert len(search(recipe, tmp_path / "broken", 2, restart=True).trials) == 2


def test_a_live_search_owns_its_folder(recipe, tmp_path, runs):
    def another(recipe_of_trial):
        with pytest.raises(CanonError, match="still going"):
            search(recipe, tmp_path / "out", 2)
        return 1.0

    runs(loss=another)
    search(recipe, tmp_path / "out", 1)


def test_ctrl_c(recipe, tmp_path, runs):
    def interrupt(recipe):
        raise KeyboardInterrupt

    runs(loss=interrupt)
    with pytest.raises(training.SearchInterrupted, match="same command again"):
        search(recipe, tmp_path / "out", 2)
    resumed = runs()
    search(recipe, tmp_path / "out", 2)
    assert resumed.folders == ["001", "002"]


def test_points_are_values_of_a_recipe():
    space = {
        "a": Range(choices=((1, 2), "x")),
        "b": Range(integers=(1, 8), sampling="log"),
        "c": Range(floats=(0.1, 0.9), step=0.1),
        "d": Range(floats=(0.123456, 1.0)),
        "e": Range(floats=(-1.0, 1.0)),
    }
    drawn = {"a": 0, "b": 3, "c": 0.30000000000000004, "d": 0.123456, "e": 0.0}
    assert point(space, drawn) == {"a": [1, 2], "b": 3, "c": 0.3, "d": 0.1235, "e": 0.0}
    assert point(space, {**drawn, "d": 0.12340001})["d"] == 0.123456


def test_a_cluster_of_one_run_is_refused(recipe, tmp_path, monkeypatch):
    cluster = {"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": 0}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(cluster))
    with pytest.raises(CanonError, match="TF_CONFIG"):
        search(recipe, tmp_path / "out", 2)


def test_half_a_set_of_variables_is_refused(recipe, tmp_path, monkeypatch):
    monkeypatch.setenv("KERASTUNER_ORACLE_IP", "127.0.0.1")
    with pytest.raises(CanonError, match="KERASTUNER_TUNER_ID"):
        search(recipe, tmp_path / "out", 2)
