"""The state of an optimizer (momenta and the like) for another set of weights, kept for those that stay."""

from collections.abc import Sequence

import keras

from ..zoo.errors import CanonError

# lists of an optimizer that are no slots
_NO_SLOTS = ("_variables", "_trainable_variables")
_AVERAGES = "_model_variables_moving_average"


def rebuilt_optimizer(
    optimizer: keras.optimizers.Optimizer, weights: Sequence[keras.Variable], all_weights: Sequence[keras.Variable]
) -> keras.optimizers.Optimizer:
    """Return an optimizer like another one, built for other weights; step count, rate and the slots of weights that stay are kept.

    Args:
        optimizer: built.
        weights: the weights that the new one moves.
        all_weights: of the model, to find those that decay leaves alone.

    Raises:
        CanonError: when the optimizer cannot be made again from its config.
    """
    try:
        new = type(optimizer).from_config(optimizer.get_config())
    except (TypeError, ValueError, NotImplementedError, KeyError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise CanonError(
            f"The optimizer {type(optimizer).__name__} cannot be made again for other weights ({reason}): compile the model anew."
        ) from error
    _carry_exclusions(optimizer, new, all_weights)
    new.build(weights)
    carry_slots(optimizer, new, counters=True)
    return new


def carry_slots(old: keras.optimizers.Optimizer, new: keras.optimizers.Optimizer, *, counters: bool) -> None:
    """Copy the slots of the weights that two built optimizers of one kind share.

    Args:
        old: where from.
        new: where to.
        counters: True to copy the step count, the learning rate and other single numbers too.
    """
    if isinstance(new, keras.optimizers.LossScaleOptimizer) and isinstance(old, keras.optimizers.LossScaleOptimizer):
        for name in ("step_counter", "dynamic_scale"):
            getattr(new, name).assign(getattr(old, name))
        carry_slots(old.inner_optimizer, new.inner_optimizer, counters=counters)
        return
    before = {old._var_key(weight): position for position, weight in enumerate(old._trainable_variables)}
    for name, value in vars(new).items():
        if isinstance(value, keras.Variable):
            if counters and isinstance(getattr(old, name, None), keras.Variable):
                value.assign(getattr(old, name))
            continue
        if name in _NO_SLOTS or not isinstance(value, list) or not any(isinstance(item, keras.Variable) for item in value):
            continue
        slots = getattr(old, name, None) or [None] * len(before)
        for weight, slot in zip(new._trainable_variables, value, strict=True):
            position = before.get(new._var_key(weight))
            if slot is not None and position is not None and slots[position] is not None:
                slot.assign(slots[position])
            elif slot is not None and name == _AVERAGES:
                # Keras starts its averages at update 0 only: one that joins later would start from zero
                slot.assign(weight)


def _carry_exclusions(old, new, weights: Sequence[keras.Variable]) -> None:
    """Leave alone by decay what was left alone before; the config of an optimizer does not say."""
    if isinstance(old, keras.optimizers.LossScaleOptimizer):
        _carry_exclusions(old.inner_optimizer, new.inner_optimizer, weights)
        return
    excluded = [weight for weight in weights if not old._use_weight_decay(weight)]
    if excluded:
        new.exclude_from_weight_decay(var_list=excluded)
