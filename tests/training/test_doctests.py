"""The examples in the docstrings of the training sub-package run as printed."""

import doctest
import importlib
import pkgutil

import pytest

import keras_canon.training as training

NAMES = sorted(module.name for module in pkgutil.iter_modules(training.__path__))


@pytest.mark.parametrize("name", NAMES)
def test_examples(name):
    module = importlib.import_module(f"keras_canon.training.{name}")
    found = doctest.testmod(module, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert found.failed == 0
