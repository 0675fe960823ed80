"""Moving statistics of batch normalisation, taken anew for weights that were not trained but averaged."""

from collections.abc import Iterable

import keras
import tensorflow as tf


def refresh_batch_norm(model: keras.Model, batches: Iterable) -> None:
    """Set moving means and variances to the mean of those of all batches, each counted by its number of examples.

    Nothing else changes: the other weights and the states of random generators are as before.

    Args:
        model: any model; one without batch normalisation is left alone at once.
        batches: elements (inputs, labels) of one structure, or a `tf.data.Dataset` of these.

    Reference:
        Izmailov et al., 2018, "Averaging Weights Leads to Wider Optima and Better Generalization", section 3.2, arXiv:1803.05407.
    """
    norms = [layer for layer in model._flatten_layers() if isinstance(layer, keras.layers.BatchNormalization)]
    statistics = [variable for norm in norms for variable in (norm.moving_mean, norm.moving_variance)]
    if not norms:
        return
    kept = {id(variable) for variable in statistics}
    others = [(variable, variable.numpy()) for variable in model.non_trainable_variables if id(variable) not in kept]
    momenta = [norm.momentum for norm in norms]
    sums, examples = [tf.Variable(tf.zeros(variable.shape), trainable=False) for variable in statistics], 0

    def take(inputs):
        model(inputs, training=True)
        count = tf.cast(tf.shape(tf.nest.flatten(inputs)[0])[0], "float32")
        for total, variable in zip(sums, statistics, strict=True):
            total.assign_add(count * tf.cast(tf.convert_to_tensor(variable), "float32"))

    step = None
    try:
        for norm in norms:
            norm.momentum = 0.0  # so that each batch leaves its own statistics
        for inputs, _ in batches:
            if step is None:
                # traced for any number of examples, while the momentum is 0
                signature = tf.nest.map_structure(lambda value: tf.TensorSpec([None, *value.shape[1:]], value.dtype), inputs)
                step = tf.function(take, input_signature=[signature], autograph=False)
            step(inputs)
            examples += int(tf.nest.flatten(inputs)[0].shape[0])
    finally:
        for norm, momentum in zip(norms, momenta, strict=True):
            norm.momentum = momentum
        for variable, value in others:
            variable.assign(value)
    if examples:
        for total, variable in zip(sums, statistics, strict=True):
            variable.assign(total / examples)
