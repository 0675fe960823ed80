"""Translation by two stacks of recurrent layers: one reads the source into its states, the other writes the target from them."""

from dataclasses import dataclass

import keras

from ...layers import LSTM
from ..token_input import refuse_classes
from .sequences import embedded_tokens


@dataclass(frozen=True)
class Seq2SeqConfig:
    """An encoder and a decoder without attention.

    Args:
        source_vocabulary_size: number of source tokens, of which 0 is padding.
        target_vocabulary_size: number of target tokens, of which 0 is padding.
        embedding_dim: width of the vectors of tokens.
        units: units of each layer of the encoder, and of the decoder, from the bottom up.
        reverse_source: whether the encoder reads the source from its end.
        dropout: rate before each layer but the first, and before the logits.
    """

    source_vocabulary_size: int = 160_000
    target_vocabulary_size: int = 80_000
    embedding_dim: int = 1000
    units: tuple[int, ...] = (1000, 1000, 1000, 1000)
    reverse_source: bool = True
    dropout: float = 0.0


def seq2seq(config: Seq2SeqConfig, *, input_shape: tuple[int | None, ...], num_classes: int) -> keras.Model:
    """Build the encoder and decoder of long short-term memories.

    Paper: Sutskever, Vinyals, Le, Sequence to sequence learning with neural networks, 2014, section 3.
    https://arxiv.org/abs/1409.3215

    **Differs from the paper:** 1. Weights start as Keras starts them, not uniform from -0.08 to 0.08 (section 3.4).

    The source is given in its own order, and the model reverses it (section 3.3). The target is given from its start token on, and the
    logits at each step are for the token after it (teacher forcing). To write a translation, `zoo.encoder_model` and `zoo.step_model`
    give the two halves.

    Shape walk:
        source_ids (B, S), source_embedding (B, S, embedding_dim)
        encoder1   (B, S, units), and so on; their last states go to the decoder
        target_ids (B, T), target_embedding (B, T, embedding_dim)
        decoder1   (B, T, units), and so on
        logits     (B, T, target_vocabulary_size)

    Args:
        config: the sizes.
        input_shape: (steps,) of source and target; steps may be None.
        num_classes: 0, the classes are the vocabulary.

    Raises:
        ValueError: another rank of input, any number of classes but 0, or a size of the config out of range.
    """
    refuse_classes(num_classes)
    if not config.units:
        raise ValueError("units must hold at least one layer's size, got ().")
    source_ids, x = embedded_tokens("source_ids", input_shape, config.source_vocabulary_size, config.embedding_dim, "source_embedding")
    states = encode(x, config.units, config.dropout, config.reverse_source)[1]
    target_ids, x = embedded_tokens("target_ids", input_shape, config.target_vocabulary_size, config.embedding_dim, "target_embedding")
    for number, units in enumerate(config.units, start=1):
        if config.dropout and number > 1:
            x = keras.layers.Dropout(config.dropout, name=f"decoder_dropout{number}")(x)
        layer = LSTM(units, return_sequences=True, return_state=True, name=f"decoder{number}")
        x = layer(x, initial_state=states[number - 1])[0]
    if config.dropout:
        x = keras.layers.Dropout(config.dropout, name="head_dropout")(x)
    logits = keras.layers.Dense(config.target_vocabulary_size, name="logits")(x)
    return keras.Model({"source_ids": source_ids, "target_ids": target_ids}, logits, name="seq2seq")


def encode(x, units: tuple[int, ...], dropout: float, reverse: bool):
    """Run a stack of long short-term memories over the source.

    Returns:
        the outputs of the top layer (B, S, units), and [hidden, cell] of each layer.
    """
    states = []
    for number, size in enumerate(units, start=1):
        if dropout and number > 1:
            x = keras.layers.Dropout(dropout, name=f"encoder_dropout{number}")(x)
        # what is reversed below stays reversed above
        backwards = reverse and number == 1
        layer = LSTM(size, return_sequences=True, return_state=True, go_backwards=backwards, name=f"encoder{number}")
        x, *state = layer(x)
        states.append(state)
    return x, states


def encoder_model(model: keras.Model) -> keras.Model:
    """Return the model from `source_ids` to the states that the decoder starts from: {"hidden1": (B, units), "cell1": ..., ...}."""
    encoders = layers_named(model, "encoder")
    states = {}
    for number, layer in enumerate(encoders, start=1):
        states |= dict(zip((f"hidden{number}", f"cell{number}"), layer.output[1:], strict=True))
    return keras.Model(source_input(model), states, name=f"{model.name}_encoder")


def step_model(model: keras.Model) -> keras.Model:
    """Return the decoder with its states as inputs and outputs.

    Args:
        model: one that `seq2seq` built.

    Returns:
        a `keras.Model` from {"token_ids": (B, T), "hidden1": (B, units), "cell1": ..., ...} to the same names but `token_ids`, and
        "logits" (B, T, V).
    """
    token_ids = keras.Input((None,), dtype="int32", name="token_ids")
    x, inputs, outputs = decode(model, token_ids)
    logits = model.get_layer("logits")(x)
    return keras.Model({"token_ids": token_ids, **inputs}, {"logits": logits, **outputs}, name=f"{model.name}_step")


def decode(model: keras.Model, token_ids):
    """Run the decoder's layers from states that are inputs.

    Returns:
        the outputs of the top layer (B, T, units), the inputs by name, and the last states by name.
    """
    x, inputs, outputs = model.get_layer("target_embedding")(token_ids), {}, {}
    for number, layer in enumerate(layers_named(model, "decoder"), start=1):
        names = (f"hidden{number}", f"cell{number}")
        states = [keras.Input((layer.cell.units,), name=name) for name in names]
        x, *found = layer(x, initial_state=states)
        inputs |= dict(zip(names, states, strict=True))
        outputs |= dict(zip(names, found, strict=True))
    return x, inputs, outputs


def layers_named(model: keras.Model, prefix: str) -> list[keras.layers.Layer]:
    """Return the recurrent layers of a stack from the bottom up."""
    found = [layer for layer in model.layers if layer.name.removeprefix(prefix).isdigit()]
    return sorted(found, key=lambda layer: int(layer.name.removeprefix(prefix)))


def source_input(model: keras.Model):
    """Return the input tensor of the source."""
    return next(tensor for tensor in model.inputs if tensor.name == "source_ids")
