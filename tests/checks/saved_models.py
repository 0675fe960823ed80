"""Run in a process without the package: answer from every SavedModel in a folder, and print the largest error of each."""

import sys
from pathlib import Path

import numpy as np
import tensorflow as tf


def main(folder: Path) -> None:
    for stored in sorted(folder.glob("*.npz")):
        arrays = np.load(stored)
        function = tf.saved_model.load(str(folder / stored.stem)).signatures["serving_default"]
        outputs = list(function(tf.constant(arrays["inputs"])).values())
        expected = [arrays[name] for name in arrays.files if name != "inputs"]
        assert len(outputs) == len(expected)
        # outputs come in the order of their names, so each is compared with the nearest
        errors = [
            min(float(np.abs(out - other).max()) for other in expected if other.shape == out.shape) for out in map(np.asarray, outputs)
        ]
        print(f"{stored.stem} {max(errors):.3e}", flush=True)
    assert "keras_canon" not in sys.modules


main(Path(sys.argv[1]))
