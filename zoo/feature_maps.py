"""Named feature maps of a model."""

from collections.abc import Sequence

import keras

from .errors import CanonError, unknown_name
from .model import Model
from .registry import info


def feature_layer(model: Model, feature: str) -> keras.layers.Layer:
    """Return the layer whose output is the feature map: the layer of that name, or the last one of that stage.

    Stages name their blocks `conv3_block1`, `conv3_block2` and so on; the feature `conv3` is the output of the last block.
    """
    named = [layer for layer in model.layers if layer.name == feature]
    staged = [layer for layer in model.layers if layer.name.startswith(f"{feature}_")]
    if not named and not staged:
        raise CanonError(f"Model {model.name!r} has no layer for the feature {feature!r}: was it changed after zoo.create?")
    return (named or staged)[-1]


def features(model: Model, names: Sequence[str] | None = None) -> keras.Model:
    """Return a model that gives the named feature maps, sharing all weights.

    Args:
        model: a `zoo.Model`.
        names: names out of `zoo.info(variant).features`, which also gives their strides; None for all.

    Returns:
        a `keras.Model` from the same input to a dict of feature maps (B, height, width, channels).

    Raises:
        CanonError: for a name that the variant does not have.
    """
    known = info(model.record.variant).features
    names = list(known) if names is None else [names] if isinstance(names, str) else list(names)
    for name in names:
        if name not in known:
            raise unknown_name(f"feature of {model.record.variant!r} called", name, known)
    if not names:
        raise CanonError(f"No feature of {model.record.variant!r} was named: choose out of {', '.join(known) or 'none'}.")
    outputs = {name: feature_layer(model, name).output for name in names}
    return keras.Model(model.input, outputs, name=f"{model.name}_features")
