"""What the builders of models of language ask of `input_shape` and `num_classes`."""

import keras


def token_input(name: str, input_shape: tuple[int | None, ...]):
    """Return the input (B, T) of token ids.

    Args:
        name: of the input.
        input_shape: (T,), None for any length.

    Raises:
        ValueError: for other than one axis.
    """
    if len(input_shape) != 1:
        raise ValueError(f"input_shape must be (steps,) for token ids, with None for any length, got {tuple(input_shape)}.")
    return keras.Input(tuple(input_shape), dtype="int32", name=name)


def refuse_classes(num_classes: int) -> None:
    """Raise unless `num_classes` is 0: a model of language chooses among its vocabulary, which its config names.

    Raises:
        ValueError: for another number.
    """
    if num_classes:
        raise ValueError(f"num_classes must be 0, because the outputs are the tokens of vocabulary_size, got {num_classes}.")


def filled(token_ids, steps: int | None):
    """Return token ids (B, T) filled up at the right with padding to a fixed number of steps; None leaves them as they are."""
    if steps is None:
        return token_ids
    batch, given = keras.ops.shape(token_ids)
    padding = keras.ops.zeros((batch, steps - given), token_ids.dtype)
    return keras.ops.reshape(keras.ops.concatenate([token_ids, padding], axis=1), (-1, steps))
