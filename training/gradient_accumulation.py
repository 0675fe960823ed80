"""One batch in several parts that fit into memory: gradients are added up, and the weights move once."""

from collections.abc import Callable
from typing import Any

import tensorflow as tf

# what a part gives: gradients (None for weights that the loss does not reach) and figures, both summed over its examples
Part = tuple[list[tf.Tensor | None], tf.Tensor]


def accumulate(part: Callable[[Any, Any], Part], inputs, labels, parts: int) -> Part:
    """Return what `part` gives for a whole batch, computed part by part.

    The batch that the pipeline gives is the one that counts: schedule, decay, averages, loss scale and callbacks know nothing of the
    parts, and no part of an update is ever pending, at the end of an epoch or in a checkpoint. Only batch normalisation sees the
    parts, each with statistics of its own, and dropout draws anew for each.

    Args:
        part: a function of inputs and labels. Its gradients are those of a sum over examples that is already divided by the number
            in the whole batch, so that the gradients of the parts add up.
        inputs: tensors whose first axis is the batch.
        labels: likewise.
        parts: how many at most; a batch with fewer examples has one for each.
    """
    if parts == 1:
        return part(inputs, labels)
    examples = tf.shape(tf.nest.flatten(labels)[0])[0]
    size = (examples + parts - 1) // parts

    def cut(start):
        return tf.nest.map_structure(lambda values: values[start : start + size], (inputs, labels))

    # the first part is apart: it tells which weights have gradients at all, which a loop cannot carry as None
    gradients, figures = part(*cut(0))
    reached = [number for number, gradient in enumerate(gradients) if gradient is not None]
    sums = _dense(gradients)

    def more(start, sums, figures):
        gradients, new = part(*cut(start))
        sums = [total + gradient for total, gradient in zip(sums, _dense(gradients), strict=True)]
        return start + size, sums, figures + new

    # one at a time: parts side by side would need the memory that they are there to save
    _, sums, figures = tf.while_loop(lambda start, *_: start < examples, more, (size, sums, figures), parallel_iterations=1)
    totals: list[tf.Tensor | None] = [None] * len(gradients)
    for number, total in zip(reached, sums, strict=True):
        totals[number] = total
    return totals, figures


def _dense(gradients: list[tf.Tensor | None]) -> list[tf.Tensor]:
    """Return the gradients that there are; those of embeddings, which name rows, as whole tensors."""
    return [tf.convert_to_tensor(gradient) for gradient in gradients if gradient is not None]
