"""Truncated back-propagation through time: a recurrent model goes on where the last batch of windows ended."""

from typing import Any

import keras
import numpy as np
import tensorflow as tf

from ..zoo.errors import CanonError
from ..zoo.model import Model
from ..zoo.stepping import step_model
from .forward import Forward


def streams(count: int, rows: int) -> np.ndarray:
    """Return the order in which consecutive windows are read as streams side by side.

    The windows are cut into so many runs of nearly one length. The first batch holds the first window of each run, the next one
    the second ones, and so on, so that each row of a batch goes on where that row ended in the batch before. Where the runs do not
    come out even, the last batch holds the windows of the first runs alone.

    Args:
        count: number of windows, in the order of the text.
        rows: windows a batch.

    Example:
        >>> from keras_canon.training.carried_state import streams
        >>> streams(8, 3).tolist()
        [0, 3, 6, 1, 4, 7, 2, 5]
    """
    runs = np.array_split(np.arange(count), min(rows, count))
    steps = len(runs[0])
    return np.concatenate([[run[step] for run in runs if step < len(run)] for step in range(steps)]).astype("int64")


class CarriedState(Forward):
    r"""Carry the states of a recurrent language model from one batch of windows to the next; no gradient crosses over.

    $$h_0^{(k+1)} = h_T^{(k)}, \quad \frac{\partial h_0^{(k+1)}}{\partial \theta} := 0 \tag{1}$$

    States are zero when a pass begins. Training and evaluation have states of their own.

    Args:
        model: a recurrent model of language, whose step model has its states as inputs and outputs.
        rows: examples of a batch at most; a shorter batch holds the first so many rows.

    Raises:
        CanonError: for a model that cannot be run step by step, or that an encoder starts.

    Reference:
        Williams, Peng, 1990, "An efficient gradient-based algorithm for on-line training of recurrent network trajectories", section 4,
        doi:10.1162/neco.1990.2.4.490.
    """

    def __init__(self, model: Model, rows: int):
        stepper = step_model(model)
        names = [tensor.name for tensor in stepper.inputs if tensor.name != "token_ids"]
        if not names or len(model.inputs) > 1:
            raise CanonError(
                f"{model.record.variant!r} has no state to carry from one window of text to the next: leave out state=carried."
            )
        self._stepper = stepper
        specs = [(name, stepper.output[name]) for name in names]
        self._states, self._other = (
            {name: tf.Variable(tf.zeros((rows, tensor.shape[-1]), tensor.dtype), trainable=False) for name, tensor in specs}
            for _ in range(2)
        )
        super().__init__(model, list(self._states.values()), list(self._other.values()))

    def train(self, inputs):
        """Return the logits (B, T, V) of windows (B, T) that follow those of the last call."""
        return self._read(inputs, self._states, training=True)

    def evaluate(self, inputs):
        """Return the logits (B, T, V) in inference."""
        return self._read(inputs, self._other, training=False)

    def _read(self, token_ids, states: dict[str, tf.Variable], training: bool):
        rows = tf.shape(token_ids)[0]
        before = {name: variable[:rows] for name, variable in states.items()}
        outputs: dict[str, Any] = self._stepper({"token_ids": token_ids, **before}, training=training)
        for name, variable in states.items():
            # rows that this batch has not keep what they had
            variable.assign(tf.concat([keras.ops.cast(outputs[name], variable.dtype.name), variable[rows:]], axis=0))
        return outputs["logits"]
