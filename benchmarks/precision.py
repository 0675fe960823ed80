"""What bfloat16 and int8 cost in accuracy: the weights that come with the package, exported and measured on test pictures of Fashion-MNIST.

usage: python benchmarks/precision.py

The figures are those that each export measures itself and writes into its manifest. int8 finds the ranges of its activations on the
first 200 of the pictures. The result is written to benchmarks/results/precision.json and into docs/serving.md.
"""

import os
import tempfile
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
from report import Report

from keras_canon import serving, zoo
from keras_canon.training.data import load
from keras_canon.training.pipeline import batches

MODELS = ("lenet5", "lenet5_modern", "resnet20", "mobilenet_v2", "vit_tiny_16")
PICTURES = 2000
FILES = {"bfloat16": ("saved_model bfloat16", "saved_model.pb"), "int8": ("litert int8", "litert/model.tflite")}


def measure(name: str, precision: str, data: tuple[np.ndarray, np.ndarray]) -> dict:
    """Export the weights, and return what the export measured."""
    what, file = FILES[precision]
    with tempfile.TemporaryDirectory() as folder:
        bundle = serving.export(zoo.create(name, weights="fashion_mnist"), Path(folder) / name, precision=precision, data=data)
        found = next(item for item in bundle.manifest.measurements if item.what == what)
        kilobytes = (bundle.path / file).stat().st_size / 1000
    return row(name, precision, found.difference, found.agreement, found.accuracy, found.float32_accuracy, kilobytes)


def row(name, precision, difference, agreement, accuracy, exact, kilobytes) -> dict:
    figures = {"difference": difference, "agreement": agreement, "accuracy": accuracy, "float32": exact, "kilobytes": kilobytes}
    return {"model": name, "precision": precision, **figures}


def report(rows: list[dict]) -> Report:
    return Report(
        name="precision",
        title="Accuracy in bfloat16 and int8",
        page="",
        command="python benchmarks/precision.py",
        columns=[
            ["model", "`{model}`"],
            ["precision", "{precision}"],
            ["largest difference", "{difference:.2g}"],
            ["same class", "{agreement:.4f}"],
            [f"accuracy on {PICTURES:,} pictures", "{accuracy:.4f}"],
            ["that of float32", "{float32:.4f}"],
            ["kB", "{kilobytes:.0f}"],
        ],
        key=["model", "precision"],
        rows=rows,
    )


def main() -> None:
    split, rows = load("fashion_mnist").test, []
    for name in MODELS:
        preprocessing = zoo.create(name, weights="fashion_mnist").record.preprocessing
        parts = zip(*batches(split, preprocessing, 500, np.arange(PICTURES)), strict=True)
        images, labels = (np.concatenate(part) for part in parts)
        for precision in FILES:
            rows.append(measure(name, precision, (images, labels)))
            print(rows[-1], flush=True)
    report(rows).save()


if __name__ == "__main__":
    main()
