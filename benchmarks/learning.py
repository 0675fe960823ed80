"""What networks of sequences learn, side by side: the adding problem, two language models on one text, and scheduled sampling.

usage: python benchmarks/learning.py [adding] [language] [sampling] [--runs FOLDER]

`adding`: mean squared error of three networks on sums over a hundred steps. `language`: bits per character of an LSTM and of a Transformer
over the minutes that both are trained, on one text. `sampling`: a translator of dates with few examples, with teacher forcing and with
scheduled sampling, three seeds each. Runs that the folder has are not made again. Each writes benchmarks/results/NAME.json, its table in
docs/ and, where curves are compared, its picture there.
"""

import argparse
import csv
import json
import math
import os
import statistics
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

from report import DOCS, Report

from keras_canon import training
from keras_canon.training.figures import new_figure

ADDING = {"adding_lstm": "LSTM", "adding_identity_rnn": "identity RNN", "adding_elman": "Elman"}
LANGUAGE = {"char_rnn_documentation": "LSTM (`char_rnn_lstm`)", "gpt2_tiny_text": "Transformer (`gpt2_tiny`)"}
SHARES = {0.0: "teacher forcing", 0.25: "scheduled sampling to 0.25", 0.5: "scheduled sampling to 0.5"}
SEEDS = (0, 1, 2)
FEW = {"data.name": "dates:examples=2000", "train.epochs": 8}


def finished(folder: Path, recipe: str, overrides: Mapping[str, object] | None = None) -> dict:
    """Return the figures of a run, which is made unless the folder has it."""
    path = folder / "metrics.json"
    if not path.exists() or json.loads(path.read_text(encoding="utf-8"))["status"] != "finished":
        training.run(recipe, folder, overrides=dict(overrides or {}), verbose=False)
    return json.loads(path.read_text(encoding="utf-8"))


def history(folder: Path) -> dict[str, list[float]]:
    """Return what a run has written of each epoch, by name."""
    with (folder / "history.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {name: [float(row[name]) for row in rows] for name in rows[0]}


def minutes(seconds: list[float]) -> list[float]:
    """Return the minutes that are over at the end of each epoch."""
    return [sum(seconds[: number + 1]) / 60.0 for number in range(len(seconds))]


def adding(runs: Path) -> Report:
    rows = []
    for recipe, name in ADDING.items():
        found = finished(runs / recipe, recipe)
        losses = history(runs / recipe)["val_loss"]
        curve = [[number, loss] for number, loss in enumerate(losses, start=1)]
        rows.append({"recipe": recipe, "network": name, "error": found["test"]["mean_squared_error"], "curve": curve})
    return Report(
        name="adding",
        title="The adding problem of length 100",
        page="",
        command="python benchmarks/learning.py adding",
        columns=[["recipe", "`{recipe}`"], ["network", "{network}"], ["mean squared error of the test", "{error:.4f}"]],
        key=["recipe"],
        rows=rows,
        is_speed=False,
    )


def language(runs: Path) -> Report:
    rows = []
    for recipe, name in LANGUAGE.items():
        found, past = finished(runs / recipe, recipe), history(runs / recipe)
        curve = [[over, loss / math.log(2.0)] for over, loss in zip(minutes(past["seconds"]), past["val_loss"], strict=True)]
        bits = {"validation": curve[-1][1], "test": found["test"]["bits_per_character"]}
        rows.append({"recipe": recipe, "network": name, "parameters": found["parameters"], "minutes": curve[-1][0], **bits, "curve": curve})
    return Report(
        name="language",
        title="Bits per character of Python's documentation",
        page="",
        command="python benchmarks/learning.py language",
        columns=[
            ["recipe", "`{recipe}`"],
            ["network", "{network}"],
            ["parameters", "{parameters:,}"],
            ["minutes", "{minutes:.0f}"],
            ["bits per character, validation", "{validation:.3f}"],
            ["test", "{test:.3f}"],
        ],
        key=["recipe"],
        rows=rows,
        is_speed=False,
    )


def sampling(runs: Path) -> Report:
    rows = []
    for share, name in SHARES.items():
        overrides = {**FEW, "train.scheduled_sampling": share}
        tests = [
            finished(runs / f"sampling_{share}_{seed}", "seq2seq_attention_dates", {**overrides, "train.seed": seed})["test"]
            for seed in SEEDS
        ]
        exact = [test["exact_match"] for test in tests]
        errors = statistics.mean(test["character_error_rate"] for test in tests)
        rows.append({"share": share, "training": name, "exact": exact, "mean": statistics.mean(exact), "errors": errors})
    return Report(
        name="sampling",
        title="Scheduled sampling against teacher forcing",
        page="",
        command="python benchmarks/learning.py sampling",
        columns=[
            ["training", "{training}"],
            *[[f"exact match, seed {seed}", f"{{exact[{number}]:.3f}}"] for number, seed in enumerate(SEEDS)],
            ["mean", "{mean:.3f}"],
            ["character error rate, mean", "{errors:.3f}"],
        ],
        key=["training"],
        rows=rows,
        is_speed=False,
    )


def draw(report: Report, path: Path) -> None:
    """Draw the curves of a report: error over epochs, or bits over minutes."""
    figure = new_figure(6.4, 3.8)
    axes = figure.add_subplot()
    for row in report.rows:
        where, values = zip(*row["curve"], strict=True)
        axes.plot(where, values, marker="o", markersize=3.0, linewidth=1.6, label=row["network"].replace("`", ""))
    if report.name == "adding":
        for level, words in ((1.0 / 6.0, "the error of saying 1 each time"), (0.01, "0.01")):
            axes.axhline(level, color="grey", linewidth=0.8, linestyle="--")
            axes.text(1.0, 0.93 * level, words, fontsize=8, color="grey", ha="right", va="top", transform=axes.get_yaxis_transform())
        axes.set_yscale("log")
        axes.set_xlabel("epoch")
        axes.set_ylabel("mean squared error, validation")
    else:
        axes.set_xlabel("minutes of training, 2 CPU cores")
        axes.set_ylabel("bits per character, validation")
    axes.set_title(report.title, fontsize=10.5)
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(fontsize=8, frameon=False)
    figure.savefig(path)


EXPERIMENTS: dict[str, Callable[[Path], Report]] = {"adding": adding, "language": language, "sampling": sampling}
PICTURES = {"adding": DOCS / "recurrent-adding.png", "language": DOCS / "language-models.png"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", choices=[*EXPERIMENTS, []], help="experiments; none for all")
    parser.add_argument("--runs", type=Path, help="folder of runs, to go on with")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        for name in options.names or EXPERIMENTS:
            report = EXPERIMENTS[name](options.runs or Path(temporary))
            print("\n".join(report.table()), flush=True)
            report.save()
            if name in PICTURES:
                draw(report, PICTURES[name])


if __name__ == "__main__":
    main()
