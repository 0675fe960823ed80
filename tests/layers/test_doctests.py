"""The examples in the docstrings run, and every public layer and function has one."""

import doctest
import importlib
import inspect
from pathlib import Path

import pytest

from keras_canon import layers

MODULES = sorted(path.stem for path in Path(layers.__file__).parent.glob("*.py") if path.stem != "__init__")


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    module = importlib.import_module(f"keras_canon.layers.{name}")
    found = doctest.testmod(module, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert found.failed == 0


@pytest.mark.parametrize("name", [name for name in layers.__all__ if callable(getattr(layers, name))])
def test_docstring_is_complete(name):
    item = getattr(layers, name)
    text = inspect.getdoc(item) or ""
    assert text.split("\n")[0].endswith("."), "a summary line"
    if inspect.isclass(item) and issubclass(item, tuple):
        assert "Attributes:" in text, "a record of results says what its fields are; the function that returns it has the example"
        return
    if name != "fresh_initializer":
        assert ">>>" in text, "an example"
        assert "Reference" in text, "the source"
    if [name for name in inspect.signature(item).parameters if name != "kwargs"]:
        assert "Args:" in text
    if inspect.isclass(item) and hasattr(item, "call"):
        assert "Input shape" in text
        assert "Output shape" in text
