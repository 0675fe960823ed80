"""GPT-2: a pre-norm Transformer decoder without a memory, as a language model."""

from dataclasses import dataclass

import keras

from ...layers import LearnedPositionEmbedding, TokenEmbedding, TransformerDecoderBlock
from ..token_input import refuse_classes, token_input


@dataclass(frozen=True)
class GPT2Config:
    """Sizes of a GPT-2.

    Args:
        vocabulary_size: number of tokens.
        max_length: the context, rows of the position table.
        depth: number of decoder blocks, N.
        model_dim: width.
        num_heads: attention heads of a block.
        feedforward_dim: width inside the feed-forward parts; None is 4 model_dim, as in the paper.
        dropout: rate on the embeddings, the outputs of the parts and the attention weights.
        activation: of the feed-forward parts.
        epsilon: added to the variance in the norms.
    """

    vocabulary_size: int = 50257
    max_length: int = 1024
    depth: int = 12
    model_dim: int = 768
    num_heads: int = 12
    feedforward_dim: int | None = None
    dropout: float = 0.1
    activation: str = "gelu_tanh"
    epsilon: float = 1e-5


def gpt2(config: GPT2Config, *, input_shape: tuple[int | None, ...], num_classes: int) -> keras.Model:
    """Build a GPT-2, which gives the logits of the next token at each step.

    Paper: Radford, Wu, Child, Luan, Amodei, Sutskever, Language models are unsupervised multitask learners, 2019, section 2.3,
    table 2. https://cdn.openai.com/better-language-models/language_models_are_unsupervised_multitask_learners.pdf

    **Differs from the paper:**
    1. Table 2 prints 117, 345, 762 and 1542 million parameters; the released models, which these are, have 124, 355, 774 and 1558.
    2. Dropout is that of the released code's predecessor, GPT-1 (0.1); the paper does not say.

    Table and output share one matrix. GELU is the tanh form. Projections that end in a residual sum start from a normal distribution
    with deviation 0.02 / sqrt(2 N), all others from 0.02, the position table from 0.01.

    No token is padding: every id is a token. Rows of different length are filled up at the right with any id; since no step sees a
    later one, the filling changes nothing before it.

    Shape walk of gpt2:
        token_ids        (B, T)
        tokens           (B, T, 768)
        positions        (B, T, 768)
        decoder_block1   (B, T, 768)
        decoder_block12  (B, T, 768)
        decoder_norm     (B, T, 768)
        logits           (B, T, 50257)

    Args:
        config: the sizes.
        input_shape: (steps,), None for any length up to `max_length`.
        num_classes: must be 0; the outputs are the tokens.

    Raises:
        ValueError: when a size of the config is out of range, or more steps are asked for than the position table has.
    """
    refuse_classes(num_classes)
    token_ids = token_input("token_ids", input_shape)
    normal = keras.initializers.RandomNormal
    tokens = TokenEmbedding(config.vocabulary_size, config.model_dim, embeddings_initializer=normal(stddev=0.02), name="tokens")
    x = tokens(token_ids)
    x = LearnedPositionEmbedding(config.max_length, embeddings_initializer=normal(stddev=0.01), name="positions")(x)
    x = keras.layers.Dropout(config.dropout, name="embedding_dropout")(x)
    for block in range(1, config.depth + 1):
        x = TransformerDecoderBlock(
            config.num_heads,
            config.model_dim,
            config.feedforward_dim or 4 * config.model_dim,
            cross_attention=False,
            activation=config.activation,
            norm_first=True,
            epsilon=config.epsilon,
            dropout=config.dropout,
            attention_dropout=config.dropout,
            kernel_initializer=normal(stddev=0.02),
            residual_initializer=normal(stddev=0.02 / (2 * config.depth) ** 0.5),
            name=f"decoder_block{block}",
        )(x)
    x = keras.layers.LayerNormalization(epsilon=config.epsilon, name="decoder_norm")(x)
    logits = keras.layers.Identity(name="logits")(tokens(x, reverse=True))
    return keras.Model(token_ids, logits, name="gpt2")
