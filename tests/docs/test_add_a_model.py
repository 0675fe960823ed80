"""The page on adding a model is followed to the letter in a copy of the repository."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "add-a-model.md").read_text(encoding="utf-8")


def copy_of_the_repository(folder: Path) -> None:
    """The library as one package, its files being our own, and the tests of the zoo."""
    package = folder / "site" / "keras_canon"
    shutil.copytree(ROOT / "package", package, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("zoo", "training"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        (package / name).symlink_to(folder / name)
    for name in ("layers", "serving", "cli"):
        (package / name).symlink_to(ROOT / name)
    for name in ("checks", "zoo"):
        shutil.copytree(ROOT / "tests" / name, folder / "tests" / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "tests" / "conftest.py", folder / "tests")
    shutil.copy(ROOT / "pyproject.toml", folder)


def test_the_four_steps_add_a_model(tmp_path):
    copy_of_the_repository(tmp_path)
    files = re.findall(r'^```\w+ title="([^"]+)"\n(.*?)^```', PAGE, re.MULTILINE | re.DOTALL)
    files = [(name, text) for name, text in files if "." in name]
    assert len(files) == 5
    for name, text in files:
        assert not (tmp_path / name).exists()
        (tmp_path / name).write_text(text, encoding="utf-8")
    (command,) = re.findall(r"^```sh\npytest (.+)\n```", PAGE, re.MULTILINE)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site"), "TF_CPP_MIN_LOG_LEVEL": "3"}
    found = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *command.split()],
        cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert found.returncode == 0, found.stdout[-3000:] + found.stderr[-2000:]
    assert "3 passed" in found.stdout, found.stdout
    answer = subprocess.run(
        [sys.executable, "-m", "keras_canon", "info", "perceptron_300"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert "238,510 trainable" in answer.stdout
    assert "(B, 784)" in answer.stdout
    trained = subprocess.run(
        [sys.executable, "-m", "keras_canon", "train", "perceptron_digits", "--smoke"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert trained.returncode == 0, trained.stdout[-2000:] + trained.stderr[-2000:]


def test_the_recipe_on_the_page_has_what_the_tests_of_recipes_ask_for():
    (text,) = re.findall(r'^```toml title="training/recipes/perceptron_digits.toml"\n(.*?)^```', PAGE, re.MULTILINE | re.DOTALL)
    header = text.split("\nname =")[0].splitlines()
    assert [line.split(":")[0] for line in header if line[2:].startswith(("Paper", "Command", "Hardware", "Time"))] == [
        "# Paper", "# Command", "# Hardware", "# Time",
    ]  # fmt: skip
    assert tomllib.loads(text)["expect"]["paper_source"].endswith(".")
