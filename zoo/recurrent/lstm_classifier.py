"""Classifiers of sequences by LSTM: one layer or several, in one direction or both."""

from dataclasses import dataclass
from typing import Literal

import keras

from ...layers import LSTM, Bidirectional
from .sequences import Padding, head, sequence_input


@dataclass(frozen=True)
class LSTMClassifierConfig:
    """A classifier of sequences.

    Args:
        units: units of each layer, from the bottom up; of each direction where there are two.
        direction: "forward", or "both".
        output: "last" for logits after the last real step (the first one too for "both"), "every_step" for logits at each step.
        padding: "zeros" where steps of zeros are padding, "none" where every step is real; for float sequences.
        dropout: rate between layers and before the logits.
        vocabulary_size: number of token ids, of which 0 is padding; 0 for float sequences.
        embedding_dim: width of the vectors of tokens; 0 for float sequences.
    """

    units: tuple[int, ...] = (128,)
    direction: Literal["forward", "both"] = "forward"
    output: Literal["last", "every_step"] = "last"
    padding: Padding = "zeros"
    dropout: float = 0.0
    vocabulary_size: int = 0
    embedding_dim: int = 0


def lstm_classifier(config: LSTMClassifierConfig, *, input_shape: tuple[int | None, ...], num_classes: int) -> keras.Model:
    """Build a classifier of float sequences or of token ids.

    Paper: Hochreiter, Schmidhuber, Long short-term memory, 1997, section 4. https://doi.org/10.1162/neco.1997.9.8.1735

    **Differs from the paper:** 1. Cells have a forget gate (Gers, Schmidhuber, Cummins 2000) and no peepholes. 2. Whole
    layers of memory cells with one cell a block.

    Shape walk:
        sequences  (B, T, features), or token_ids (B, T) and embedding (B, T, embedding_dim)
        recurrent1 (B, T, units), and so on; twice the width for direction "both"
        the last   (B, units), or (B, T, units) with output "every_step"
        logits     (B, num_classes), or (B, T, num_classes)

    Args:
        config: the sizes.
        input_shape: (steps, features) or, for token ids, (steps,); steps may be None.
        num_classes: number of classes; 0 leaves out the output layer.

    Raises:
        ValueError: an input of another rank, token ids without a vocabulary, or a size of the config out of range.
    """
    if not config.units:
        raise ValueError("units must hold at least one layer's size, got ().")
    inputs, x = sequence_input(input_shape, config.padding, config.vocabulary_size, config.embedding_dim)
    for number, units in enumerate(config.units, start=1):
        if config.dropout and number > 1:
            x = keras.layers.Dropout(config.dropout, name=f"dropout{number}")(x)
        every_step = number < len(config.units) or config.output == "every_step"
        name = f"recurrent{number}"
        layer = LSTM(units, return_sequences=every_step, name=name)
        x = (Bidirectional(layer, name=name) if config.direction == "both" else layer)(x)
    return keras.Model(inputs, head(x, num_classes, config.dropout), name="lstm_classifier")
