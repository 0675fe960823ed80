"""Dense layers on one step of a sequence."""

import keras


def project(projection, inputs):
    """Return `projection(inputs)`; a sequence of one step, (B, 1, width), is taken as rows (B, width).

    Keras multiplies tensors of three axes by way of a dozen operations on shapes wherever an axis has no known length, which would cost
    as much as the product itself when text is written step by step.

    Args:
        projection: a dense layer.
        inputs: (..., width).
    """
    if len(inputs.shape) != 3 or inputs.shape[1] != 1:
        return projection(inputs)
    return keras.ops.expand_dims(projection(keras.ops.squeeze(inputs, 1)), 1)
