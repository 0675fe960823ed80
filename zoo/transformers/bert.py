"""BERT: a post-norm Transformer encoder that reads both ways, and its heads."""

from dataclasses import dataclass

import keras

from ...layers import FirstStep, LearnedPositionEmbedding, SegmentEmbedding, TokenEmbedding, TransformerEncoderBlock, gelu_tanh
from ..token_input import refuse_classes, token_input


@dataclass(frozen=True)
class BERTConfig:
    """Sizes of a BERT.

    Args:
        vocabulary_size: number of tokens, L; token 0 is padding.
        num_segments: number of segments (sentence A and B).
        max_length: rows of the position table.
        depth: number of encoder blocks.
        model_dim: width, H.
        num_heads: attention heads of a block, A.
        feedforward_dim: width inside the feed-forward parts; None is 4 H, as in the paper.
        dropout: rate on the embeddings, the outputs of the parts, the attention weights, and before a head.
        activation: of the feed-forward parts and of the masked-language head.
        epsilon: added to the variance in the norms.
    """

    vocabulary_size: int = 30522
    num_segments: int = 2
    max_length: int = 512
    depth: int = 12
    model_dim: int = 768
    num_heads: int = 12
    feedforward_dim: int | None = None
    dropout: float = 0.1
    activation: str = "gelu"
    epsilon: float = 1e-12


def bert(config: BERTConfig, *, input_shape: tuple[int | None, ...], num_classes: int) -> keras.Model:
    """Build a BERT encoder with its pooler.

    Paper: Devlin, Chang, Lee, Toutanova, BERT: Pre-training of deep bidirectional Transformers for language understanding, 2019,
    section 3, figure 2. https://arxiv.org/abs/1810.04805

    **Differs from the paper:**
    1. Section 3 prints 110 and 340 million parameters; with the 30,522 tokens of the released models they are 109,482,240 and
       335,141,888.
    2. The pooler (a dense layer with tanh on the first step, which the authors' code has) is not in the paper's text.

    GELU is the exact one. Weights start from a truncated normal distribution with deviation 0.02. Id 0 is padding: no step attends
    to it, and the outputs there mean nothing. Padding goes to the right, because positions are counted from the first id.

    Inputs: a dict of `token_ids` and `segment_ids` (0 for the first sentence, 1 for the second).

    Shape walk of base:
        token_ids         (B, T)
        segment_ids       (B, T)
        tokens            (B, T, 768)
        segments          (B, T, 768)
        positions         (B, T, 768)
        embedding_norm    (B, T, 768)
        encoder_block1    (B, T, 768)
        encoder_block12   (B, T, 768)
        sequence          (B, T, 768)
        pooled            (B, 768)

    Args:
        config: the sizes.
        input_shape: (steps,), None for any length up to `max_length`.
        num_classes: must be 0.

    Returns:
        a model with the outputs `sequence` and `pooled`.

    Raises:
        ValueError: when a size of the config is out of range, or more steps are asked for than the position table has.
    """
    refuse_classes(num_classes)
    inputs, _, sequence = _encoder(config, input_shape)
    return keras.Model(inputs, {"sequence": sequence, "pooled": _pooled(config, sequence)}, name="bert")


def bert_pretraining(config: BERTConfig, *, input_shape: tuple[int | None, ...], num_classes: int) -> keras.Model:
    """Build a BERT with its two heads of pre-training: masked language model and next sentence.

    Paper: as for `bert`, section 3.1, tasks 1 and 2, and appendix A.2.

    **Differs from the paper:** as for `bert`; the masked-language head scores every step, and the loss weighs those that were masked.

    The masked-language head (dense layer, GELU, norm, the token table transposed, a bias for each token) is the authors' code's.

    Shape walk of base:
        token_ids              (B, T)
        sequence               (B, T, 768)
        token_transform        (B, T, 768)
        token_logits           (B, T, 30522)
        pooled                 (B, 768)
        next_sentence_logits   (B, 2)

    Args:
        config, input_shape, num_classes: as for `bert`.

    Returns:
        a model with the outputs `token_logits` and `next_sentence_logits` (class 0: the second sentence follows the first).

    Raises:
        ValueError: as for `bert`.
    """
    refuse_classes(num_classes)
    inputs, tokens, sequence = _encoder(config, input_shape, use_output_bias=True)
    x = _dense(config.model_dim, "token_transform", config.activation)(sequence)
    x = keras.layers.LayerNormalization(epsilon=config.epsilon, name="token_transform_norm")(x)
    token_logits = keras.layers.Identity(name="token_logits")(tokens(x, reverse=True))
    next_sentence = _dense(2, "next_sentence_logits")(_pooled(config, sequence))
    outputs = {"token_logits": token_logits, "next_sentence_logits": next_sentence}
    return keras.Model(inputs, outputs, name="bert_pretraining")


