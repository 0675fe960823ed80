"""What the families of sequence models share: their inputs, with the rule that tells padding from data, and their heads.

Padding is told from the data, so that a model has no second input for it: token id 0 is padding, and so is a step of a float sequence
whose features are all exactly 0. Data with real steps of zeros, such as rows of an image, is shifted by its preprocessing, or read
with padding "none", for which every step is real.
"""

from typing import Literal

import keras

from ...layers import TokenEmbedding
from ..token_input import token_input

Padding = Literal["zeros", "none"]
PADDINGS = ("zeros", "none")


def sequence_input(input_shape: tuple[int | None, ...], padding: Padding = "zeros", vocabulary_size: int = 0, embedding_dim: int = 0):
    """Return the input of a network that reads float sequences, or token ids, and what its first layer reads.

    Args:
        input_shape: (steps, features) for `sequences`, (steps,) for `token_ids`; steps may be None.
        padding: "zeros" or "none", for float sequences.
        vocabulary_size: number of tokens, with 0 for padding; needed for token ids.
        embedding_dim: width of their vectors.

    Returns:
        (input, tensor (B, T, width) that carries the mask).

    Raises:
        ValueError: another rank, unknown features, no steps, or token ids without a vocabulary and a width.
    """
    shape = tuple(input_shape)
    if len(shape) not in (1, 2) or (len(shape) == 2 and not shape[1]):
        raise ValueError(f"input_shape must be (steps, features) with known features, or (steps,) for token ids, got {shape}.")
    if len(shape) == 1:
        if vocabulary_size < 1 or embedding_dim < 1:
            raise ValueError(f"token ids need a vocabulary_size and an embedding_dim, got {vocabulary_size} and {embedding_dim}.")
        return embedded_tokens("token_ids", shape, vocabulary_size, embedding_dim, "embedding")
    if padding not in PADDINGS:
        raise ValueError(f"padding must be one of {', '.join(map(repr, PADDINGS))}, got {padding!r}.")
    sequences = keras.Input(shape, name="sequences")
    return sequences, keras.layers.Masking(0.0, name="padding")(sequences) if padding == "zeros" else sequences


def embedded_tokens(name: str, input_shape: tuple[int | None, ...], vocabulary_size: int, embedding_dim: int, embedding: str):
    """Return an input of token ids, where 0 is padding, and its vectors (B, T, embedding_dim) with their mask.

    Raises:
        ValueError: an input shape that is not (steps,).
    """
    token_ids = token_input(name, input_shape)
    return token_ids, TokenEmbedding(vocabulary_size, embedding_dim, mask_zero=True, name=embedding)(token_ids)


def head(x, num_classes: int, dropout: float = 0.0):
    """End in `logits`; 0 classes end in the features."""
    if not num_classes:
        return x
    if dropout:
        x = keras.layers.Dropout(dropout, name="head_dropout")(x)
    return keras.layers.Dense(num_classes, name="logits")(x)
