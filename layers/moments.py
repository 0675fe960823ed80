"""Mean and variance over positions and channel groups, safe in half precision and aware of masks."""

import keras


def full_mask(mask, inputs):
    """Return `mask`, over the first axes of `inputs`, as booleans (batch, every position, 1) that broadcast over channels."""
    shape = keras.ops.shape(inputs)
    mask = keras.ops.cast(mask, "bool")
    for _ in range(len(inputs.shape) - len(mask.shape)):
        mask = keras.ops.expand_dims(mask, -1)
    return keras.ops.broadcast_to(mask, (*shape[:-1], 1))


def group_moments(inputs, groups: int, mask=None):
    """Return mean and variance of each sample over all positions and over each of `groups` groups of neighbouring channels.

    The variance is the mean square of the differences from the mean: the mean of squares minus the square of the mean
    would lose all digits where the mean is large against the spread.

    Args:
        inputs: (batch, ..., channels), float32 or wider; every position holds equally many channels of a group.
        groups: number of groups, a divisor of the channels; as many as channels for instance statistics.
        mask: None, or booleans over the first axes of `inputs`: positions that count.

    Returns:
        mean and variance, (batch, 1, ..., channels), each group's value repeated over its channels.
    """
    weights = None if mask is None else full_mask(mask, inputs)
    mean = _group_mean(inputs, groups, weights)
    # The differences from a mean sum to zero, so the variance has no gradient through it: leaving that out is exact and saves a pass.
    return mean, _group_mean(keras.ops.square(inputs - keras.ops.stop_gradient(mean)), groups, weights)


def _group_mean(values, groups: int, weights):
    axes = tuple(range(1, len(values.shape) - 1))
    if weights is not None:
        count = keras.ops.sum(keras.ops.cast(weights, values.dtype), axis=axes, keepdims=True)
        values = keras.ops.sum(keras.ops.where(weights, values, 0.0), axis=axes, keepdims=True) / keras.ops.maximum(count, 1.0)
    elif axes:
        values = keras.ops.mean(values, axis=axes, keepdims=True)
    channels = values.shape[-1]
    if groups == channels:
        return values
    # Averaging the channel means is exact, and touches (batch, channels) numbers only.
    shape = keras.ops.shape(values)
    grouped = keras.ops.reshape(values, (*shape[:-1], groups, channels // groups))
    return keras.ops.repeat(keras.ops.mean(grouped, axis=-1), channels // groups, axis=-1)
