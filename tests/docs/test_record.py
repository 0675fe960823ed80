"""The figures of runs in recipes, and those of recipes in the README."""

import datetime
import json
import tomllib
from pathlib import Path

import pytest
import record
from record import readme_tables, recorded, with_tables

from keras_canon import training

ROOT = Path(__file__).parents[2]
METRICS = {
    "recipe": "lenet5_digits",
    "seed": 3,
    "epochs": 23,
    "test": {"accuracy": 0.98765, "macro_f1": 0.98761},
    "parameters": 60_000,
    "seconds": 125.4,
    "environment": {"accelerators": "none", "cores": "1", "processor": "a processor"},
}
DAY = datetime.date(2026, 1, 2)


def test_the_readme_has_the_rows_of_what_the_recipes_measured():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    rows, others = readme_tables()
    assert [line for line in text.splitlines() if line.startswith("| `")] == rows + others
    assert len(rows) > 5 < len(others)
    assert with_tables(text) == text
    assert with_tables(text.replace(rows[0], "| `old` | 1 |").replace(others[-1] + "\n", "")) == text


@pytest.mark.parametrize("name", ["lenet5_digits", "resnet20_fashion_mnist", "crnn_ctc_lines"])
def test_a_recipe_keeps_all_but_what_was_measured(name):
    before = (ROOT / "training" / "recipes" / f"{name}.toml").read_text(encoding="utf-8")
    after = recorded(before, METRICS, DAY, ["macro_f1"])
    assert recorded(after, METRICS, DAY, ["macro_f1"]) == after
    old, new = tomllib.loads(before), tomllib.loads(after)
    old["expect"].pop("measured", None)
    measured = new["expect"].pop("measured")
    assert old == new
    assert list(old) == list(new)
    assert measured == {
        "test_accuracy": 0.9877,
        "parameters": 60_000,
        "date": DAY,
        "seed": 3,
        "epochs": 23,
        "seconds": 125,
        "hardware": "1 CPU core (a processor)",
        "figures": {"macro_f1": 0.9876},
    }
    assert "# Time:     about 2 minutes\n" in after
    assert after.count("# Time:") == 1


def test_only_a_run_of_the_recipe_as_it_stands_is_recorded(tmp_path, monkeypatch):
    recipes, run = tmp_path / "recipes", tmp_path / "run"
    recipes.mkdir()
    run.mkdir()
    text = (ROOT / "training" / "recipes" / "lenet5_digits.toml").read_text(encoding="utf-8")
    (recipes / "lenet5_digits.toml").write_text(text, encoding="utf-8")
    monkeypatch.setattr(record, "RECIPES", recipes)
    (run / "metrics.json").write_text(json.dumps(METRICS), encoding="utf-8")
    (run / "recipe.toml").write_text(text, encoding="utf-8")
    record.record(run, [])
    assert training.load_recipe(recipes / "lenet5_digits.toml").expect.measured.test_accuracy == 0.9877
    with pytest.raises(SystemExit, match="has no figure 'words' of the test split: name some of accuracy, macro_f1"):
        record.record(run, ["words"])
    (run / "recipe.toml").write_text(text.replace("epochs = ", "epochs = 1"), encoding="utf-8")
    with pytest.raises(SystemExit, match=r"was run with another recipe than lenet5_digits\.toml as it stands"):
        record.record(run, [])
