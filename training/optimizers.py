"""Keras optimizers by name, with the arguments that our loop honours."""

import inspect

import keras

from ..zoo.errors import CanonError, unknown_name
from .sections import OptimizerSection

# each needs a training loop that plays its part; accepting them without one would do nothing
_NEED_LOOP = {"use_ema", "ema_momentum", "ema_overwrite_frequency", "loss_scale_factor", "gradient_accumulation_steps"}
_SET_ELSEWHERE = {"self", "learning_rate", "name", "kwargs"}


def optimizer_classes() -> dict[str, type[keras.optimizers.Optimizer]]:
    """Return Keras's optimizers by lower-case name, without those that only wrap others."""
    base = keras.optimizers.Optimizer
    classes = (item for item in vars(keras.optimizers).values() if inspect.isclass(item) and issubclass(item, base) and item is not base)
    return {item.__name__.lower(): item for item in classes if "learning_rate" in inspect.signature(item).parameters}


def build_optimizer(section: OptimizerSection, learning_rate, model: keras.Model) -> keras.optimizers.Optimizer:
    """Return the optimizer of a recipe, with decay switched off for the vectors of a model (biases, normalisation).

    Args:
        section: the recipe's `[optimizer]`.
        learning_rate: a number or a Keras schedule.
        model: whose weights it will move.

    Raises:
        CanonError: for an unknown optimizer or option, or a value that the optimizer refuses.
    """
    classes = optimizer_classes()
    if section.name not in classes:
        raise unknown_name("optimizer", section.name, classes)
    allowed = sorted(set(inspect.signature(classes[section.name].__init__).parameters) - _NEED_LOOP - _SET_ELSEWHERE)
    for key in section.options:
        if key not in allowed:
            raise CanonError(f"The optimizer {section.name!r} has no option {key!r}: allowed: {', '.join(allowed)}.")
    try:
        optimizer = classes[section.name](learning_rate=learning_rate, **section.options)
    except (ValueError, TypeError) as error:
        raise CanonError(f"The optimizer {section.name!r} cannot be built with {section.options}: {error}") from error
    if optimizer.weight_decay:
        optimizer.exclude_from_weight_decay(var_list=[weight for weight in model.trainable_variables if len(weight.shape) < 2])
    return optimizer
