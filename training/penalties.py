"""L1 and L2 penalties for a whole model, set from outside of its builder."""

import keras

from .optimizers import is_decayed


def add_penalties(model: keras.Model, l1: float = 0.0, l2: float = 0.0) -> None:
    """Let a model's loss grow with its weights: l1 times the sum of sizes plus l2 times the sum of squares.

    Biases and normalisation are left alone, and so are weights for which the builder set a penalty of its own. The penalties are
    part of `model.losses`, and so of the training loss and of the validation loss; they are not part of what is saved.

    Args:
        model: built.
        l1: factor of the sizes.
        l2: factor of the squares. Its gradient is 2 l2 w, so that the weight decay d of a paper that adds d w to the gradient is
            l2 = d / 2.
    """
    if not l1 and not l2:
        return
    for weight in model.trainable_variables:
        if is_decayed(weight) and weight.regularizer is None:
            weight.regularizer = keras.regularizers.L1L2(l1, l2)
