"""Every public name says what it is, what it takes, which shapes, what goes wrong, and where it comes from.

Layers have a stricter test of their own, tests/layers/test_doctests.py, and examples run there and in tests/training/test_doctests.py.
"""

import ast
import doctest
import importlib
import inspect
import textwrap

import pytest

from keras_canon import layers, serving, training, zoo
from keras_canon.training import data

PACKAGES = {"zoo": zoo, "training": training, "training.data": data, "serving": serving, "layers": layers}
# what a paper brought into the world: the docstring names it
FROM_PAPERS = {
    "zoo": ("attention_rollout", "beam_search", "grad_cam", "integrated_gradients", "train_bpe", "train_wordpiece"),
    "training": ("distil", "pretrain", "pseudo_label_rounds", "find_rate"),
}


def public_items():
    """(where, name, item) of every public name; of a public module, what it defines itself."""
    for where, package in PACKAGES.items():
        for name in package.__all__:
            item = getattr(package, name)
            if inspect.ismodule(item):
                for inner, value in vars(item).items():
                    if not inner.startswith("_") and getattr(value, "__module__", "") == item.__name__:
                        yield f"{where}.{name}", inner, value
            else:
                yield where, name, item


ITEMS = list(public_items())


def raises(item) -> set[str]:
    """Names of the exceptions of the user's mistakes that the body of a function, or of a class's __init__, raises itself."""
    target = item.__init__ if inspect.isclass(item) else item
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(target)))
    except (TypeError, OSError):  # made by dataclass or of C
        return set()
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            found.add(ast.unparse(node.exc.func))
    return found & {"CanonError", "ValueError", "unknown_name"}


def parameters(item) -> list[str]:
    try:
        found = inspect.signature(item).parameters
    except (TypeError, ValueError):
        return []
    return [name for name in found if name not in ("self", "kwargs", "args")]


@pytest.mark.parametrize(("where", "name", "item"), [pytest.param(*entry, id=f"{entry[0]}.{entry[1]}") for entry in ITEMS])
def test_public_name_is_explained(where, name, item):
    if not (inspect.isclass(item) or inspect.isfunction(item)):
        return
    text = inspect.getdoc(item) or ""
    assert text.partition("\n\n")[0].rstrip().endswith((".", ":")), "a summary"
    if parameters(item) and not issubclass(item if inspect.isclass(item) else object, BaseException):
        assert "Args:" in text or "Attributes:" in text or len(parameters(item)) == 1, f"says nothing of {parameters(item)}"
    if raises(item):
        assert "Raises:" in text, f"raises {raises(item)}"
    if name in FROM_PAPERS.get(where, ()):
        assert "et al." in text or "arXiv" in text or "Reference" in text, "the source"


def test_the_test_sees_them_all():
    assert len(ITEMS) > 220
    assert all(item.__module__.startswith("keras_canon") for _, _, item in ITEMS if inspect.isclass(item) or inspect.isfunction(item))


ZOO = [
    f"keras_canon.zoo.{name}"
    for name in ("registry", "records", "labels", "sampling", "tokenizers_plain", "beams", "recurrent.spectrogram")
]


@pytest.mark.parametrize("name", ZOO)
def test_examples_of_the_zoo(name):
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    assert doctest.testmod(importlib.import_module(name), optionflags=flags).failed == 0
