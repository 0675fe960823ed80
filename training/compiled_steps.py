"""Compiled steps that stay with their model, so that training or evaluating it once more compiles nothing.

TensorFlow keeps some memory for each function that was ever compiled, even when nobody holds it any more: without this, fifty short
calls of `train` on one LeNet grew a process by more than 100 MB.
"""

import hashlib
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import keras

Step = TypeVar("Step")

# short fits on data of several batch sizes or types; beyond that the oldest goes
_KEPT = 8


class CompiledSteps:
    """What was compiled for a model; it holds for the optimizer, loss and settings that the model had then.

    Keras neither tracks nor saves an attribute of this kind, and a copy of a model starts with an empty one.
    """

    def __init__(self):
        self._owner: Any = None
        self._steps: list[tuple[Any, Any]] = []

    def __deepcopy__(self, memo):
        return CompiledSteps()

    def __reduce__(self):
        return CompiledSteps, ()

    def get(self, owner: Any, key: Any, make: Callable[[], Step]) -> Step:
        """Return the step of a key, made where there is none or where all belong to another owner."""
        if owner != self._owner:
            # with an old optimizer goes the memory of its slots
            self._owner, self._steps = owner, []
        for known, step in self._steps:
            if known == key:
                return step
        step = make()
        self._steps = [*self._steps[1 - _KEPT :], (key, step)]
        return step


def kept(model: keras.Model, key: Any, make: Callable[[], Step]) -> Step:
    """Return what `make` compiled for a model, now or in an earlier call with an equal key.

    It is compiled anew as soon as the optimizer, the loss, or a setting of a layer (rates, what is frozen, penalties) is another.

    Args:
        model: whose step it is.
        key: what else decides what is compiled, such as the shapes of the data; anything with an equality.
        make: compiles the step.
    """
    settings = _settings(model)
    if settings is None:
        return make()
    steps = vars(model).setdefault("_keras_canon_compiled", CompiledSteps())
    return steps.get((getattr(model, "optimizer", None), getattr(model, "loss", None), settings), key, make)


def _settings(model: keras.Model) -> str | None:
    """Return a digest of all that compiling takes in from a model besides its variables, None where a layer does not tell it."""
    digest = hashlib.sha256()
    try:
        for layer in model._flatten_layers():
            digest.update(repr((id(layer), layer.trainable, str(layer.dtype_policy), layer.get_config())).encode())
    except NotImplementedError:  # a model or layer of the user's own, without a config
        return None
    for weight in model.weights:
        regularizer = getattr(weight, "regularizer", None)
        digest.update(repr((id(weight), weight.trainable, regularizer and (type(regularizer), regularizer.get_config()))).encode())
    digest.update(repr(_optimizer_settings(getattr(model, "optimizer", None))).encode())
    return digest.hexdigest()


def _optimizer_settings(optimizer: Any) -> Any:
    if isinstance(optimizer, keras.optimizers.LossScaleOptimizer):
        return optimizer.dynamic_growth_steps, _optimizer_settings(optimizer.inner_optimizer)
    if optimizer is None:
        return None
    config = optimizer.get_config()
    # a plain rate is a variable, which may change from call to call; a schedule is compiled in
    return {key: value for key, value in config.items() if key != "learning_rate" or isinstance(value, Mapping)}
