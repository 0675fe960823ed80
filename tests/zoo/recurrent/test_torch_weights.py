"""Recurrent weights of torch in zoo models, against what torch computed with them."""

import json
import runpy
from pathlib import Path

import numpy as np
import pytest

from keras_canon import zoo

FOLDER = Path(__file__).parents[2] / "golden"
RULE = runpy.run_path(str(FOLDER / "rule.py"))
SHAPE = (None, 4)


def golden(name: str) -> dict:
    return json.loads((FOLDER / "sequence" / f"{name}.json").read_text())


def values(entry) -> np.ndarray:
    return np.reshape(np.asarray(entry["values"], "float32"), entry["shape"])


@pytest.mark.parametrize(
    ("name", "variant", "units"),
    [
        ("elman", "elman", 5),
        ("lstm", "lstm_classifier", [5]),
        ("gru", "gru_classifier", [5]),
        ("lstm_bidirectional_2_layers", "lstm_classifier_bidirectional", [5, 5]),
    ],
)
def test_torch_goldens(name, variant, units):
    record = golden(name)
    state = RULE["state"](record)
    inputs = np.asarray(record["inputs"]["x"], "float32")
    every_step = zoo.create(variant, num_classes=0, input_shape=SHAPE, overrides={"units": units, "output": "every_step"})
    report = zoo.load_weights(every_step, state, format="torch")
    assert sorted({source for source, *_ in report.loaded}) == sorted(state)
    assert not report.unused
    assert not report.missing
    np.testing.assert_allclose(every_step(inputs), values(record["outputs"]["sequence"]), atol=1e-5)

    last = zoo.create(variant, num_classes=0, input_shape=SHAPE, overrides={"units": units})
    zoo.load_weights(last, state, format="auto")
    final = values(record["outputs"]["final_hidden"])  # (layers * directions, batch, units)
    directions = 2 if "bidirectional" in name else 1
    np.testing.assert_allclose(last(inputs), np.concatenate(list(final[-directions:]), axis=-1), atol=1e-5)


def test_a_readout_goes_with_them():
    record = golden("lstm")
    state = {f"lstm.{name}": array for name, array in RULE["state"](record).items()}
    random = np.random.RandomState(0)
    state |= {"fc.weight": random.standard_normal((3, 5)).astype("float32"), "fc.bias": np.ones(3, "float32")}
    model = zoo.create("lstm_classifier", num_classes=3, input_shape=SHAPE, overrides={"units": [5]})
    report = zoo.load_weights(model, state, format="torch")
    assert not report.unused
    np.testing.assert_array_equal(np.asarray(model.get_layer("logits").kernel), state["fc.weight"].T)


def test_what_does_not_fit_is_refused_before_anything_changes():
    state = RULE["state"](golden("lstm"))
    model = zoo.create("lstm_classifier", num_classes=0, input_shape=SHAPE, overrides={"units": [6]})
    with pytest.raises(zoo.CanonError, match="do not fit"):
        zoo.load_weights(model, state, format="torch")
    incomplete = {name: array for name, array in state.items() if "weight_hh" not in name}
    model = zoo.create("lstm_classifier", num_classes=0, input_shape=SHAPE, overrides={"units": [5]})
    with pytest.raises(zoo.CanonError, match="is missing"):
        zoo.load_weights(model, incomplete, format="torch")
    gru = zoo.create("gru_classifier", num_classes=0, input_shape=SHAPE, overrides={"units": [5]})
    with pytest.raises(zoo.CanonError):
        zoo.load_weights(gru, state, format="torch")
