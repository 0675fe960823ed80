"""What must hold for every model of sequences in the registry.

By default the smallest row of each family is swept, which keeps the suite short; `-m slow` sweeps all the others, and stores all of them
for a fresh process. By default tests/layers/test_contract.py does that for every layer.
"""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
from checks.sequence_models import check_sequence_model, store

from keras_canon import zoo

HERE = Path(__file__).parent


def gather():
    """Return the cases of all files named `cases_*.py` beside the tests of the recurrent and the transformer families."""
    cases = []
    for path in sorted([*HERE.glob("recurrent/cases_*.py"), *HERE.glob("transformers/cases_*.py")]):
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        cases += module.CASES
    return cases


CASES = gather()
NAMES = [name for name in zoo.list_models() if zoo.info(name).task != "image-classification"]


def representatives() -> set[str]:
    """The smallest row of each family."""
    smallest = {}
    for info in map(zoo.info, NAMES):
        if info.family not in smallest or info.trainable_parameters < smallest[info.family].trainable_parameters:
            smallest[info.family] = info
    return {info.name for info in smallest.values()}


DEFAULT = representatives()
LONG_TO_MEASURE = {"deepspeech2", "gpt1"}


def parameters(items, name_of=lambda item: item, default=DEFAULT) -> list:
    return [pytest.param(item, id=name_of(item), marks=[] if name_of(item) in default else [pytest.mark.slow]) for item in items]


def test_every_model_is_in_the_sweep_once():
    assert sorted(case.name for case in CASES) == sorted(NAMES)


@pytest.mark.parametrize("name", parameters(NAMES, default=DEFAULT - LONG_TO_MEASURE))
def test_sizes_are_those_of_the_row(name):
    row = zoo.info(name)
    found = zoo.measure(name)
    assert found.trainable_parameters == row.trainable_parameters
    assert found.multiply_adds / 1e9 == pytest.approx(row.gmacs, rel=1e-9)


@pytest.mark.parametrize("case", parameters(CASES, lambda case: case.name))
def test_sequence_model(case, tmp_path):
    check_sequence_model(case, tmp_path)


def test_the_default_sweep_covers_every_family():
    assert {zoo.info(name).family for name in DEFAULT} == {zoo.info(name).family for name in NAMES}
    assert LONG_TO_MEASURE <= DEFAULT


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["keras", "saved_model"])
def test_stored_models_answer_in_a_fresh_process(kind, tmp_path):
    """And keep the law of padding; a SavedModel without the package."""
    for case in CASES:
        store(case, tmp_path, kind)
    script = HERE.parent / "checks" / "sequence_answers.py"
    environment = {**os.environ, "PYTHONSAFEPATH": "1"}
    found = subprocess.run(
        [sys.executable, script, tmp_path, kind], capture_output=True, text=True, check=False, timeout=1800, env=environment, cwd=tmp_path
    )
    assert found.returncode == 0, found.stderr[-3000:]
    errors = dict(line.rsplit(" ", 1) for line in found.stdout.splitlines() if line)
    assert set(errors) == {case.name for case in CASES}
    assert {name: error for name, error in errors.items() if float(error) > 1e-6} == {}
