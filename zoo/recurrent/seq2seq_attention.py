"""Translation with additive attention: the decoder looks at the source before each step."""

from dataclasses import dataclass

import keras

from ...layers import GRU, AttentionDecoder, Bidirectional, MaxoutDense
from ..token_input import refuse_classes
from .seq2seq import source_input
from .sequences import embedded_tokens


@dataclass(frozen=True)
class BahdanauConfig:
    """An encoder and a decoder with additive attention.

    Args:
        source_vocabulary_size: number of source tokens, of which 0 is padding.
        target_vocabulary_size: number of target tokens, of which 0 is padding.
        embedding_dim: m, width of the vectors of tokens.
        units: n, units of each direction of the encoder and of the decoder.
        attention_units: n', width of the comparison.
        readout_units: l, maxout units before the logits.
        dropout: rate before the logits.
    """

    source_vocabulary_size: int = 30_001
    target_vocabulary_size: int = 30_001
    embedding_dim: int = 620
    units: int = 1000
    attention_units: int = 1000
    readout_units: int = 500
    dropout: float = 0.0


def seq2seq_attention(config: BahdanauConfig, *, input_shape: tuple[int | None, ...], num_classes: int) -> keras.Model:
    """Build the encoder and decoder that align and translate jointly (RNNsearch).

    Paper: Bahdanau, Cho, Bengio, Neural machine translation by jointly learning to align and translate, 2015, sections 3 and A.2.
    https://arxiv.org/abs/1409.0473

    **Differs from the paper:** 1. The encoder's reset gate acts after the recurrent product, which is the form that fast kernels
    compute; the decoder's acts before it, as printed. 2. Layers have biases, which the paper leaves out of its formulas. 3. Weights start
    as Keras starts them: orthogonal between steps as in section B.1, but all others uniform, not normal with deviations of
    0.01 and, in the attention, 0.001 or 0.

    The attention is the third output of the layer `decoder`, and an output of `zoo.step_model`.

    Shape walk:
        source_ids (B, S), source_embedding (B, S, embedding_dim)
        encoder    (B, S, 2 units)
        start      (B, units), tanh(W_s h_1 backwards)
        target_ids (B, T), target_embedding (B, T, embedding_dim)
        decoder    (B, T, units), (B, T, 2 units) and (B, T, S): states, contexts, attention
        readout    (B, T, readout_units)
        logits     (B, T, target_vocabulary_size)

    Args:
        config: the sizes.
        input_shape: (steps,) of source and target; steps may be None.
        num_classes: 0, the classes are the vocabulary.

    Raises:
        ValueError: another rank of input, any number of classes but 0, or a size of the config out of range.
    """
    refuse_classes(num_classes)
    source_ids, x = embedded_tokens("source_ids", input_shape, config.source_vocabulary_size, config.embedding_dim, "source_embedding")
    encoder = Bidirectional(GRU(config.units, return_sequences=True, return_state=True, name="encoder"), name="encoder")
    values, _, backward = encoder(x)
    start = keras.layers.Dense(config.units, activation="tanh", name="start")(backward)
    target_ids, x = embedded_tokens("target_ids", input_shape, config.target_vocabulary_size, config.embedding_dim, "target_embedding")
    decoder = AttentionDecoder(config.units, config.attention_units, name="decoder")
    states, contexts = decoder(x, values, start, values_mask=keras.ops.not_equal(source_ids, 0))[:2]
    x = MaxoutDense(config.readout_units, name="readout")(keras.ops.concatenate([states, x, contexts], axis=-1))
    if config.dropout:
        x = keras.layers.Dropout(config.dropout, name="head_dropout")(x)
    logits = keras.layers.Dense(config.target_vocabulary_size, name="logits")(x)
    return keras.Model({"source_ids": source_ids, "target_ids": target_ids}, logits, name="seq2seq_attention")


def encoder_model(model: keras.Model) -> keras.Model:
    """Return the model from `source_ids` to what the decoder starts from: `hidden1` (B, units), `values`, `source_mask` (B, S)."""
    source_ids = source_input(model)
    real = keras.ops.not_equal(source_ids, 0)
    # an operation lets go of the mask, which goes on as an output of its own
    values = keras.ops.where(keras.ops.expand_dims(real, -1), model.get_layer("encoder").output[0], 0.0)
    outputs = {"hidden1": model.get_layer("start").output, "values": values, "source_mask": real}
    return keras.Model(source_ids, outputs, name=f"{model.name}_encoder")


def step_model(model: keras.Model) -> keras.Model:
    """Return the decoder with its state as an input and an output.

    Args:
        model: one that `seq2seq_attention` built.

    Returns:
        a `keras.Model` from {"token_ids": (B, T), "hidden1": (B, units), "values": (B, S, 2 units), "source_mask": (B, S)} to
        "hidden1", "logits" (B, T, V) and "attention" (B, T, S).
    """
    decoder = model.get_layer("decoder")
    inputs = {
        "token_ids": keras.Input((None,), dtype="int32", name="token_ids"),
        "hidden1": keras.Input((decoder.units,), name="hidden1"),
        "values": keras.Input((None, model.get_layer("encoder").output[0].shape[-1]), name="values"),
        "source_mask": keras.Input((None,), dtype="bool", name="source_mask"),
    }
    x = model.get_layer("target_embedding")(inputs["token_ids"])
    states, contexts, attention, final = decoder(x, inputs["values"], inputs["hidden1"], values_mask=inputs["source_mask"])
    readout = model.get_layer("readout")(keras.ops.concatenate([states, x, contexts], axis=-1))
    logits = model.get_layer("logits")(readout)
    return keras.Model(inputs, {"logits": logits, "hidden1": final, "attention": attention}, name=f"{model.name}_step")
