"""Learning rates and weight decay layer by layer, in plain Keras training and in our loop alike."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import keras

from ..zoo.errors import CanonError, unknown_name
from .momentum import ScheduledAdam, ScheduledSGD
from .optimizers import optimizer_classes

if TYPE_CHECKING:
    _Optimizer = keras.optimizers.Optimizer
else:
    # it comes before an optimizer in the bases of a class
    _Optimizer = object


class LayerRates(_Optimizer):
    """What makes an optimizer move some weights slower or faster than others; `with_layer_rates` mixes it into any optimizer of Keras.

    w <- w - f_w rate u(g) - f_w d_w rate decay w      (1)

    with u the optimizer's update for the gradient g, f_w the factor of the weight and d_w its factor of the decay. Clipping, averages
    and accumulation work on gradients and weights, and so are what they are without factors.

    Args:
        rates: factor f by layer; see `with_layer_rates`.
        decays: factor d by layer.
        **kwargs: of the optimizer.
    """

    def __init__(self, *, rates: Mapping[str, float] | None = None, decays: Mapping[str, float] | None = None, **kwargs):
        super().__init__(**kwargs)
        self.rates = _checked("rates", rates, lowest_is_allowed=False)
        self.decays = _checked("decays", decays, lowest_is_allowed=True)
        self._factors: tuple[float, ...] = ()
        self._decay_factors: tuple[float, ...] = ()
        self._rate_factor: float | None = None

    def build(self, variables) -> None:
        """Look up the factors of the weights by their paths, which is possible here only: an update sees raw variables."""
        factors = tuple(_factor(self.rates, variable.path) for variable in variables)
        self._factors = factors
        self._decay_factors = tuple(
            factor * _factor(self.decays, variable.path) for factor, variable in zip(factors, variables, strict=True)
        )
        super().build(variables)

    def update_step(self, gradient, variable, learning_rate) -> None:
        """Move one weight."""
        factor = self._factors[self._get_variable_index(variable)]
        super().update_step(gradient, variable, learning_rate if factor == 1.0 else learning_rate * factor)

    def _apply_weight_decay(self, variables) -> None:
        groups: dict[float, list[Any]] = {}
        for variable in variables:
            groups.setdefault(self._decay_factors[self._get_variable_index(variable)], []).append(variable)
        try:
            for factor, group in groups.items():
                if factor:
                    self._rate_factor = factor
                    super()._apply_weight_decay(group)
        finally:
            self._rate_factor = None

    def _get_current_learning_rate(self):
        rate = super()._get_current_learning_rate()
        return rate if self._rate_factor is None else rate * self._rate_factor

    def get_config(self) -> dict[str, Any]:
        """Return the arguments."""
        return {**super().get_config(), "rates": dict(self.rates), "decays": dict(self.decays)}


def _made_classes() -> dict[type, type]:
    """Return a class with factors for each optimizer, registered under the name `keras_canon>LayerRatesSGD` and so on."""
    made = {}
    for base in (*optimizer_classes().values(), ScheduledSGD, ScheduledAdam):
        name = f"LayerRates{base.__name__}"
        kind = type(name, (LayerRates, base), {"__module__": __name__, "__doc__": f"`{base.__name__}` with factors by layer."})
        made[base] = keras.saving.register_keras_serializable(package="keras_canon", name=name)(kind)
    return made


_CLASSES = MappingProxyType(_made_classes())


def with_layer_rates(
    optimizer: keras.optimizers.Optimizer,
    model: keras.Model,
    rates: Mapping[str, float],
    decays: Mapping[str, float] | None = None,
) -> keras.optimizers.Optimizer:
    """Return an optimizer like another one that moves the weights of some layers by a factor slower or faster.

    It works under `fit` and in our loop, with accumulation, averages, clipping, loss scaling and on several devices; saved with a
    model it is loaded again. Decoupled weight decay goes with the rate of the weight, as it does in the paper of AdamW: a factor of
    0.5 at rate 0.1 and decay 0.1 takes 0.5 % of a weight with each update. Adafactor and Muon bound or share their rate out
    themselves; the factor is then one of the rate that they begin with.

    Args:
        optimizer: not built; one of Keras, or a `LossScaleOptimizer` with one inside.
        model: built; its paths are what `rates` is checked against.
        rates: factor above 0 by layer: a name, or a part of a path such as "stage1_block2/conv1", that occurs whole in the path of a
            weight; with "/" before it, at its start; "" for all that nothing else fits. Where several fit, the longest counts. Freeze
            what should not move at all.
        decays: factor of the weight decay, at least 0, on top of that of the rate, named in the same way.

    Raises:
        CanonError: (a ValueError) for a factor out of range, a name that is in no path, or an optimizer that is built or is not one
            of Keras.

    Example:
        >>> import keras
        >>> from keras_canon.training.layer_rates import with_layer_rates
        >>> model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(4, name="body"), keras.layers.Dense(2, name="head")])
        >>> type(with_layer_rates(keras.optimizers.AdamW(1e-3), model, {"body": 0.1})).__name__
        'LayerRatesAdamW'
    """
    if isinstance(optimizer, keras.optimizers.LossScaleOptimizer):
        inner = with_layer_rates(optimizer.inner_optimizer, model, rates, decays)
        config = {key: optimizer.get_config()[key] for key in ("name", "initial_scale", "dynamic_growth_steps")}
        return keras.optimizers.LossScaleOptimizer(inner, **config)
    kind = _CLASSES.get(type(optimizer))
    if kind is None:
        raise CanonError(f"with_layer_rates takes an optimizer of Keras, got {type(optimizer).__name__}: give it one of {_names()}.")
    if optimizer.built:
        raise CanonError(f"The optimizer {type(optimizer).__name__} is in use: give with_layer_rates a new one.")
    paths = [weight.path for weight in model.weights]
    for table in (rates, decays or {}):
        for name in table:
            if name and not any(_fits(name, path) for path in paths):
                known = sorted({part for path in paths for part in path.split("/")[:-1]})
                raise unknown_name(f"layer of model {model.name!r} called", name, known)
    made = kind.from_config({**optimizer.get_config(), "rates": dict(rates), "decays": dict(decays or {})})
    excluded = [weight for weight in model.weights if not optimizer._use_weight_decay(weight)]
    if excluded:
        made.exclude_from_weight_decay(var_list=excluded)
    return made


def _names() -> str:
    return ", ".join(sorted(optimizer_classes()))


def _checked(argument: str, table: Mapping[str, float] | None, *, lowest_is_allowed: bool) -> dict[str, float]:
    for name, factor in (table or {}).items():
        good = isinstance(factor, int | float) and not isinstance(factor, bool) and (factor > 0 or (lowest_is_allowed and factor == 0))
        if not good or factor == float("inf"):
            allowed = "at least 0" if lowest_is_allowed else "above 0 (freeze a layer that should not move)"
            raise CanonError(f"{argument} must hold numbers {allowed}, got {factor!r} for {name!r}.")
    return {name: float(factor) for name, factor in (table or {}).items()}


def _fits(name: str, path: str) -> bool:
    """Return whether the parts of a name occur one after another in a path, or at its start where the name begins with a slash."""
    if name.startswith("/"):
        return f"/{path}/".startswith(f"{name}/")
    return f"/{name}/" in f"/{path}/"


def _factor(table: Mapping[str, float], path: str) -> float:
    fitting: Sequence[str] = [name for name in table if not name or _fits(name, path)]
    return table[max(fitting, key=len)] if fitting else 1.0
