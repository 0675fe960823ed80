"""The size of the gradient, layer by layer: a callback that finds gradients that vanish or explode."""

import warnings
from collections.abc import Mapping
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

from .steps import per_example
from .writing import write_table


def probe(model: keras.Model, inputs, labels):
    """Return the losses of a batch and the gradients of all trainable weights; the model is left as it was.

    Args:
        model: compiled with a loss.
        inputs: of one batch.
        labels: likewise.
    """
    # moving statistics and the state of dropout, which the forward pass moves on
    before = [(variable, tf.identity(variable.value)) for variable in model.non_trainable_variables]
    loss = per_example(model.loss)
    with tf.GradientTape() as tape:
        losses = loss(labels, model(inputs, training=True))
        objective = tf.reduce_mean(tf.cast(losses, "float32"))
    gradients = tape.gradient(objective, model.trainable_variables)
    for variable, value in before:
        variable.assign(value)
    return losses, gradients


def layer_norms(model: keras.Model, gradients) -> dict[str, float]:
    r"""Return the norm of the gradient of each layer by the layer's path.

    $$n_l = \sqrt{\sum_{w \in l} \lVert \partial L / \partial w \rVert^2} \tag{1}$$

    Args:
        model: the model.
        gradients: of its trainable weights, in order; None counts as 0.
    """
    squares: dict[str, float] = {}
    for weight, gradient in zip(model.trainable_weights, gradients, strict=True):
        layer = weight.path.removeprefix(f"{model.name}/").rpartition("/")[0] or weight.path
        values = 0.0 if gradient is None else np.asarray(tf.convert_to_tensor(gradient), "float64")
        squares[layer] = squares.get(layer, 0.0) + float(np.sum(np.square(values)))
    return {layer: float(np.sqrt(square)) for layer, square in squares.items()}


class GradientNorms(keras.callbacks.Callback):
    """Take the norm of the gradient of every layer on one batch at the end of each epoch, and warn by name of what is out of range.

    Args:
        inputs: of the batch.
        labels: likewise.
        path: a CSV file with a row for each epoch and a column for each layer; None for no file.
        vanishing: a layer whose norm is below this share of the largest one is warned of.
        exploding: a norm above this is warned of, and one that is no finite number.

    Raises:
        ValueError: for limits that are not above 0.
    """

    def __init__(self, inputs, labels, path: str | Path | None = None, vanishing: float = 1e-6, exploding: float = 1e4):
        super().__init__()
        if not (vanishing > 0.0 and exploding > 0.0):
            raise ValueError(f"vanishing and exploding must be above 0, got {vanishing} and {exploding}.")
        self._inputs, self._labels = tf.nest.map_structure(tf.convert_to_tensor, (inputs, labels))
        self.path = None if path is None else Path(path)
        self.vanishing, self.exploding = vanishing, exploding
        self.rows: list[dict[str, float]] = []
        self.warned: list[str] = []

    def on_train_begin(self, logs=None):
        """Forget earlier training."""
        self.rows, self.warned = [], []

    def on_epoch_end(self, epoch, logs=None):
        """Take the norms; each layer is warned of once."""
        _, gradients = probe(self.model, self._inputs, self._labels)
        norms = layer_norms(self.model, gradients)
        self.rows.append({"epoch": epoch, **norms})
        if self.path is not None:
            write_table(self.path, self.rows)
        for layer, sentence in self._out_of_range(norms).items():
            if layer not in self.warned:
                self.warned.append(layer)
                warnings.warn(f"Epoch {epoch + 1}: {sentence}", stacklevel=2)

    def _out_of_range(self, norms: Mapping[str, float]) -> dict[str, str]:
        # beside a gradient that explodes all others would look small
        largest = max((norm for norm in norms.values() if norm <= self.exploding), default=0.0)
        found = {}
        for layer, norm in norms.items():
            if not np.isfinite(norm) or norm > self.exploding:
                found[layer] = f"the gradient of layer {layer!r} explodes (norm {norm:.2g}): lower the learning rate or clip gradients."
            elif norm < self.vanishing * largest:
                found[layer] = (
                    f"the gradient of layer {layer!r} vanishes (norm {norm:.2g}, the largest is {largest:.2g}): add normalisation or "
                    "shortcuts, or change activation or initial weights."
                )
        return found
