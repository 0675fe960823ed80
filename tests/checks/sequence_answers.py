"""Run in a fresh process: answer from every stored model in a folder, and print its largest error, the law of padding included.

usage: sequence_answers.py FOLDER keras|saved_model
"""

import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))

from checks.padding_law import law_error


def load(folder: Path, name: str, kind: str):
    """Return the function from arrays by name to outputs by name."""
    if kind == "keras":
        from keras_canon import zoo

        model = zoo.load_model(folder / f"{name}.keras")
        return lambda inputs: named_outputs(model(inputs if len(inputs) > 1 else next(iter(inputs.values())), training=False))
    signature = tf.saved_model.load(str(folder / name)).signatures["serving_default"]
    return lambda inputs: signature(**{key: tf.constant(value) for key, value in inputs.items()})


def named_outputs(outputs) -> dict:
    """Return the outputs of a model by name; a single one is the logits."""
    return outputs if isinstance(outputs, dict) else {"logits": outputs}


def main(folder: Path, kind: str) -> None:
    for stored in sorted(folder.glob("*.npz")):
        arrays = np.load(stored)
        answer = load(folder, stored.stem, kind)
        parts: dict = {}
        for key in arrays.files:
            part, name = key.split("/")
            parts.setdefault(part, {})[name] = arrays[key]
        errors = [0.0]
        for side, inputs in parts.items():
            if side != "expected":
                found = {name: np.asarray(value) for name, value in answer(inputs).items()}
                errors.append(law_error(parts["expected"], found, side.removesuffix("-front")))
        print(f"{stored.stem} {max(errors):.3e}", flush=True)
    assert kind == "keras" or "keras_canon" not in sys.modules


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
