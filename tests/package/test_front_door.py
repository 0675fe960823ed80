"""Importing the package and asking the command line for help cost next to nothing."""

import subprocess
import sys

HEAVY = ("tensorflow", "keras", "numpy", "matplotlib", "sklearn", "tensorflow_datasets", "keras_tuner", "typer")


def modules_after(code: str) -> set[str]:
    script = f"import sys\n{code}\nprint(' '.join(sys.modules))"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    return set(found.stdout.splitlines()[-1].split())


def test_import_loads_nothing_heavy():
    loaded = modules_after("import keras_canon as kc; kc.__version__; dir(kc)")
    assert not loaded & set(HEAVY)
    assert "keras_canon.layers" not in loaded


def test_listing_models_needs_no_tensorflow():
    loaded = modules_after("from keras_canon import zoo; zoo.list_models(); zoo.info('lenet5')")
    assert not loaded & {"tensorflow", "keras"}


def test_command_line_loads_no_tensorflow():
    for arguments in (["list"], ["--help"], ["train", "--help"], ["info", "lenet5"]):
        code = (
            "from keras_canon.cli.main import run\n"
            f"sys.argv = ['canon', *{arguments!r}]\n"
            "try:\n    run()\nexcept SystemExit as stop:\n    assert not stop.code, stop.code"
        )
        assert not modules_after(code) & {"tensorflow", "keras", "tensorflow_datasets", "sklearn", "matplotlib"}, arguments


def test_sub_packages_are_reached_through_the_front_door():
    loaded = modules_after("import keras_canon as kc; assert kc.zoo.info('lenet5').year == 1998")
    assert "keras_canon.zoo" in loaded


def test_unknown_attribute_is_an_attribute_error():
    import pytest

    import keras_canon

    with pytest.raises(AttributeError, match="no attribute 'layer'"):
        keras_canon.layer  # noqa: B018
