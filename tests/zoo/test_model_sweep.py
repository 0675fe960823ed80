"""What must hold for every image classifier of the registry.

By default the smallest row of each family is swept, which keeps the suite short, and the parts that cost the most on one row of
each kind of network; `-m slow` sweeps all the others.
"""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
from checks.models import CHECKS, PARTS, check_model, save_for_serving

from keras_canon import zoo

HERE = Path(__file__).parent


def gather():
    """Return the cases of all files named `cases_*.py` of the vision families; the others are swept by test_sequence_sweep.py."""
    cases = []
    for path in sorted((HERE / "vision").rglob("cases_*.py")):
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        cases += module.CASES
    return cases


CASES = gather()
NAMES = zoo.list_models(task="image-classification")


def representatives() -> set[str]:
    """The smallest row of each family."""
    smallest = {}
    for info in map(zoo.info, NAMES):
        if info.family not in smallest or info.trainable_parameters < smallest[info.family].trainable_parameters:
            smallest[info.family] = info
    return {info.name for info in smallest.values()}


DEFAULT = representatives()


# without and with normalisation
TRAINED = {"lenet5", "resnet20"}
LONG_TO_MEASURE = {"densenet_bc100_12", "efficientnet_b0", "inception_v3", "resnext50_32x4d", "xception"}
DEAR = {"overfit", "replicas"}


def parameters(items, name_of=lambda item: item, default=DEFAULT) -> list:
    return [pytest.param(item, id=name_of(item), marks=[] if name_of(item) in default else [pytest.mark.slow]) for item in items]


def test_every_model_is_in_the_sweep_once():
    assert sorted(case.name for case in CASES) == sorted(NAMES)


def test_the_default_sweep_covers_every_family():
    assert {zoo.info(name).family for name in DEFAULT} == {zoo.info(name).family for name in NAMES}


@pytest.mark.parametrize("name", parameters(NAMES, default=DEFAULT - LONG_TO_MEASURE))
def test_sizes_are_those_of_the_row(name):
    row = zoo.info(name)
    found = zoo.measure(name)
    assert found.trainable_parameters == row.trainable_parameters
    assert found.multiply_adds / 1e9 == pytest.approx(row.gmacs, rel=1e-9)


@pytest.mark.parametrize("case", parameters(CASES, lambda case: case.name))
def test_model(case, tmp_path):
    check_model(case, tmp_path, set(CHECKS) - DEAR)


@pytest.mark.parametrize("case", parameters(CASES, lambda case: case.name, TRAINED))
def test_model_in_training_and_on_replicas(case, tmp_path):
    check_model(case, tmp_path, DEAR)


def test_what_is_left_to_the_marker():
    """Nothing is left out of both: every part is a part of a test over all rows, and by default every family is in one of them."""
    assert TRAINED | LONG_TO_MEASURE <= DEFAULT
    assert set(CHECKS) | {"saved_model"} == set(PARTS)
    print(f"by default {sorted(DEAR)} on {sorted(TRAINED)}, all else but the SavedModels on {sorted(DEFAULT)}")


@pytest.mark.slow
def test_saved_models_answer_without_the_package(tmp_path):
    """By default tests/serving/test_parity.py takes one family along this road, and all others."""
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
