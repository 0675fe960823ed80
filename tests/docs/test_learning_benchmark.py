"""What is compared of runs that are there: nothing is trained again, and minutes and bits are those of their files."""

import json
import math
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

SPEC = spec_from_file_location("learning_benchmark", Path(__file__).parents[2] / "benchmarks" / "learning.py")
learning = sys.modules[SPEC.name] = module_from_spec(SPEC)
SPEC.loader.exec_module(learning)


def finished_run(folder, *, test, losses=(2.0, 1.0)):
    folder.mkdir(parents=True)
    found = {"status": "finished", "parameters": 1000, "test": test}
    (folder / "metrics.json").write_text(json.dumps(found), encoding="utf-8")
    rows = [f"{number},{loss},30.0" for number, loss in enumerate(losses)]
    (folder / "history.csv").write_text("\n".join(["epoch,val_loss,seconds", *rows]), encoding="utf-8")


def test_bits_over_minutes(tmp_path):
    for recipe in learning.LANGUAGE:
        finished_run(tmp_path / recipe, test={"bits_per_character": 1.5})
    report = learning.language(tmp_path)
    assert [row["curve"] for row in report.rows] == [[[0.5, 2.0 / math.log(2.0)], [1.0, 1.0 / math.log(2.0)]]] * 2
    assert "| 1,000 | 1 | 1.443 | 1.500 |" in report.table()[2]
    learning.draw(report, tmp_path / "language.png")
    assert (tmp_path / "language.png").stat().st_size > 10_000


def test_errors_over_epochs(tmp_path):
    for recipe in learning.ADDING:
        finished_run(tmp_path / recipe, test={"mean_squared_error": 0.005}, losses=(0.2, 0.006))
    report = learning.adding(tmp_path)
    assert report.rows[0]["curve"] == [[1, 0.2], [2, 0.006]]
    learning.draw(report, tmp_path / "adding.png")
    assert (tmp_path / "adding.png").stat().st_size > 10_000


def test_means_of_seeds(tmp_path):
    for share in learning.SHARES:
        for seed in learning.SEEDS:
            finished_run(tmp_path / f"sampling_{share}_{seed}", test={"exact_match": 0.1 * seed, "character_error_rate": 0.5})
    report = learning.sampling(tmp_path)
    assert report.table()[2] == "| teacher forcing | 0.000 | 0.100 | 0.200 | 0.100 | 0.500 |"


@pytest.mark.parametrize("status", [None, "stopped"])
def test_a_run_that_is_missing_or_was_stopped_is_made(tmp_path, monkeypatch, status):
    made = []

    def run(recipe, folder, *, overrides, verbose):
        made.append((recipe, overrides))
        folder.mkdir(exist_ok=True)
        (folder / "metrics.json").write_text('{"status": "finished"}', encoding="utf-8")

    monkeypatch.setattr(learning.training, "run", run)
    if status:
        (tmp_path / "run").mkdir()
        (tmp_path / "run" / "metrics.json").write_text(json.dumps({"status": status}), encoding="utf-8")
    for _ in range(2):
        assert learning.finished(tmp_path / "run", "adding_lstm", {"train.seed": 1})["status"] == "finished"
    assert made == [("adding_lstm", {"train.seed": 1})]
