"""The wheel holds every module and data file of the tree, under one import name."""

import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
FOLDERS = PROJECT["tool"]["setuptools"]["package-dir"]
DATA = (".py", ".toml", ".typed", ".txt", ".html", ".js", ".css", ".json", ".h5", ".keras", ".safetensors")


def tree_files(root: Path) -> set[str]:
    """Paths, as the wheel should name them, of all files of the library under `root`."""
    found = set()
    for package, folder in FOLDERS.items():
        for path in (root / folder).rglob("*"):
            if path.is_file() and path.suffix in DATA and "__pycache__" not in path.parts:
                found.add("/".join([*package.split("."), *path.relative_to(root / folder).parts]))
    return found


def copy_tree(target: Path) -> Path:
    # an editable install leaves a list of files behind, from which setuptools would add what is not declared
    unwanted = {"build", "dist", "runs", "tests", "docs", "saved_models"}
    shutil.copytree(
        ROOT, target, ignore=lambda folder, names: {n for n in names if n.startswith(".") or n.endswith(".egg-info") or n in unwanted}
    )
    return target


def build_wheel(root: Path) -> set[str]:
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", root / "dist", root]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    (wheel,) = (root / "dist").glob("*.whl")
    return {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}


@pytest.fixture(scope="module")
def wheel_files(tmp_path_factory) -> set[str]:
    return build_wheel(copy_tree(tmp_path_factory.mktemp("tree") / "checkout"))


def test_wheel_holds_the_tree_and_nothing_else(wheel_files):
    assert wheel_files == tree_files(ROOT)


def test_a_dropped_toml_is_noticed(tmp_path):
    root = copy_tree(tmp_path / "checkout")
    settings = (root / "pyproject.toml").read_text(encoding="utf-8")
    assert '"keras_canon.zoo.vision" = ["*.toml"]\n' in settings
    (root / "pyproject.toml").write_text(settings.replace('"keras_canon.zoo.vision" = ["*.toml"]\n', ""), encoding="utf-8")
    missing = tree_files(root) - build_wheel(root)
    assert "keras_canon/zoo/vision/lenet.toml" in missing


def test_what_only_a_run_needs_is_a_core_dependency():
    """`tf.summary` needs TensorBoard and TFDS builders need importlib_resources, though neither TensorFlow nor TFDS brings them."""
    named = {requirement.split(">")[0] for requirement in PROJECT["project"]["dependencies"]}
    assert {"tensorboard", "importlib_resources"} <= named


def test_every_folder_with_modules_is_a_listed_package():
    folders = set()
    for package, folder in FOLDERS.items():
        for init in (ROOT / folder).rglob("__init__.py"):
            folders.add(".".join([package, *init.parent.relative_to(ROOT / folder).parts]))
    assert folders == set(PROJECT["tool"]["setuptools"]["packages"])
