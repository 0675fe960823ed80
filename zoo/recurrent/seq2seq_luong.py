"""Translation with multiplicative attention: the decoder's top states look back at the source."""

from dataclasses import dataclass
from typing import Literal

import keras

from ...layers import LSTM, MultiplicativeAttention
from ..token_input import refuse_classes
from .seq2seq import decode, encode, layers_named, source_input
from .sequences import embedded_tokens


@dataclass(frozen=True)
class LuongConfig:
    """An encoder and a decoder with multiplicative attention.

    Args:
        source_vocabulary_size: number of source tokens, of which 0 is padding.
        target_vocabulary_size: number of target tokens, of which 0 is padding.
        embedding_dim: width of the vectors of tokens.
        units: units of each layer of the encoder, and of the decoder, from the bottom up.
        score: "dot", "general", "concat" or "location".
        attention_units: width of the hidden layer of "concat".
        max_length: longest source that "location" can take.
        dropout: rate before each layer but the first, and before the logits.
    """

    source_vocabulary_size: int = 50_000
    target_vocabulary_size: int = 50_000
    embedding_dim: int = 1000
    units: tuple[int, ...] = (1000, 1000, 1000, 1000)
    score: Literal["dot", "general", "concat", "location"] = "general"
    attention_units: int = 1000
    max_length: int = 50
    dropout: float = 0.0


def seq2seq_luong(config: LuongConfig, *, input_shape: tuple[int | None, ...], num_classes: int) -> keras.Model:
    """Build the encoder and decoder with global attention.

    Paper: Luong, Pham, Manning, Effective approaches to attention-based neural machine translation, 2015, section 3.1.
    https://arxiv.org/abs/1508.04025

    **Differs from the paper:** 1. No input feeding (section 3.3), so all target steps look at the source at once. 2. The source is
    read in its own order. 3. Weights start as Keras starts them, not uniform from -0.1 to 0.1 (section 4.1).

    The attention is the second output of the layer `attention`, and an output of `zoo.step_model`.

    Shape walk:
        source_ids  (B, S), source_embedding (B, S, embedding_dim)
        encoder1    (B, S, units), and so on; their last states go to the decoder
        target_ids  (B, T), target_embedding (B, T, embedding_dim)
        decoder1    (B, T, units), and so on
        attention   (B, T, units) and (B, T, S)
        attentional (B, T, units), tanh(W_c [c_t; h_t])
        logits      (B, T, target_vocabulary_size)

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
    values, states = encode(x, config.units, config.dropout, reverse=False)
    target_ids, x = embedded_tokens("target_ids", input_shape, config.target_vocabulary_size, config.embedding_dim, "target_embedding")
    for number, units in enumerate(config.units, start=1):
        if config.dropout and number > 1:
            x = keras.layers.Dropout(config.dropout, name=f"decoder_dropout{number}")(x)
        layer = LSTM(units, return_sequences=True, return_state=True, name=f"decoder{number}")
        x = layer(x, initial_state=states[number - 1])[0]
    attention = MultiplicativeAttention(
        config.score,
        units=config.attention_units if config.score == "concat" else None,
        max_length=config.max_length if config.score == "location" else None,
        name="attention",
    )
    context = attention(x, values, values_mask=keras.ops.not_equal(source_ids, 0))[0]
    joined = keras.ops.concatenate([context, x], axis=-1)
    x = keras.layers.Dense(config.units[-1], activation="tanh", use_bias=False, name="attentional")(joined)
    if config.dropout:
        x = keras.layers.Dropout(config.dropout, name="head_dropout")(x)
    logits = keras.layers.Dense(config.target_vocabulary_size, name="logits")(x)
    return keras.Model({"source_ids": source_ids, "target_ids": target_ids}, logits, name="seq2seq_luong")


def encoder_model(model: keras.Model) -> keras.Model:
    """Return the model from `source_ids` to what the decoder starts from: its states, `values` (B, S, units), `source_mask` (B, S)."""
    source_ids = source_input(model)
    real = keras.ops.not_equal(source_ids, 0)
    values = keras.ops.where(keras.ops.expand_dims(real, -1), layers_named(model, "encoder")[-1].output[0], 0.0)
    outputs = {"values": values, "source_mask": real}
    for number, layer in enumerate(layers_named(model, "encoder"), start=1):
        outputs |= dict(zip((f"hidden{number}", f"cell{number}"), layer.output[1:], strict=True))
    return keras.Model(source_ids, outputs, name=f"{model.name}_encoder")


def step_model(model: keras.Model) -> keras.Model:
    """Return the decoder with its states as inputs and outputs.

    Args:
        model: one that `seq2seq_luong` built.

    Returns:
        a `keras.Model` from {"token_ids": (B, T), "hidden1": (B, units), ..., "values": (B, S, units), "source_mask": (B, S)} to the
        states by name, "logits" (B, T, V) and "attention" (B, T, S).
    """
    token_ids = keras.Input((None,), dtype="int32", name="token_ids")
    x, inputs, outputs = decode(model, token_ids)
    inputs["values"] = keras.Input((None, layers_named(model, "encoder")[-1].cell.units), name="values")
    inputs["source_mask"] = keras.Input((None,), dtype="bool", name="source_mask")
    context, outputs["attention"] = model.get_layer("attention")(x, inputs["values"], values_mask=inputs["source_mask"])
    x = model.get_layer("attentional")(keras.ops.concatenate([context, x], axis=-1))
    outputs["logits"] = model.get_layer("logits")(x)
    return keras.Model({"token_ids": token_ids, **inputs}, outputs, name=f"{model.name}_step")
