"""Another head on the same body."""

import dataclasses

import keras

from ..layers import ClassMaps2D
from .errors import CanonError
from .model import Model


def replace_head(model: Model, num_classes: int, *, dropout: float = 0.0) -> Model:
    """Return a model with a new output layer `logits`; every other layer is shared, so its weights are bit-equal.

    The new layer is dense, or makes class maps where the model's own output layer does.

    Args:
        model: a `zoo.Model` with a layer `logits`, or one built with `num_classes=0`. Auxiliary classifiers, which know the old
            classes, are left out.
        num_classes: number of classes of the new head, at least 1.
        dropout: rate of a dropout before it; an existing one is not repeated.

    Returns:
        a `zoo.Model` with the same variant in its record and no labels yet.

    Raises:
        CanonError: for a class count below 1, a rate outside [0, 1), or a model whose last layer is no head.
    """
    if isinstance(num_classes, bool) or not isinstance(num_classes, int) or num_classes < 1:
        raise CanonError(f"num_classes must be an integer of at least 1, got {num_classes!r}.")
    if not 0.0 <= dropout < 1.0:
        raise CanonError(f"dropout must be at least 0 and below 1, got {dropout!r}.")
    head = next((layer for layer in model.layers if layer.name == "logits"), None)
    x = _pooled(model)
    if not isinstance(head, ClassMaps2D) and (isinstance(x, list) or len(x.shape) != 2):
        shapes = [tensor.shape for tensor in x] if isinstance(x, list) else x.shape
        raise CanonError(f"Model {model.name!r} has no pooled features before its head, but an output of shape {shapes}.")
    if dropout:
        x = keras.layers.Dropout(dropout, name="head_dropout")(x)
    if isinstance(head, ClassMaps2D):
        x = ClassMaps2D.from_config({**head.get_config(), "num_classes": num_classes})(x)
    else:
        x = keras.layers.Dense(num_classes, name="logits")(x)
    record = dataclasses.replace(model.record, num_classes=num_classes, labels=())
    return Model(model.input, x, name=model.name, record=record)


def _pooled(model: Model):
    """Return the tensor that enters the head."""
    heads = [layer for layer in model.layers if layer.name == "logits"]
    if not heads:
        return model.output
    tensor = heads[0].input
    before = [layer for layer in model.layers if layer.name == "head_dropout"]
    return before[0].input if before else tensor
