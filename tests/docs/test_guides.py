"""The blocks of the start page and the guides run as they stand, from the first to the last, in one folder.

A recipe is shrunk by its own `[smoke]` section, ports are free ones, and blocks with a title are not run: they say what they need.
"""

import base64
import contextlib
import re
import shlex
import urllib.request
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from keras_canon import serving
from keras_canon.cli.main import app

DOCS = Path(__file__).parents[2] / "docs"
SMOKE = {"canon train lenet5_digits": " --smoke", "canon finetune": " --epochs 4"}
PORT = "127.0.0.1:8501"


def blocks(page: str) -> list[tuple[str, str]]:
    """Language and text of the blocks that can be run."""
    return re.findall(r"^```(sh|python)\n(.*?)^```", (DOCS / page).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


class Reader:
    """Someone who types in what the pages say."""

    def __init__(self, stack: contextlib.ExitStack):
        self.stack, self.names, self.server = stack, {}, None

    def shell(self, line: str) -> None:
        if line.startswith("canon serve"):
            if self.server is not None:
                self.server.close()
            self.server = self.stack.enter_context(serving.Server(line.split()[2], port=0, quiet=True))
        elif line.startswith("canon"):
            extra = next((more for start, more in SMOKE.items() if line.startswith(start)), "")
            found = CliRunner().invoke(app, shlex.split(line + extra)[1:], catch_exceptions=False)
            assert found.exit_code == 0, (line, found.output)
        elif line.startswith("curl"):
            self.curl(line)
        else:
            raise AssertionError(f"nobody runs {line!r}")

    def curl(self, line: str) -> None:
        def encoded(found: re.Match) -> str:
            return base64.b64encode(Path(found.group(1)).read_bytes()).decode()

        *options, address = shlex.split(re.sub(r"\$\(base64 -w0 (\S+)\)", encoded, line))[1:]
        body = options[options.index("-d") + 1].encode() if "-d" in options else None
        with urllib.request.urlopen(self.here(address), body, timeout=60) as answer:
            assert answer.status == 200

    def here(self, text: str) -> str:
        return text.replace(PORT, self.server.url.removeprefix("http://")) if self.server is not None else text

    def python(self, text: str) -> None:
        exec(compile(self.here(text), "block", "exec"), self.names)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with what the pages take for granted: a digit, a cat, a dog, and photos of both."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    for name in ("digit.png", "cat.jpg", "dog.png"):
        Image.fromarray(rng.integers(0, 256, (20, 24), dtype="uint8")).convert("RGB").save(name)
    for label, brightness in (("cat", 60), ("dog", 180)):
        Path("photos", label).mkdir(parents=True)
        for number in range(1, 13):
            noise = rng.integers(0, 60, (16, 16, 3), dtype="uint8")
            Image.fromarray((noise + brightness).astype("uint8")).save(Path("photos", label, f"{number}.jpg"))
    return tmp_path


def follow(pages: tuple[str, ...]) -> dict:
    """Type in all blocks of some pages, in one session; return the names that Python has then."""
    with contextlib.ExitStack() as stack:
        reader = Reader(stack)
        for page in pages:
            assert blocks(page), page
            for language, text in blocks(page):
                for part in text.strip().splitlines() if language == "sh" else [text]:
                    (reader.shell if language == "sh" else reader.python)(part)
        return reader.names


def test_the_start_and_the_guide_to_import(folder):
    names = follow(("start.md", "guides/import.md"))
    assert (folder / "runs/digits/report.html").exists()
    assert (folder / "saved_models/digits/1").is_dir()
    assert names["x"].shape == (2, 16, 16, 256)
    assert (folder / "resnet20.svg").exists()


@pytest.mark.slow
def test_all_from_the_first_block_to_the_last(folder):
    names = follow(("start.md", "guides/import.md", "guides/finetune.md", "guides/serve.md"))
    assert (folder / "saved_models/digits/2").is_dir()
    assert (folder / "dog.png").stat().st_size > 10_000, "the picture of canon explain"
    assert names["result"].test.truth.size