def bert_classifier(config: BERTConfig, *, input_shape: tuple[int | None, ...], num_classes: int) -> keras.Model:
    """Build a BERT that classifies a sentence or a pair of sentences.

    Paper: as for `bert`, section 4.1, figure 4 (a) and (b): a linear layer on the first step's pooled state.

    **Differs from the paper:** as for `bert`.

    Shape walk of base:
        token_ids  (B, T)
        sequence   (B, T, 768)
        pooled     (B, 768)
        logits     (B, num_classes)

    Args:
        config, input_shape: as for `bert`.
        num_classes: number of classes; 0 leaves out the output layer and returns the pooled state.

    Raises:
        ValueError: as for `bert`.
    """
    inputs, _, sequence = _encoder(config, input_shape)
    x = keras.layers.Dropout(config.dropout, name="head_dropout")(_pooled(config, sequence))
    outputs = _dense(num_classes, "logits")(x) if num_classes else x
    return keras.Model(inputs, outputs, name="bert_classifier")


def bert_tagger(config: BERTConfig, *, input_shape: tuple[int | None, ...], num_classes: int) -> keras.Model:
    """Build a BERT that classifies each token.

    Paper: as for `bert`, section 5.3, figure 4 (d).

    **Differs from the paper:** as for `bert`. There is no pooler, because nothing would train it.

    Shape walk of base:
        token_ids  (B, T)
        sequence   (B, T, 768)
        logits     (B, T, num_classes)

    Args:
        config, input_shape: as for `bert`.
        num_classes: number of tags; 0 leaves out the output layer and returns the sequence.

    Raises:
        ValueError: as for `bert`.
    """
    inputs, _, sequence = _encoder(config, input_shape)
    x = keras.layers.Dropout(config.dropout, name="head_dropout")(sequence)
    outputs = _dense(num_classes, "logits")(x) if num_classes else x
    return keras.Model(inputs, outputs, name="bert_tagger")


def bert_span(config: BERTConfig, *, input_shape: tuple[int | None, ...], num_classes: int) -> keras.Model:
    """Build a BERT that finds a span of its input, the answer to a question.

    Paper: as for `bert`, section 4.2, figure 4 (c): the products of each step with a start vector S and an end vector E.

    **Differs from the paper:** as for `bert`; both products have a bias, as in the authors' code. There is no pooler.

    Shape walk of base:
        token_ids  (B, T)
        sequence   (B, T, 768)
        logits     (B, T, 2), start and end

    Args:
        config, input_shape: as for `bert`.
        num_classes: 2, for start and end.

    Raises:
        ValueError: as for `bert`, or for another number of classes.
    """
    if num_classes != 2:
        raise ValueError(f"num_classes must be 2, for the start and the end of a span, got {num_classes}.")
    inputs, _, sequence = _encoder(config, input_shape)
    return keras.Model(inputs, _dense(2, "logits")(sequence), name="bert_span")


def _encoder(config: BERTConfig, input_shape, *, use_output_bias: bool = False):
    """Return the inputs, the token table and the sequence (B, T, H)."""
    inputs = {name: token_input(name, input_shape) for name in ("token_ids", "segment_ids")}
    tokens = TokenEmbedding(
        config.vocabulary_size,
        config.model_dim,
        mask_zero=True,
        embeddings_initializer=_initializer(),
        use_output_bias=use_output_bias,
        name="tokens",
    )
    x = tokens(inputs["token_ids"])
    x = SegmentEmbedding(config.num_segments, embeddings_initializer=_initializer(), name="segments")(x, inputs["segment_ids"])
    x = LearnedPositionEmbedding(config.max_length, embeddings_initializer=_initializer(), name="positions")(x)
    x = keras.layers.LayerNormalization(epsilon=config.epsilon, name="embedding_norm")(x)
    x = keras.layers.Dropout(config.dropout, name="embedding_dropout")(x)
    for block in range(1, config.depth + 1):
        x = TransformerEncoderBlock(
            config.num_heads,
            config.model_dim,
            config.feedforward_dim or 4 * config.model_dim,
            activation=config.activation,
            epsilon=config.epsilon,
            dropout=config.dropout,
            attention_dropout=config.dropout,
            kernel_initializer=_initializer(),
            name=f"encoder_block{block}",
        )(x)
    return inputs, tokens, keras.layers.Identity(name="sequence")(x)


def _pooled(config: BERTConfig, sequence):
    return _dense(config.model_dim, "pooled", "tanh")(FirstStep(name="first_step")(sequence))


def _dense(units: int, name: str, activation: str | None = None) -> keras.layers.Dense:
    function = gelu_tanh if activation == "gelu_tanh" else activation
    return keras.layers.Dense(units, activation=function, kernel_initializer=_initializer(), name=name)


def _initializer() -> keras.initializers.Initializer:
    return keras.initializers.TruncatedNormal(stddev=0.02)
