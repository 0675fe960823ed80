"""What would be uploaded: sdist and wheel are built and pass twine's check. Slow; `pip install 'keras-canon[release]'`."""

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_sdist_and_wheel_pass_twines_check(tmp_path):
    pytest.importorskip("build")
    pytest.importorskip("twine")
    # from a copy without the list of files that an editable install leaves behind
    root = tmp_path / "checkout"
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    for name in filter(None, names):
        if (ROOT / name).exists():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_bytes((ROOT / name).read_bytes())
    built = subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", tmp_path / "dist", root], capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stderr[-2000:]
    sdist, wheel = sorted((tmp_path / "dist").iterdir(), key=lambda path: path.suffix == ".whl")
    checked = subprocess.run(
        [sys.executable, "-m", "twine", "check", "--strict", sdist, wheel], capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
    with tarfile.open(sdist) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "zoo/vision/lenet.toml", "layers/residual.py"} <= inside
    assert "keras_canon/zoo/vision/lenet.toml" in zipfile.ZipFile(wheel).namelist()
