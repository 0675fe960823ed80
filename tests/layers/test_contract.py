"""The contract of DESIGN section 5 over every public layer.

By default the dearest parts are run on the first case of each layer; `-m slow` runs them on the others.
"""

import importlib.util
import inspect
import subprocess
import sys
from pathlib import Path

import keras
import pytest
from checks.layers import PARTS, LayerCase, check_layer, save_for_reload

from keras_canon import layers

HERE = Path(__file__).parent


def gather() -> list[LayerCase]:
    """Return the cases of all files named `cases_*.py` beside this one."""
    cases = []
    for path in sorted(HERE.glob("cases_*.py")):
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        cases += module.CASES
    return cases


CASES = gather()
FIRST = {case.cls: case.id for case in reversed(CASES)}.values()
OTHERS = [case for case in CASES if case.id not in FIRST]
DEAR = ("compiled", "xla", "half", "initializer")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_contract(case):
    check_layer(case, PARTS if case.id in FIRST else [part for part in PARTS if part not in DEAR])


@pytest.mark.slow
@pytest.mark.parametrize("case", OTHERS, ids=lambda case: case.id)
def test_dear_parts_of_further_cases(case):
    check_layer(case, DEAR)


def test_case_names_are_unique():
    names = [case.id for case in CASES]
    assert len(names) == len(set(names))


def test_what_is_left_to_the_marker():
    """By default every class has a case on which the whole contract is checked."""
    assert {case.cls for case in CASES if case.id in FIRST} == {case.cls for case in CASES}
    print(f"by default {DEAR} and the reload run on {len(FIRST)} cases; -m slow runs them on {len(OTHERS)} more")


def test_every_exported_layer_is_in_the_sweep():
    exported = {getattr(layers, name) for name in layers.__all__}
    classes = {item for item in exported if inspect.isclass(item) and issubclass(item, keras.layers.Layer)}
    assert classes == {case.cls for case in CASES}


@pytest.mark.parametrize("first", [True, pytest.param(False, marks=pytest.mark.slow)], ids=["first", "others"])
def test_reload_in_a_fresh_process(first, tmp_path):
    cases = [case for case in CASES if (case.id in FIRST) == first and "reload" not in case.without]
    for case in cases:
        save_for_reload(case, tmp_path)
    found = subprocess.run(
        [sys.executable, HERE.parent / "checks" / "reload.py", tmp_path], capture_output=True, text=True, check=False, timeout=1200
    )
    assert found.returncode == 0, found.stderr[-3000:]
    errors = dict(line.rsplit(" ", 1) for line in found.stdout.splitlines() if line)
    assert set(errors) == {case.id for case in cases}
    assert {name: error for name, error in errors.items() if float(error) > 1e-6} == {}
