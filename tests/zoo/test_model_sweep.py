"""What must hold for every model of the registry."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
from checks.models import check_model, save_for_serving

from keras_canon import zoo

HERE = Path(__file__).parent


def gather():
    """Return the cases of all files named `cases_*.py` below this folder."""
    cases = []
    for path in sorted(HERE.rglob("cases_*.py")):
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        cases += module.CASES
    return cases


CASES = gather()
NAMES = zoo.list_models()


def test_every_model_is_in_the_sweep_once():
    assert sorted(case.name for case in CASES) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_sizes_are_those_of_the_row(name):
    row = zoo.info(name)
    found = zoo.measure(name)
    assert found.trainable_parameters == row.trainable_parameters
    assert found.multiply_adds / 1e9 == pytest.approx(row.gmacs, rel=1e-9)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_model(case, tmp_path):
    check_model(case, tmp_path)


def test_saved_models_answer_without_the_package(tmp_path):
    cases = [case for case in CASES if "saved_model" not in case.without]
    for case in cases:
        save_for_serving(case, tmp_path)
    script = HERE.parent / "checks" / "saved_models.py"
    environment = {**os.environ, "PYTHONSAFEPATH": "1"}
    found = subprocess.run(
        [sys.executable, script, tmp_path], capture_output=True, text=True, check=False, timeout=1800, env=environment, cwd=tmp_path
    )
    assert found.returncode == 0, found.stderr[-3000:]
    errors = dict(line.rsplit(" ", 1) for line in found.stdout.splitlines() if line)
    assert set(errors) == {case.name for case in cases}
    assert {name: error for name, error in errors.items() if float(error) > 1e-4} == {}
