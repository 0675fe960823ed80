"""Run in a fresh process: load every `.keras` file in a folder after importing the layers, and compare with its outputs."""

import sys
from pathlib import Path

import keras
import numpy as np

import keras_canon.layers  # noqa: F401  (registers the layers)


def main(folder: Path) -> None:
    """Print one line for each file: its name and the largest error."""
    for path in sorted(folder.glob("*.keras")):
        stored = np.load(path.with_suffix(".npz"))
        inputs = [stored[name] for name in stored.files if name.startswith("arr_")]
        expected = [stored[name] for name in stored.files if name.startswith("output_")]
        outputs = keras.tree.flatten(keras.saving.load_model(path)(inputs, training=False))
        errors = [float(np.max(np.abs(np.asarray(a, "float32") - b), initial=0.0)) for a, b in zip(outputs, expected, strict=True)]
        print(f"{path.stem} {max(errors):.3e}", flush=True)


main(Path(sys.argv[1]))
