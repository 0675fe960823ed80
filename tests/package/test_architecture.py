"""Imports flow one way and the bans of the house hold, read from the syntax trees."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RANK = {"layers": 0, "zoo": 1, "training": 2, "serving": 2, "cli": 3, "package": 4}
FILES = sorted(path for folder in RANK for path in (ROOT / folder).rglob("*.py"))
TENSORFLOW_IN_LAYERS = {"recurrent_kernel.py"}


def imported(node: ast.AST, depth: int) -> list[str]:
    """Top-level folders and outside modules that an import names; `depth` is how far the file lies below its room."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        if node.level == 0:
            return [node.module or ""]
        if node.level > depth:
            return [f"room:{(node.module or alias.name).split('.')[0]}" for alias in node.names]
    return []


def check_file(path: Path, text: str) -> list[str]:
    """What breaks the rules in one file, in words."""
    room = path.relative_to(ROOT).parts[0]
    depth = len(path.relative_to(ROOT).parts) - 1
    found = []
    for node in ast.walk(ast.parse(text)):
        for name in imported(node, depth):
            if name.startswith("room:"):
                target = name.removeprefix("room:")
                if target in RANK and target != room and RANK[target] >= RANK[room]:
                    found.append(f"{room} imports {target}")
            elif name.split(".")[0] in {"pickle", "dill", "cloudpickle", "joblib"} or name.startswith("keras.src"):
                found.append(f"imports {name}")
            elif name.split(".")[0] == "keras_canon" and room != "package":
                found.append(f"imports {name} absolutely")
            elif room == "layers" and name.split(".")[0] == "tensorflow" and path.name not in TENSORFLOW_IN_LAYERS:
                found.append("imports tensorflow in layers")
        if isinstance(node, ast.ImportFrom) and node.module == "keras" and any(alias.name == "layers" for alias in node.names):
            found.append("from keras import layers")
        if isinstance(node, ast.Global):
            found.append("global")
        if isinstance(node, ast.ExceptHandler) and node.type is None:
            found.append("bare except")
        if isinstance(node, ast.Constant) and node.value == "channels_first":
            found.append("channels_first")
        if isinstance(node, ast.Call) and ast.unparse(node.func) in {"eval", "exec", "keras.layers.Lambda"}:
            found.append(f"calls {ast.unparse(node.func)}")
        if isinstance(node, ast.FunctionDef) and node.name != "__init__" and node.args.kwarg:
            found.append(f"**{node.args.kwarg.arg} in {node.name}")
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_rules_hold(path):
    text = path.read_text(encoding="utf-8")
    assert check_file(path, text) == []
    assert text.count("\n") < 300, "a file stays under 300 lines"


@pytest.mark.parametrize(
    ("folder", "line", "fault"),
    [
        ("layers", "from ..zoo import create", "layers imports zoo"),
        ("zoo", "from ..training import run", "zoo imports training"),
        ("training", "from .. import serving", "training imports serving"),
        ("serving", "from ..training.run import run", "serving imports training"),
        ("layers", "import tensorflow as tf", "imports tensorflow in layers"),
        ("zoo", "from keras.src import backend", "imports keras.src"),
        ("zoo", "import keras_canon.layers", "imports keras_canon.layers absolutely"),
        ("cli", "try:\n    x = 1\nexcept:\n    x = 2", "bare except"),
    ],
)
def test_the_check_finds_what_it_should(folder, line, fault):
    assert fault in check_file(ROOT / folder / "example.py", line)
