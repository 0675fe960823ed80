"""Losses by name; all take logits."""

import inspect
from collections.abc import Mapping
from typing import Any

import keras

from ..zoo.errors import CanonError
from .auxiliary import WithAuxiliary
from .cross_entropy import ClassWeighted, CrossEntropy, accuracy, class_weight_list

__all__ = ["ClassWeighted", "CrossEntropy", "RBFMaximumAPosteriori", "WithAuxiliary", "accuracy", "build_loss", "class_weight_list"]


@keras.saving.register_keras_serializable(package="keras_canon")
class RBFMaximumAPosteriori(keras.losses.Loss):
    """Penalise the right class's penalty and the nearness of all others.

    E(W) = 1/P sum over p of [ y_Dp(Z_p, W) + log( e^(-j) + sum over i of e^(-y_i(Z_p, W)) ) ]        (9)

    y_i is the penalty of class i, the output of RBF units; Dp is the right class of pattern p. The logits of this project's RBF
    classifiers are -y_i. The sum of exponentials is taken as log-sum-exp, so no penalty overflows. j is the penalty of a
    class "rubbish" that every pattern belongs to a little: it keeps penalties that are large already from being pushed up further.
    Without it (j to infinity) this is cross-entropy of the softmax of -y.

    Args:
        rubbish_penalty: j, above 0. The paper calls it a positive constant and prints no value.
        **kwargs: passed on to `keras.losses.Loss`.

    Input shapes:
        labels (batch,) or (batch, 1), integers; logits (batch, classes)

    Output shape:
        the mean over the batch; (batch,) with `reduction="none"`

    Raises:
        ValueError: a rubbish penalty that is not above 0.

    Reference:
        LeCun, Bottou, Bengio, Haffner, 1998, "Gradient-Based Learning Applied to Document Recognition", section II.C,
        equation 9, doi:10.1109/5.726791.

    Example:
        >>> from keras_canon.training.losses import RBFMaximumAPosteriori
        >>> print(round(float(RBFMaximumAPosteriori(rubbish_penalty=1.0)([0], [[-2.0, -3.0]])), 4))
        1.4076
    """

    def __init__(self, rubbish_penalty=10.0, **kwargs):
        super().__init__(**kwargs)
        if not rubbish_penalty > 0.0:
            raise ValueError(f"rubbish_penalty must be above 0, got {rubbish_penalty!r}.")
        self.rubbish_penalty = float(rubbish_penalty)

    def call(self, y_true, y_pred):
        """Return the loss of each example, (B,)."""
        logits = keras.ops.convert_to_tensor(y_pred)  # (B, classes), minus the penalties
        labels = keras.ops.reshape(keras.ops.cast(y_true, "int32"), (-1, 1))
        right = keras.ops.squeeze(keras.ops.take_along_axis(logits, labels, axis=-1), axis=-1)  # (B,)
        rubbish = keras.ops.full_like(logits[:, :1], -self.rubbish_penalty)
        return keras.ops.logsumexp(keras.ops.concatenate([logits, rubbish], axis=-1), axis=-1) - right

    def get_config(self):
        """Return the arguments."""
        return {**super().get_config(), "rubbish_penalty": self.rubbish_penalty}


def build_loss(name: str, options: Mapping[str, Any] | None = None) -> keras.losses.Loss:
    """Return a loss by its name in a recipe, with the options that it takes.

    Args:
        name: as `train.loss` has it.
        options: as `train.loss_options` has them.

    Raises:
        CanonError: for an option that the loss does not have, or a value that it refuses.
    """
    options = dict(options or {})
    kinds = {
        "cross_entropy": CrossEntropy,
        "mean_squared_error": keras.losses.MeanSquaredError,
        "rbf_maximum_a_posteriori": RBFMaximumAPosteriori,
    }
    kind = kinds[name]
    allowed = [key for key in inspect.signature(kind).parameters if key not in ("kwargs", "reduction", "name", "dtype")]
    for key in options:
        if key not in allowed:
            raise CanonError(f"The loss {name!r} has no option {key!r}: allowed: {', '.join(allowed) or 'none'}.")
    try:
        return kind(**options)
    except (ValueError, TypeError) as error:
        raise CanonError(f"The loss {name!r} cannot be built with {options}: {error}") from error
