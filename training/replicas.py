"""How a batch is shared among the devices of a run, and what they tell each other.

Everything here is called in the replica context of `strategy.run`; on one device it does nothing.
"""

from collections.abc import Sequence
from typing import Any

import keras
import tensorflow as tf


def my_part(inputs, labels):
    """Return the examples of a whole batch that this replica works on, and the number of them that count.

    The parts differ by one example at most, whatever the size of the batch. Where a batch has fewer examples than there are
    replicas, those without one get an example that does not count, since the mean of nothing is not a number.

    Args:
        inputs: tensors whose first axis is the batch, the same in every replica.
        labels: likewise.
    """
    context = tf.distribute.get_replica_context()
    replicas = context.num_replicas_in_sync
    examples = tf.shape(tf.nest.flatten(labels)[0])[0]
    if replicas == 1:
        return inputs, labels, examples
    me = tf.cast(context.replica_id_in_sync_group, "int32")
    start, stop = me * examples // replicas, (me + 1) * examples // replicas
    first, count = tf.minimum(start, examples - 1), tf.maximum(stop - start, 1)
    inputs, labels = tf.nest.map_structure(lambda values: values[first : first + count], (inputs, labels))
    return inputs, labels, stop - start


def counted(values: tf.Tensor, count: tf.Tensor) -> tf.Tensor:
    """Return figures as they are, or zeros where the part holds nothing that counts."""
    if tf.distribute.get_replica_context().num_replicas_in_sync == 1:
        return values
    return tf.where(count > 0, values, tf.zeros_like(values))


def sum_gradients(gradients: Sequence[Any]) -> list[Any]:
    """Return gradients summed over the replicas, the same in each; None stays None."""
    context = tf.distribute.get_replica_context()
    if context.num_replicas_in_sync == 1:
        return list(gradients)
    present = [tf.convert_to_tensor(gradient) for gradient in gradients if gradient is not None]
    summed = iter(context.all_reduce(tf.distribute.ReduceOp.SUM, present))
    return [None if gradient is None else next(summed) for gradient in gradients]


def divide_for_apply(gradients: Sequence[Any]) -> list[Any]:
    """Return summed gradients divided by the number of replicas, because `apply` of a Keras 3 optimizer sums over them again."""
    replicas = tf.distribute.get_replica_context().num_replicas_in_sync
    if replicas == 1:
        return list(gradients)
    return [None if gradient is None else gradient / replicas for gradient in gradients]


def statistics_of(model: keras.Model) -> list[tuple[Any, tf.Tensor]]:
    """Return the moving statistics (batch normalisation) of a model with their values now; none on one replica.

    Weights of frozen layers are not trainable either, but nothing moves them.
    """
    if tf.distribute.get_replica_context().num_replicas_in_sync == 1:
        return []
    frozen = {id(weight) for layer in model._flatten_layers() if not layer.trainable for weight in layer._trainable_variables}
    moving = [variable for variable in model.non_trainable_variables if id(variable) not in frozen]
    return [(variable, tf.identity(tf.convert_to_tensor(variable))) for variable in moving if keras.backend.is_float_dtype(variable.dtype)]


def share_statistics(statistics: Sequence[tuple[Any, tf.Tensor]], count: tf.Tensor, examples: tf.Tensor) -> None:
    """Give moving statistics their mean over the replicas, each by its number of examples.

    Every replica normalises with its own part, as is usual; the moving statistics, used in inference, stay equal everywhere. It is
    their change that is averaged, so that what no replica moved stays as it is, bit for bit, whatever the shares round to.

    Args:
        statistics: what `statistics_of` returned before the forward pass.
        count: of examples in this replica.
        examples: of the whole batch.
    """
    if not statistics:
        return
    share = tf.cast(count, "float32") / tf.cast(examples, "float32")
    changes = [tf.cast(tf.convert_to_tensor(variable) - before, "float32") * share for variable, before in statistics]
    summed = tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, changes)
    for (variable, before), change in zip(statistics, summed, strict=True):
        variable.assign(before + tf.cast(change, before.dtype))


def sum_figures(figures) -> tf.Tensor:
    """Return figures of all replicas added up; called outside of the replicas, with what `strategy.run` returned."""
    return tf.distribute.get_strategy().reduce(tf.distribute.ReduceOp.SUM, figures, axis=None)


def first_of(values) -> tf.Tensor:
    """Return the value of the first replica here, for values that are the same in all of them."""
    return tf.distribute.get_strategy().experimental_local_results(values)[0]
