"""Character language models of stacked recurrent layers, whose state can be carried from one stretch of text to the next."""

from dataclasses import dataclass
from typing import Literal

import keras

from ...layers import GRU, LSTM
from ..token_input import refuse_classes
from .sequences import embedded_tokens

CELLS = {"lstm": LSTM, "gru": GRU}
STATES = {"lstm": ("hidden", "cell"), "gru": ("hidden",)}


@dataclass(frozen=True)
class CharRNNConfig:
    """A character language model.

    Args:
        cell: "lstm" or "gru".
        units: units of each layer, from the bottom up.
        vocabulary_size: number of characters, of which 0 is padding.
        embedding_dim: width of the vectors of characters.
        dropout: rate before each layer but the first, and before the logits.
    """

    cell: Literal["lstm", "gru"] = "lstm"
    units: tuple[int, ...] = (512, 512)
    vocabulary_size: int = 88
    embedding_dim: int = 88
    dropout: float = 0.0


def char_rnn(config: CharRNNConfig, *, input_shape: tuple[int | None, ...], num_classes: int) -> keras.Model:
    """Build a language model over characters.

    Paper: Karpathy, Johnson, Fei-Fei, Visualizing and understanding recurrent networks, 2015, section 3 and table 1.
    https://arxiv.org/abs/1506.02078

    **Differs from the paper:** 1. Characters are embedded rather than given one out of many. With `embedding_dim` at least the size of
    the vocabulary the two can compute the same. 2. Weights start as Keras starts them, not uniform from -0.08 to 0.08.

    The model starts every row from a zero state. To carry the state through a text (truncated back-propagation through time) or to
    write one character after the other, `zoo.step_model` gives the same layers with the states as inputs and outputs.

    Shape walk:
        token_ids  (B, T)
        embedding  (B, T, embedding_dim)
        recurrent1 (B, T, units), and so on
        logits     (B, T, vocabulary_size)

    Args:
        config: the sizes.
        input_shape: (steps,); steps may be None.
        num_classes: 0, the classes are the vocabulary.

    Raises:
        ValueError: another rank of input, any number of classes but 0, or a size of the config out of range.
    """
    refuse_classes(num_classes)
    if not config.units:
        raise ValueError("units must hold at least one layer's size, got ().")
    token_ids, x = embedded_tokens("token_ids", input_shape, config.vocabulary_size, config.embedding_dim, "embedding")
    for number, units in enumerate(config.units, start=1):
        if config.dropout and number > 1:
            x = keras.layers.Dropout(config.dropout, name=f"dropout{number}")(x)
        layer = CELLS[config.cell](units, return_sequences=True, return_state=True, name=f"recurrent{number}")
        x = layer(x)[0]
    if config.dropout:
        x = keras.layers.Dropout(config.dropout, name="head_dropout")(x)
    return keras.Model(token_ids, keras.layers.Dense(config.vocabulary_size, name="logits")(x), name="char_rnn")


def step_model(model: keras.Model) -> keras.Model:
    """Return the model with its states as inputs and outputs, sharing all weights.

    Args:
        model: one that `char_rnn` built.

    Returns:
        a `keras.Model` from {"token_ids": (B, T), "hidden1": (B, units), ...} to {"logits": (B, T, V), "hidden1": ..., ...}; T may be 1.
    """
    token_ids = keras.Input((None,), dtype="int32", name="token_ids")
    inputs, outputs, x = {"token_ids": token_ids}, {}, token_ids
    for layer in model.layers[1:]:
        if isinstance(layer, LSTM | GRU):
            number = layer.name.removeprefix("recurrent")
            names = [f"{state}{number}" for state in STATES["lstm" if isinstance(layer, LSTM) else "gru"]]
            states = [keras.Input((layer.cell.units,), name=name) for name in names]
            x, *found = layer(x, initial_state=states)
            inputs |= dict(zip(names, states, strict=True))
            outputs |= dict(zip(names, found, strict=True))
        else:
            x = layer(x)
    return keras.Model(inputs, {"logits": x, **outputs}, name=f"{model.name}_step")
