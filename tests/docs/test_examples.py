"""The notebooks in examples/ run from the first cell to the last at smoke sizes."""

import json
from pathlib import Path

import pytest

from keras_canon import training

FOLDER = Path(__file__).parents[2] / "examples"
# what takes the place of the cell that is tagged "parameters"
SMOKE = {
    "finetune_a_folder": 'FOLDER, START, PICTURES, BASE_EPOCHS, EPOCHS = "", "", 8, 1, 4',
    "serve_and_call": "EPOCHS = 1",
    "transformer_on_dates": "OVERRIDES, SMOKE = {}, True",
}
NAMES = sorted(SMOKE)


def read(name: str) -> dict:
    return json.loads((FOLDER / f"{name}.ipynb").read_text(encoding="utf-8"))


def cells(name: str) -> list[str]:
    """The code of a notebook, with small parameters."""
    found = []
    for cell in read(name)["cells"]:
        if cell["cell_type"] == "code":
            tagged = "parameters" in cell["metadata"].get("tags", [])
            found.append(SMOKE[name] if tagged else "".join(cell["source"]))
    return found


def test_every_notebook_is_here_and_holds_no_outputs():
    assert {path.stem for path in FOLDER.glob("*.ipynb")} == set(SMOKE)
    for name in NAMES:
        code = [cell for cell in read(name)["cells"] if cell["cell_type"] == "code"]
        assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
        assert sum("parameters" in cell["metadata"].get("tags", []) for cell in code) == 1
        for text in cells(name):
            compile(text, name, "exec")


@pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)  # pictures that are shown stay open
@pytest.mark.parametrize("name", NAMES)
def test_the_cells_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for text in cells(name):
        exec(compile(text, name, "exec"), names)
    if name == "finetune_a_folder":
        assert names["heat"].max() <= 1.0
    elif name == "serve_and_call":
        assert len(names["answers"]) == 10
        assert names["states"]["2"] == "AVAILABLE"
    else:
        assert names["weights"].shape == (len(names["target_ids"]), len(names["source_ids"]))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of Jupyter's own packages
def test_a_notebook_runs_in_jupyter(name, tmp_path):
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    notebook = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)
    nbformat.validate(notebook)
    for cell in notebook.cells:
        if "parameters" in cell.metadata.get("tags", []):
            cell.source = SMOKE[name]
    nbclient.NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert training.list_recipes()
