"""What transfer gains: staged and full fine-tuning, a linear probe and training from scratch, on few labels.

usage: python benchmarks/transfer.py [--runs FOLDER] [--write]

`resnet20` learns Fashion-MNIST classes 0 to 4 and is fitted to classes 5 to 9 with 20 pictures of each; and the `resnet20` that comes with
the package, which knows all of Fashion-MNIST, is fitted to the handwritten digits of scikit-learn with 10 of each. As many pictures more
make the validation split, which ends the phases and chooses the weights. Seeds choose the pictures, the new head and the order. A
folder of runs that was given before is gone on with. `--write` puts the table in docs/transfer.md.
"""

import argparse
import datetime
import json
import os
import statistics
import tempfile
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

from keras_canon import training

METHODS = {
    "staged": "staged fine-tuning",
    "full": "full fine-tuning",
    "probe": "linear probe",
    "scratch": "from scratch",
}
SETTINGS = {
    "classes": ("Fashion-MNIST 0 to 4, to 5 to 9", "fashion_mnist[classes=5-9,per_class=20]"),
    "digits": ("Fashion-MNIST, to digits", "digits[per_class=10]"),
}
SEEDS = (0, 1, 2)
EPOCHS = {"train.epochs": 60, "train.batch_size": 16, "train.patience": 12}
# a small network that saw 28 x 28 pictures has less to keep than one of ImageNet, and the pictures are other ones
FREELY = {"transfer.backbone_rate": 0.5, "transfer.layer_decay": 0.8, "transfer.keep_batch_norm_frozen": False}
START = {"data.name": "fashion_mnist[classes=0-4]", "train.epochs": 8}
DOCUMENT = Path(__file__).parents[1] / "docs" / "transfer.md"
BEGIN, END = "<!-- gain: begin -->\n", "<!-- gain: end -->\n"


def finished(folder):
    """The figures of a run that is done, else None."""
    try:
        found = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if found.get("status") == "finished" else None


def start(setting, folder):
    """Where a setting starts: a model or a run's folder, and weights."""
    if setting == "digits":
        return "resnet20", "fashion_mnist"
    if finished(folder / "start") is None:
        training.run("resnet20_fashion_mnist", folder / "start", overrides=START, verbose=False)
    return folder / "start", None


def accuracy(setting, method, seed, folder):
    """Test accuracy of one run."""
    out = folder / f"{setting}_{method}_{seed}"
    if finished(out) is None:
        model, weights = start(setting, folder) if method != "scratch" else ("resnet20", "random")
        changes = {"train.seed": seed, "data.seed": seed, **EPOCHS}
        changes |= {"model.input_shape": [28, 28, 1]} if method == "scratch" else {"transfer.method": method, **FREELY}
        training.finetune(model, SETTINGS[setting][1], out, weights=weights, overrides=changes, verbose=False)
    return finished(out)["test"]["accuracy"]


def measure(setting, folder):
    """Test accuracies of a setting by method, one for each seed."""
    return {method: [accuracy(setting, method, seed, folder) for seed in SEEDS] for method in METHODS}


def spread(values):
    """Half of what lies between the best and the worst seed."""
    return (max(values) - min(values)) / 2


def table(found):
    """The figures of all settings as Markdown."""
    head = " | ".join(SETTINGS[setting][0] for setting in found)
    lines = [f"| | {head} |", "|---" * (len(found) + 1) + "|"]
    for method, name in METHODS.items():
        cells = [f"{statistics.mean(found[setting][method]):.4f} ± {spread(found[setting][method]):.4f}" for setting in found]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main():
    """Measure, print, and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=Path)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.runs or Path(temporary)
        found = {setting: measure(setting, folder) for setting in SETTINGS}
    print(table(found))
    if arguments.write:
        note = (
            f"Test accuracy, mean of seeds {SEEDS[0]} to {SEEDS[-1]} ± half the range; written by\n`python benchmarks/transfer.py --write` "
            f"on {datetime.date.today()}, {os.cpu_count()} CPU cores.\n"
        )
        before, rest = DOCUMENT.read_text(encoding="utf-8").split(BEGIN)
        DOCUMENT.write_text(before + BEGIN + note + "\n" + table(found) + END + rest.split(END)[1], encoding="utf-8")


if __name__ == "__main__":
    main()
