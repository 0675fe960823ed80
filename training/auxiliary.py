"""Models with auxiliary outputs: which output is the answer, and a loss that counts the others with a weight."""

from collections.abc import Mapping
from typing import Any

import keras

MAIN_OUTPUT = "logits"
TOKENS = "token_logits"  # of a model with further heads of pre-training
LENGTHS = "lengths"  # of the frames of a recognizer, which belong to its logits


def main_output(outputs: Any) -> Any:
    """Return the output that a model with further ones is judged by; what any other model returns as it is.

    Args:
        outputs: of a model; a mapping with `logits` where there are auxiliary outputs beside it, or with `token_logits` where there
            are other heads of pre-training.
    """
    if isinstance(outputs, Mapping) and TOKENS in outputs:
        return outputs[TOKENS]
    return outputs[MAIN_OUTPUT] if _has_auxiliary(outputs) else outputs


def auxiliary_outputs(model: keras.Model) -> tuple[str, ...]:
    """Return the names of a model's outputs beside `logits`, none for a model with one output."""
    return tuple(name for name in model.output if name != MAIN_OUTPUT) if _has_auxiliary(model.output) else ()


def _has_auxiliary(outputs: Any) -> bool:
    return isinstance(outputs, Mapping) and MAIN_OUTPUT in outputs and LENGTHS not in outputs


@keras.saving.register_keras_serializable(package="keras_canon")
class WithAuxiliary(keras.losses.Loss):
    r"""A loss of the main output, plus the same loss of each auxiliary output times a weight.

    $$L = L(y, z_{\mathrm{main}}) + \lambda \sum_i L(y, z_i) \tag{1}$$

    Where there is only one output, as in validation, which is of the main one alone, it is that output's loss.

    Args:
        loss: a Keras loss with one value a label.
        weight: lambda, at least 0; 0.3 in the paper.
        **kwargs: passed on to `keras.losses.Loss`.

    Input shapes:
        labels as the loss takes them; a mapping of outputs, each (batch, classes), the main one under `logits`

    Output shape:
        that of the loss

    Raises:
        ValueError: a weight below 0.

    Reference:
        Szegedy et al., 2014, "Going Deeper with Convolutions", section 5, arXiv:1409.4842.

    Example:
        >>> from keras_canon.training.losses import CrossEntropy, WithAuxiliary
        >>> outputs = {"logits": [[0.0, 0.0]], "auxiliary1": [[0.0, 0.0]]}
        >>> print(round(float(WithAuxiliary(CrossEntropy(), 0.3)([0], outputs)), 4))
        0.9011
    """

    def __init__(self, loss, weight=0.3, **kwargs):
        # the dtype is that of labels, too, and class numbers above 256 are no bfloat16 numbers
        super().__init__(**{"dtype": "float32", **kwargs})
        if not 0.0 <= weight < float("inf"):
            raise ValueError(f"weight must be at least 0 and finite, got {weight!r}.")
        loss = keras.losses.get(loss)
        self.loss = type(loss).from_config({**loss.get_config(), "reduction": "none"})
        self.weight = float(weight)

    def call(self, y_true, y_pred):
        """Return the loss of each label."""
        losses = self.loss(y_true, main_output(y_pred))
        if isinstance(y_pred, Mapping):
            for name, output in y_pred.items():
                if name != MAIN_OUTPUT:
                    losses = losses + self.weight * self.loss(y_true, output)
        return losses

    def get_config(self):
        """Return the arguments."""
        return {**super().get_config(), "loss": keras.losses.serialize(self.loss), "weight": self.weight}
