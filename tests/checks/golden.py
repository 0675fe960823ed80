"""Comparison of a vision network with the golden file of an independent implementation."""

import json
import runpy
from pathlib import Path

import numpy as np

from keras_canon import zoo

FOLDER = Path(__file__).parents[1] / "golden"
RULE = runpy.run_path(str(FOLDER / "rule.py"))


def load_golden(name: str) -> dict:
    """Return the golden file of a vision network."""
    return json.loads((FOLDER / "vision" / f"{name}.json").read_text())


def golden_error(golden: dict, logits: np.ndarray) -> float:
    """Return the largest error over all that the file keeps of the logits, in standard deviations of the row."""
    expected = golden["logits"]
    deviation = np.array(expected["row_std"])
    assert list(logits.shape) == expected["shape"]
    assert logits.argmax(-1).tolist() == expected["row_argmax"]
    errors = np.abs(logits[:, :20] - np.array(expected["first_20_of_each_row"])).max(-1)
    errors = np.maximum(errors, np.abs(logits.mean(-1) - expected["row_mean"]))
    errors = np.maximum(errors, np.abs(logits.std(-1) - expected["row_std"]))
    return float((errors / deviation).max())


def check_golden(variant: str, name: str) -> float:
    """Load the golden weights strictly into a variant, each array once, compare, and return the largest error."""
    golden = load_golden(name)
    model = zoo.create(variant)
    assert zoo.info(variant).trainable_parameters == golden["trainable_parameters"]
    state = RULE["state"](golden)
    report = zoo.load_weights(model, state, format="torchvision")
    assert sorted({source for source, *_ in report.loaded}) == sorted(state)  # a split array goes to several places
    assert not report.adapted
    assert not report.unused
    assert not report.missing
    del state
    error = golden_error(golden, np.asarray(model(RULE["images"](golden), training=False)))
    assert error < 1e-4, f"{variant} is {error:.1e} standard deviations from {name}"
    return error
