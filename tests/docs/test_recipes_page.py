"""The pages on recipes and on installing: files of one's own run as printed, tables hold what the code has, and nothing is forgotten."""

import dataclasses
import re
import tomllib
import wave
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from keras_canon import training
from keras_canon.cli.main import app
from keras_canon.training import run_folder, sections
from keras_canon.zoo.families import conversions

ROOT = Path(__file__).parents[2]
RECIPES = (ROOT / "docs" / "recipes.md").read_text(encoding="utf-8")
INSTALL = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
PACKAGE = [path for folder in ("layers", "zoo", "training", "serving", "cli", "package") for path in (ROOT / folder).rglob("*.py")]


def toml_blocks(text: str) -> dict[str, str]:
    """Files that a page prints, by their titles."""
    return dict(re.findall(r'^```toml title="([^"]+)"\n(.*?)^```', text, re.MULTILINE | re.DOTALL))


def rows(text: str, start: str) -> dict[str, str]:
    """First and second cells of the table that begins with a line."""
    table = text[text.index(start) :].split("\n\n")[0]
    return dict(re.findall(r"^\| (.+?) \| (.+?) \|", table, re.MULTILINE)[2:])


def quoted(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in toml_blocks(RECIPES).items():
        Path(name).write_text(text, encoding="utf-8")
    return tmp_path


def test_a_recipe_of_own_pictures_runs(folder):
    rng = np.random.default_rng(0)
    for label, brightness in (("cat", 60), ("dog", 180)):
        Path("photos", label).mkdir(parents=True)
        for number in range(12):
            picture = brightness + rng.integers(0, 60, (16, 16 + number, 3), dtype="uint8")
            Image.fromarray(picture.astype("uint8")).save(Path("photos", label, f"{number}.png"))
    found = CliRunner().invoke(app, ["train", "own.toml", "--smoke"], catch_exceptions=False)
    assert found.exit_code == 0, found.output
    told = {name.rstrip("/") for cell in rows(RECIPES, "| file |") for name in quoted(cell)}
    assert {path.name for path in Path("runs/own").iterdir()} - {"run.lock"} <= told


def test_a_recipe_of_own_text_is_read_and_built(folder):
    Path("book.txt").write_text("".join(f"{number}. It was a dark and stormy night.\n" for number in range(3000)), encoding="utf-8")
    recipe = training.load_recipe("own_text.toml")
    data = training.data.load_sequences(recipe.data.name, validation=recipe.data.validation)
    assert data.train.inputs["token_ids"].shape[1] == 128
    assert recipe.model.overrides["max_length"] == 128
    assert training.load_recipe("own_text.toml", smoke=True).train.steps_per_epoch == 3


def test_the_recipe_of_speech_is_whole(tmp_path):
    page = (ROOT / "docs" / "recurrent.md").read_text(encoding="utf-8")
    block = re.search(r'^```toml\n(\[model\]\nname = "deepspeech2".*?)^```', page, re.MULTILINE | re.DOTALL)
    assert block is not None
    (tmp_path / "speech.toml").write_text(block[1], encoding="utf-8")
    assert training.load_recipe(tmp_path / "speech.toml").train.loss == "ctc"


def test_the_table_of_keys_is_that_of_the_code():
    told = {name.strip("`[]"): quoted(cell) for name, cell in rows(RECIPES, "| section |").items()}
    kinds = {item.name: item.default_factory for item in dataclasses.fields(sections.Recipe)}
    kinds |= {"model": sections.ModelSection, "data": sections.DataSection, "optimizer": sections.OptimizerSection}
    kinds |= {"train": sections.TrainSection}
    expected = {name: [item.name for item in dataclasses.fields(kind)] for name, kind in kinds.items() if dataclasses.is_dataclass(kind)}
    assert {name: keys for name, keys in told.items() if name in expected} == expected
    assert set(told) == {*expected, "smoke", "above all sections"}
    explained = set(re.findall(r"^::: keras_canon\.training\.\w+\.(\w+)$", RECIPES, re.MULTILINE))
    assert explained == {kind.__name__ for name, kind in kinds.items() if name in expected} | {"Range", "Measured"}


def test_the_table_of_a_run_folder_is_whole():
    told = {name.rstrip("/") for line in rows(RECIPES, "| file |").items() for name in quoted(" ".join(line))}
    assert {*run_folder._FILES, *run_folder._FOLDERS} <= told


def test_every_extra_is_explained():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert [quoted(cell)[0] for cell in rows(INSTALL, "| extra |")] == list(extras)


def test_every_environment_variable_is_explained():
    told = set(re.findall(r"`([A-Z][A-Z0-9]*_[A-Z0-9_]+)`", INSTALL))
    everywhere = [*PACKAGE, *(ROOT / "benchmarks").glob("*.py"), *(ROOT / "tests").rglob("*.py")]
    own = {name for path in everywhere for name in re.findall(r"\b(?:KERAS_)?CANON_[A-Z_]*[A-Z]\b", path.read_text(encoding="utf-8"))}
    assert own >= {"KERAS_CANON_DATA", "CANON_TOKEN"}
    assert own <= told
    text = "\n".join(path.read_text(encoding="utf-8") for path in PACKAGE)
    read = set(re.findall(r'environ(?:\.get\(|\.setdefault\(|\[)"(\w+)"', text)) | set(
        re.findall(r'"((?:KERASTUNER|TPU|COLAB)_[A-Z_]+[A-Z])"', text)
    )
    assert read >= {"KERAS_HOME", "TF_CONFIG", "TPU_NAME"}
    assert read <= told


@pytest.mark.slow
def test_own_texts_and_recordings_train(tmp_path, monkeypatch):
    """The blocks of docs/transformers.md on data that have no name, from the first to the last, one epoch each."""
    monkeypatch.chdir(tmp_path)
    for name in ("1.wav", "2.wav"):
        with wave.open(name, "wb") as file:
            file.setparams((1, 2, 16_000, 0, "NONE", ""))
            file.writeframes(np.random.default_rng(0).integers(-2000, 2000, 16_000, dtype="int16").tobytes())
    page = (ROOT / "docs" / "transformers.md").read_text(encoding="utf-8")
    section = page[page.index("### Your own text") :].split("\n### ")[0]
    blocks, names = re.findall(r"^```python\n(.*?)^```", section, re.MULTILINE | re.DOTALL), {}
    assert len(blocks) == 3
    for text in blocks:
        exec(compile(re.sub(r"epochs=\d+", "epochs=1, verbose=0", text), "block", "exec"), names)
    found = CliRunner().invoke(app, ["generate", "translator", "--prompt", "good day", "--max-new-tokens", "5"], catch_exceptions=False)
    assert found.exit_code == 0, found.output


def test_rows_for_weights_of_torchvision_take_them():
    page = (ROOT / "docs" / "guides" / "import.md").read_text(encoding="utf-8")
    table = rows(page, "| torchvision |")
    taken = {
        row
        for path in (ROOT / "zoo" / "vision").glob("*.toml")
        for one in conversions(path.stem)
        if one.format == "torchvision"
        for row in one.variants
    }
    named = {name for theirs, ours in table.items() for name in quoted(theirs if "same names" in ours else ours)}
    assert named <= taken
    assert {name for name in taken if name.endswith(("_torch", "_v1_5")) and "efficientnet" not in name} <= named
