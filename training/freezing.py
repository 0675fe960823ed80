"""What of a model is trained: freeze and unfreeze parts of it, so that no flag can be ignored quietly."""

from collections.abc import Sequence

import keras

from ..zoo.errors import CanonError, unknown_name
from .distribution import strategy_of
from .optimizer_slots import rebuilt_optimizer
from .trainable_summary import TrainableSummary, summarise

_HEAD = "logits"


def freeze(model: keras.Model, until: str | None = None) -> TrainableSummary:
    """Freeze a model up to a layer; from then on training changes no weight and no statistic of that part, not by one bit.

    Batch normalisation in the frozen part normalises with its moving statistics, whatever `training=` it is called with. Composite
    layers and models inside models are frozen with all that is in them. A compiled model goes on with its optimizer: the state of
    weights that stay trainable is kept, and the training step is made anew, so that the next `fit` knows. Call it on the model that
    is compiled, not on one inside of it, and between calls of `fit`, whose callbacks may call it too.

    Flags of layers inside of layers are not part of what Keras saves: freeze again after loading.

    Args:
        model: built; compiled or not.
        until: last layer to freeze, or the name of a feature, such as "conv4" for all layers up to the last `conv4_...`; layers of
            models inside the model can be named too. None for all but the head, which is the layer `logits`.

    Returns:
        a table of what is trainable now; print it.

    Raises:
        CanonError: (a ValueError) for a model that is not built, a name that it does not have, no layer `logits` where `until` is
            None, a layer that changes its weights without being trained, or an optimizer that cannot be made again.

    Example:
        >>> import keras
        >>> from keras_canon import training
        >>> model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(4, name="body"), keras.layers.Dense(2, name="logits")])
        >>> print(training.freeze(model).total)
        10 of 26 parameters are trainable
    """
    _require_built(model)
    layers = _body(model) if until is None else _layers_up_to(model, until, inclusive=True)
    if until is None and not layers:
        known = ", ".join(repr(layer.name) for layer in model.layers[-3:])
        raise CanonError(f"Model {model.name!r} has no layer 'logits' to leave trainable: name the last layer to freeze (it ends {known}).")
    for layer in layers:
        _refuse_restless(layer)
    for layer in layers:
        _set_trainable(layer, False)
    _recompile(model)
    return summarise(model)


def unfreeze(model: keras.Model, from_: str | None = None, *, keep_batch_norm_frozen: bool = True) -> TrainableSummary:
    """Let a model be trained from a layer on; what comes before stays as it is.

    Args:
        model: built; compiled or not. See `freeze` for what happens to the optimizer.
        from_: first layer to train, or the name of a feature, such as "conv4" for the first `conv4_...` and all that follows; None
            for all layers.
        keep_batch_norm_frozen: True to leave every batch normalisation that is frozen now as it is: neither its statistics nor its
            scale and shift move, whatever `training=` it is called with. Statistics of small batches would spoil it.

    Returns:
        a table of what is trainable now; print it.

    Raises:
        CanonError: (a ValueError) as for `freeze`.
    """
    _require_built(model)
    before = [] if from_ is None else _layers_up_to(model, from_, inclusive=False)
    kept = [(layer, layer.trainable) for top in before for layer in _with_inner(top)]
    frozen = [layer for layer in _with_inner(model) if isinstance(layer, keras.layers.BatchNormalization) and not layer.trainable]
    _set_trainable(model, True)
    # a flag that is set is set for all layers inside too: from the outside inwards the innermost has the last word
    for layer, flag in kept:
        layer.trainable = flag
    for layer in frozen if keep_batch_norm_frozen else []:
        layer.trainable = False
    _recompile(model)
    return summarise(model)


def _layers_up_to(model: keras.Model, name: str, *, inclusive: bool) -> list[keras.layers.Layer]:
    """Return the layers in order of computation up to the last, or before the first, of a name."""
    found = _find_layers(model, name, inclusive)
    if found is None:
        names = [layer.name for layer in _with_inner(model, models_only=True)]
        features = [name.split("_")[0] for name in names if "_" in name]
        raise unknown_name(f"layer or feature of model {model.name!r} called", name, sorted({*names, *features}))
    return found


def _find_layers(model: keras.Model, name: str, inclusive: bool) -> list[keras.layers.Layer] | None:
    layers = model.layers
    named = [position for position, layer in enumerate(layers) if layer.name == name]
    named = named or [position for position, layer in enumerate(layers) if layer.name.startswith(f"{name}_")]
    if named:
        return layers[: named[-1] + 1] if inclusive else layers[: named[0]]
    for position, layer in enumerate(layers):
        inner = _find_layers(layer, name, inclusive) if isinstance(layer, keras.Model) else None
        if inner is not None:
            return [*layers[:position], *inner]
    return None


def _body(model: keras.Model) -> list[keras.layers.Layer]:
    """Return all layers but those of the head; empty where there is no head."""
    body, has_head = [], False
    for layer in model.layers:
        # an auxiliary classifier has a layer of that name inside
        if layer.name != _HEAD and not any(inner.name == _HEAD for inner in _with_inner(layer)):
            body.append(layer)
            continue
        has_head = True
        if isinstance(layer, keras.Model):
            body += _body(layer)
    return body if has_head else []


def _with_inner(layer: keras.layers.Layer, *, models_only: bool = False) -> Sequence[keras.layers.Layer]:
    """Return a layer and all layers in it, each before those that are in it."""
    if not models_only:
        return [layer, *(inner for child in layer._layers for inner in _with_inner(child))]
    children = layer.layers if isinstance(layer, keras.Model) else []
    return [inner for child in children for inner in (child, *_with_inner(child, models_only=True))]


def _set_trainable(layer: keras.layers.Layer, flag: bool) -> None:
    for inner in _with_inner(layer):
        # one by one: where a layer has the flag already, Keras does not look at those inside
        inner.trainable = flag


def _require_built(model: keras.Model) -> None:
    if not model.built:
        raise CanonError(f"Model {model.name!r} has no weights yet: build it, or call it on a batch, before freezing parts of it.")


def _refuse_restless(layer: keras.layers.Layer) -> None:
    for inner in _with_inner(layer):
        if isinstance(inner, keras.layers.SpectralNormalization):
            raise CanonError(
                f"The layer {inner.name!r} changes its kernel whenever it is called in training, frozen or not: take the layer out of "
                "SpectralNormalization, or leave it trainable."
            )


def _recompile(model: keras.Model) -> None:
    """Give a compiled model an optimizer for what is trainable now, and a training step that knows of it."""
    if not model.compiled:
        return
    if model.optimizer.built:
        with strategy_of(model).scope():
            model.optimizer = rebuilt_optimizer(model.optimizer, model.trainable_variables, model.variables)
    model.make_train_function(force=True)
    # Keras compares flags with those at `compile`, and warns of what it would ignore
    model._compiled_trainable_state = {layer: layer.trainable for layer in model._flatten_layers()}
