"""Models in the form that writes one token after the other: states in, states out, the same weights."""

from importlib import import_module

import keras

from .errors import CanonError
from .model import Model
from .registry import info


def step_model(model: Model) -> keras.Model:
    """Return the model of one stretch of steps: its states are inputs and outputs, and it shares all weights.

    What stands in its outputs under the name of an input is that input for the next stretch. A language model starts from states of
    zeros; a decoder starts from what `encoder_model` gives.

    Args:
        model: a `zoo.Model` that reads step by step.

    Returns:
        a `keras.Model` from a dict with `token_ids` (B, T), where T may be 1, to a dict with `logits` (B, T, V).

    Raises:
        CanonError: for a model that has no such form.
    """
    return _form(model, "step_model", "step by step")


def encoder_model(model: Model) -> keras.Model:
    """Return the model that reads the source and gives what `step_model` starts from, sharing all weights.

    Args:
        model: a `zoo.Model` that translates.

    Returns:
        a `keras.Model` from `source_ids` (B, S) to a dict of tensors, named as inputs of the step model.

    Raises:
        CanonError: for a model that has no such form.
    """
    return _form(model, "encoder_model", "as an encoder and a decoder")


def _form(model: Model, function: str, how: str) -> keras.Model:
    module = info(model.record.variant).builder.split(":")[0]
    found = getattr(import_module(f".{module}", __package__), function, None)
    if found is None:
        raise CanonError(f"{model.record.variant!r} cannot be run {how}; models of text and translation can.")
    return found(model)
