"""`canon compare`."""

import pytest
from typer.testing import CliRunner

from keras_canon.cli.main import app
from keras_canon.training.recipe import load_recipe, recipe_toml
from keras_canon.training.writing import write_table
from keras_canon.zoo.errors import CanonError


def make_run(folder, overrides):
    folder.mkdir()
    (folder / "recipe.toml").write_text(recipe_toml(load_recipe("lenet5_digits", overrides)), encoding="utf-8")
    write_table(folder / "history.csv", [{"epoch": 0, "loss": 1.0, "accuracy": 0.5, "val_loss": 1.5, "val_accuracy": 0.25}])
    return str(folder)


def test_a_table_in_the_terminal_and_files_on_request(tmp_path):
    runs = [make_run(tmp_path / "one", {}), make_run(tmp_path / "[bold]two", {"train.batch_size": 7})]
    found = CliRunner().invoke(app, ["compare", *runs])
    assert found.exit_code == 0, found.output
    assert "one is unfinished after 1 of" in found.output
    assert "[bold]two" in found.output
    assert "train.batch_size" in found.output
    assert max(map(len, found.output.splitlines()[2:])) <= 80
    assert not (tmp_path / "out").exists()
    found = CliRunner().invoke(app, ["compare", *runs, "--out", str(tmp_path / "out")])
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"compare.md", "compare.png"}
    assert "compare.md" in found.output


def test_bad_input_is_one_sentence(tmp_path):
    found = CliRunner().invoke(app, ["compare", str(tmp_path), str(tmp_path / "absent")])
    with pytest.raises(CanonError, match="There is no run in"):
        raise found.exception
