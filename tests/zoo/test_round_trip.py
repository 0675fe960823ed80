"""Weights of every model go from one copy to another built in the same process, in each of our forms, at the sweep's small sizes."""

import importlib.util
from pathlib import Path

import keras
import numpy as np
import pytest

from keras_canon import zoo


def gather():
    """Return the cases of all files named `cases_*.py` below this folder."""
    cases = []
    for path in sorted(Path(__file__).parent.rglob("cases_*.py")):
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        cases += module.CASES
    return cases


# the others run with `-m slow`, and by default the sweeps save and load a row of each family
KINDS = {"resnet20", "squeezenet1_1", "vit_tiny_16", "lstm_classifier", "crnn_ctc", "transformer_tiny_torch"}


def test_the_kinds_are_rows_that_have_a_case():
    assert {case.name for case in gather()} >= KINDS


@pytest.mark.parametrize(
    "case", [pytest.param(case, id=case.name, marks=[] if case.name in KINDS else pytest.mark.slow) for case in gather()]
)
def test_weights_file_and_model(case, tmp_path):
    """Names that count through the process would tell the two copies apart, and so would a child that the file calls otherwise."""
    keras.backend.clear_session(free_memory=False)
    source, model = case.build(), case.build()
    for number, weight in enumerate(source.weights):
        if "seed_generator" not in weight.path:
            weight.assign(np.random.RandomState(number).uniform(0.5, 1.5, weight.shape))
    source.save_weights(tmp_path / "source.weights.h5")
    for given in (source, tmp_path / "source.weights.h5"):
        for weight in model.weights:
            if "seed_generator" not in weight.path:
                weight.assign(np.zeros(weight.shape))
        report = zoo.load_weights(model, given)
        assert (report.adapted, report.skipped, report.missing, report.unused) == ((), (), (), ())
        for one, other in zip(model.weights, source.weights, strict=True):
            if "seed_generator" not in one.path:
                np.testing.assert_array_equal(np.asarray(one), np.asarray(other), err_msg=one.path)
