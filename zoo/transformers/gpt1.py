"""GPT-1: a post-norm Transformer decoder without a memory, as a language model."""

from dataclasses import dataclass

import keras

from ...layers import LearnedPositionEmbedding, TokenEmbedding, TransformerDecoderBlock
from ..token_input import refuse_classes, token_input


@dataclass(frozen=True)
class GPT1Config:
    """Sizes of a GPT-1.

    Args:
        vocabulary_size: number of tokens: 40,000 merges, 238 characters twice and two more.
        max_length: the context, rows of the position table.
        depth: number of decoder blocks.
        model_dim: width.
        num_heads: attention heads of a block.
        feedforward_dim: width inside the feed-forward parts.
        dropout: rate on the embeddings, the outputs of the parts and the attention weights.
        activation: of the feed-forward parts.
        epsilon: added to the variance in the norms.
    """

    vocabulary_size: int = 40478
    max_length: int = 512
    depth: int = 12
    model_dim: int = 768
    num_heads: int = 12
    feedforward_dim: int = 3072
    dropout: float = 0.1
    activation: str = "gelu_tanh"
    epsilon: float = 1e-5


def gpt1(config: GPT1Config, *, input_shape: tuple[int | None, ...], num_classes: int) -> keras.Model:
    """Build a GPT-1, which gives the logits of the next token at each step.

    Paper: Radford, Narasimhan, Salimans, Sutskever, Improving language understanding by generative pre-training, 2018, section 3.1,
    equation 2, and section 4.1.
    https://cdn.openai.com/research-covers/language-unsupervised/language_understanding_paper.pdf

    **Differs from the paper:** nothing. Of section 4.1's "modified version of L2" and fine-tuning heads nothing is part of the model.

    Blocks are post-norm, as in the original Transformer, without a norm at the end. Table and output share one matrix. GELU is the
    tanh form, as in the authors' code. Weights start from a normal distribution with deviation 0.02.

    No token is padding: rows of different length are filled up at the right with any id; since no step sees a later one, the filling
    changes nothing before it.

    Shape walk:
        token_ids        (B, T)
        tokens           (B, T, 768)
        positions        (B, T, 768)
        decoder_block1   (B, T, 768)
        decoder_block12  (B, T, 768)
        logits           (B, T, 40478)

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
    x = LearnedPositionEmbedding(config.max_length, embeddings_initializer=normal(stddev=0.02), name="positions")(x)
    x = keras.layers.Dropout(config.dropout, name="embedding_dropout")(x)
    for block in range(1, config.depth + 1):
        x = TransformerDecoderBlock(
            config.num_heads,
            config.model_dim,
            config.feedforward_dim,
            cross_attention=False,
            activation=config.activation,
            epsilon=config.epsilon,
            dropout=config.dropout,
            attention_dropout=config.dropout,
            kernel_initializer=normal(stddev=0.02),
            name=f"decoder_block{block}",
        )(x)
    logits = keras.layers.Identity(name="logits")(tokens(x, reverse=True))
    return keras.Model(token_ids, logits, name="gpt1")
