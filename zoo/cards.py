"""What a builder's docstring says about a model, read from its source file, so that no TensorFlow is needed."""

import ast
import inspect
import itertools
import re
from pathlib import Path

from .registry import info


def builder_docstring(name: str) -> str:
    """Return the docstring of the builder of a variant.

    Args:
        name: name of the variant.
    """
    module, function = info(name).builder.split(":")
    path = Path(__file__).parent.joinpath(*module.split(".")).with_suffix(".py")
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef) and node.name == function:
            return inspect.cleandoc(ast.get_docstring(node) or "")
    raise LookupError(f"{path.name} has no function {function}")


def shape_walk(name: str) -> tuple[str, ...]:
    """Return the shapes by stage as the builder's docstring lists them, one line a stage, such as "conv1  (B, 32, 32, 16)".

    A line before them, such as "of the tiny one:", says which variant they are of, where the docstring says so.

    Args:
        name: name of the variant.
    """
    lines = iter(builder_docstring(name).splitlines())
    title = next((line for line in lines if line.startswith("Shape walk")), "")
    walk = list(itertools.takewhile(lambda line: line.startswith(" "), lines))
    of = title.removeprefix("Shape walk").strip(" :()")
    other = re.search(r"`(\w+)`", of)
    if not walk and other:  # "that of `googlenet`"
        return shape_walk(other.group(1))
    return ((f"{of}:",) if of else ()) + tuple(inspect.cleandoc("\n".join(["", *walk])).splitlines())
