"""Keras optimizers by name, with the arguments that our loop honours."""

import inspect

import keras

from ..zoo.errors import CanonError, unknown_name
from .momentum import ScheduledAdam, ScheduledSGD
from .sections import OptimizerSection

# each needs a training loop that plays its part; accepting them without one would do nothing
_ELSEWHERE = {
    **dict.fromkeys(("use_ema", "ema_momentum", "ema_overwrite_frequency"), 'use [average] name = "exponential"'),
    "clipvalue": "use optimizer.clip_value",
    "clipnorm": "use optimizer.clip_norm",
    "global_clipnorm": "use optimizer.clip_global_norm",
    "gradient_accumulation_steps": "use train.micro_batches",
    "loss_scale_factor": 'use train.precision = "mixed_float16"',
    "learning_rate": "use optimizer.learning_rate",
    "name": "leave it out",
}
_NO_DECAY_NAMES = ("bias", "gamma", "beta")


def optimizer_classes() -> dict[str, type[keras.optimizers.Optimizer]]:
    """Return Keras's optimizers by lower-case name, without those that only wrap others."""
    base = keras.optimizers.Optimizer
    classes = (item for item in vars(keras.optimizers).values() if inspect.isclass(item) and issubclass(item, base) and item is not base)
    return {item.__name__.lower(): item for item in classes if "learning_rate" in inspect.signature(item).parameters}


def is_decayed(weight: keras.Variable) -> bool:
    """Return whether decay and penalties pull on a weight: all but biases, normalisation and other vectors.

    The name counts as well as the number of axes: biases of gated recurrent units and of attention heads are matrices.
    """
    return len(weight.shape) >= 2 and not weight.name.endswith(_NO_DECAY_NAMES)


def build_optimizer(
    section: OptimizerSection,
    learning_rate,
    model: keras.Model,
    momentum: keras.optimizers.schedules.LearningRateSchedule | None = None,
) -> keras.optimizers.Optimizer:
    """Return the optimizer of a recipe, with decay switched off for biases, normalisation and other vectors of a model.

    Args:
        section: the recipe's `[optimizer]`.
        learning_rate: a number or a Keras schedule.
        model: whose weights it will move.
        momentum: schedule of the momentum, for sgd, adam and adamw; None for the optimizer's fixed one.

    Raises:
        CanonError: for an unknown optimizer or option, or a value that the optimizer refuses.
    """
    classes = optimizer_classes()
    if section.name not in classes:
        raise unknown_name("optimizer", section.name, classes)
    parameters = set(inspect.signature(classes[section.name].__init__).parameters) - {"self", "kwargs"}
    allowed = sorted(parameters - set(_ELSEWHERE))
    for key in section.options:
        if key in _ELSEWHERE:
            raise CanonError(f"The option {key!r} of the optimizer {section.name!r} does nothing in a run: {_ELSEWHERE[key]}.")
        if key not in allowed:
            raise CanonError(f"The optimizer {section.name!r} has no option {key!r}: allowed: {', '.join(allowed)}.")
    try:
        optimizer = _made(section, learning_rate, momentum)
    except (ValueError, TypeError) as error:
        raise CanonError(f"The optimizer {section.name!r} cannot be built with {section.options}: {error}") from error
    if optimizer.weight_decay:
        optimizer.exclude_from_weight_decay(var_list=[weight for weight in model.trainable_variables if not is_decayed(weight)])
    return optimizer


def _made(section: OptimizerSection, learning_rate, momentum) -> keras.optimizers.Optimizer:
    if momentum is None:
        return optimizer_classes()[section.name](learning_rate=learning_rate, **section.options)
    if section.name == "sgd":
        return ScheduledSGD(momentum, learning_rate=learning_rate, **section.options)
    if section.name not in ("adam", "adamw"):
        raise ValueError("only sgd, adam and adamw can have a momentum that follows a schedule")
    # Keras's AdamW is Adam with this default
    decay = {"weight_decay": 0.004} if section.name == "adamw" else {}
    return ScheduledAdam(momentum, learning_rate=learning_rate, **{**decay, **section.options})
