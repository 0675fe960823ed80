"""Runs side by side, from folders as `run` leaves them: finished, unfinished, of other recipes and data."""

import json
import subprocess
import sys

import pytest

from keras_canon import training
from keras_canon.training.recipe import load_recipe, recipe_toml
from keras_canon.training.writing import write_table
from keras_canon.zoo.errors import CanonError


def make_run(folder, overrides=None, *, status="finished", epochs=3, loss=0.5, name="lenet5_digits", processor="one"):
    """A folder as a run leaves it, without the run."""
    folder.mkdir(parents=True)
    (folder / "recipe.toml").write_text(recipe_toml(load_recipe(name, overrides)), encoding="utf-8")
    names = ("loss", "accuracy", "val_loss", "val_accuracy", "learning_rate", "seconds")
    if epochs:
        write_table(folder / "history.csv", [{"epoch": epoch, **dict.fromkeys(names, loss / (epoch + 1))} for epoch in range(epochs)])
    metrics = {
        "status": status,
        "recipe": name,
        "best_epoch": epochs,
        "validation": {"loss": loss, "accuracy": 0.9},
        "test": {"accuracy": 0.875, "cross_entropy": 0.4321},
        "parameters": 61706,
        "seconds": 12.3,
        "images_per_second": 5432.1,
        "environment": {"processor": processor},
    }
    if status == "interrupted":
        metrics = {key: metrics[key] for key in ("status", "recipe", "best_epoch")}
    if status != "unfinished":
        (folder / "metrics.json").write_text(json.dumps(metrics), encoding="utf-8")
    return folder


def test_two_finished_runs(tmp_path):
    one = make_run(tmp_path / "one")
    two = make_run(tmp_path / "two", {"optimizer.learning_rate": 0.007, "train.batch_size": 7}, loss=0.25)
    found = training.compare([one, two])
    assert found.rows()[1] == {
        "run": "two",
        "recipe": "lenet5_digits",
        "parameters": "61,706",
        "epochs": f"3 of {load_recipe('lenet5_digits').train.epochs}",
        "best epoch": "3",
        "val loss": "0.2500",
        "val accuracy": "0.9000",
        "test accuracy": "0.8750",
        "test loss": "0.4321",
        "seconds": "12",
        "examples/s": "5,432",
    }
    assert set(found.differing) == {"optimizer.learning_rate", "train.batch_size"}
    before = load_recipe("lenet5_digits")
    assert found.changes() == [
        ("optimizer.learning_rate", str(before.optimizer.learning_rate), "0.007"),
        ("train.batch_size", str(before.train.batch_size), "7"),
    ]
    assert found.notes == ()


def test_a_key_that_only_one_recipe_has(tmp_path):
    runs = [make_run(tmp_path / "one"), make_run(tmp_path / "two", {"augment.noise": 2.0}), make_run(tmp_path / "three")]
    assert training.compare(runs).changes() == [("augment.noise", "-", "2.0", "-")]


@pytest.mark.parametrize(("status", "epochs"), [("unfinished", 0), ("unfinished", 2), ("interrupted", 2)])
def test_an_unfinished_run_is_told(status, epochs, tmp_path):
    found = training.compare([make_run(tmp_path / "one"), make_run(tmp_path / "two", status=status, epochs=epochs)])
    [note] = found.notes
    assert note.startswith(f"two is {status} after {epochs} of ")
    assert found.rows()[1]["test accuracy"] == "-"
    assert found.rows()[1]["val loss"] == ("0.2500" if epochs else "-")
    assert (found.write(tmp_path / "out").parent / "compare.png").is_file()


@pytest.mark.parametrize(
    ("overrides", "match"),
    [
        ({"data.seed": 1}, "different data or splits"),
        ({"data.name": "fashion_mnist"}, "different data or splits"),
        ({"train.l2": 1e-3}, "differ in train.l2"),
        ({"train.loss_options": {"label_smoothing": 0.1}, "train.loss": "cross_entropy"}, "train.loss"),
    ],
)
def test_what_cannot_be_compared_is_told(overrides, match, tmp_path):
    found = training.compare([make_run(tmp_path / "one"), make_run(tmp_path / "two", overrides)])
    assert match in " ".join(found.notes)


def test_other_recipes_and_other_machines(tmp_path):
    found = training.compare(
        [make_run(tmp_path / "one"), make_run(tmp_path / "two", name="lenet5_modern_fashion_mnist", processor="other")]
    )
    assert [row["recipe"] for row in found.rows()] == ["lenet5_digits", "lenet5_modern_fashion_mnist"]
    assert "model.name" in found.differing
    assert any("different machines" in note for note in found.notes)


def test_it_is_written(tmp_path):
    one, two = make_run(tmp_path / "a" / "run"), make_run(tmp_path / "b|<c>" / "run", {"train.batch_size": 7})
    path = training.compare([one, two]).write(tmp_path / "out")
    text = path.read_text(encoding="utf-8")
    assert "| a/run | lenet5_digits | 61,706 |" in text
    assert "| b\\|\\<c>/run |" in text
    assert "| `train.batch_size` |" in text
    assert "![Loss and accuracy of all runs by epoch](compare.png)" in text
    assert (tmp_path / "out" / "compare.png").read_bytes().startswith(b"\x89PNG")


def test_runs_that_are_alike(tmp_path):
    path = training.compare([make_run(tmp_path / "one"), make_run(tmp_path / "two")]).write(tmp_path / "out")
    assert "All runs have the same recipe." in path.read_text(encoding="utf-8")


def test_bad_input_is_one_sentence(tmp_path):
    one = make_run(tmp_path / "one")
    broken = make_run(tmp_path / "broken")
    (broken / "metrics.json").write_text("{")
    (tmp_path / "file").write_text("")
    for folders, match in [
        ([one], "two or more"),
        ([one, tmp_path / "absent"], "There is no run in"),
        ([one, tmp_path / "one" / ".." / "one"], "named twice"),
        ([one, broken], "cannot be read"),
    ]:
        with pytest.raises(CanonError, match=match) as caught:
            training.compare(folders)
        assert "\n" not in str(caught.value)
    with pytest.raises(CanonError, match="cannot be made"):
        training.compare([one, make_run(tmp_path / "two")]).write(tmp_path / "file" / "out")


def test_it_needs_no_tensorflow(tmp_path):
    folders = [str(make_run(tmp_path / name)) for name in ("one", "two")]
    code = f"import sys; from keras_canon.training import compare; compare({folders!r}); assert 'tensorflow' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_fine_tuning_and_a_run_on_sequences(tmp_path):
    one, two = make_run(tmp_path / "one"), make_run(tmp_path / "two")
    rows = [{"epoch": 0, "phase": "head", "loss": 1.0, "val_loss": 0.5}, {"epoch": 1, "phase": "all", "loss": 0.5, "val_loss": ""}]
    write_table(one / "history.csv", rows)
    metrics = json.loads((two / "metrics.json").read_text(encoding="utf-8"))
    metrics["sequences_per_second"] = metrics.pop("images_per_second")
    (two / "metrics.json").write_text(json.dumps(metrics), encoding="utf-8")
    found = training.compare([one, two])
    assert found.runs[0].history["val_loss"] == pytest.approx([0.5, float("nan")], nan_ok=True)
    assert [row["examples/s"] for row in found.rows()] == ["5,432", "5,432"]
