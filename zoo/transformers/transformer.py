"""The Transformer of "Attention is all you need": encoder and decoder, for translation."""

from dataclasses import dataclass
from typing import Literal

import keras

from ...layers import (
    LearnedPositionEmbedding,
    SinusoidalPositionEncoding,
    TokenEmbedding,
    TransformerDecoderBlock,
    TransformerEncoderBlock,
)
from ..token_input import refuse_classes, token_input

_ROTARY_BASE = 10000.0


@dataclass(frozen=True)
class TransformerConfig:
    """Sizes and form of a Transformer.

    Args:
        vocabulary_size: number of tokens of the shared table; token 0 is padding. 0 for a network without tables, from vectors to
            vectors.
        depth: number of encoder blocks and of decoder blocks, N each.
        model_dim: width, d_model.
        feedforward_dim: width inside the feed-forward parts, d_ff.
        num_heads: attention heads of a block, h.
        dropout: rate on the embeddings and on the output of each part, P_drop.
        activation: of the feed-forward parts.
        norm: "post" normalises after each residual sum, "post_final" also after the last block, as torch's module does; "pre"
            normalises the input of each part, and after the last block.
        positions: "sinusoidal", "rotary" (in the self attention), "none", or an integer: the length of learned tables.
        epsilon: added to the variance in the norms.
    """

    vocabulary_size: int = 37000
    depth: tuple[int, int] = (6, 6)
    model_dim: int = 512
    feedforward_dim: int = 2048
    num_heads: int = 8
    dropout: float = 0.1
    activation: str = "relu"
    norm: Literal["post", "post_final", "pre"] = "post"
    positions: Literal["sinusoidal", "rotary", "none"] | int = "sinusoidal"
    epsilon: float = 1e-6


def transformer(config: TransformerConfig, *, input_shape: tuple[int | None, ...], num_classes: int) -> keras.Model:
    """Build a Transformer, which gives the logits of the next target token at each step of the target.

    Paper: Vaswani, Shazeer, Parmar, Uszkoreit, Jones, Gomez, Kaiser, Polosukhin, Attention is all you need, 2017, section 3, figure 1,
    table 3. https://arxiv.org/abs/1706.03762
    Pre-norm: Xiong et al., On layer normalization in the Transformer architecture, 2020, https://arxiv.org/abs/2002.04745. Rotary
    positions: Su et al., RoFormer, 2021, https://arxiv.org/abs/2104.09864. Learned positions: table 3, row (E).

    **Differs from the paper:**
    1. Table 3 prints 65 and 213 million parameters; with 37,000 tokens (section 5.1) and biases in all projections they are
       63,082,496 and 214,245,376.

    One table serves source, target and, transposed, the output; embeddings are scaled by sqrt(d_model). Id 0 is padding on both sides.
    No step attends to it, and outputs there mean nothing. Padding goes to the right; with "rotary" or "none" positions also to the left.

    Inputs: a dict of `source_ids` and `target_ids`, the target shifted right by a start token. Without a vocabulary the inputs are
    vectors, `source` and `target`, padding is a vector of zeros, positions are added to none, and the output is the decoder's.

    Shape walk of base:
        source_ids        (B, S)
        target_ids        (B, T)
        source_positions  (B, S, 512)
        encoder_block6    (B, S, 512)
        target_positions  (B, T, 512)
        decoder_block6    (B, T, 512)
        logits            (B, T, 37000)

    Args:
        config: the sizes.
        input_shape: (steps,) of source and target, None for any length; without a vocabulary (steps, d_model).
        num_classes: must be 0; the outputs are the tokens.

    Raises:
        ValueError: when a size of the config is out of range, or more steps are asked for than learned positions exist.
    """
    refuse_classes(num_classes)
    if not config.vocabulary_size:
        inputs = {name: _vector_input(name, input_shape, config.model_dim) for name in ("source", "target")}
        source, target = (keras.layers.Masking(0.0, name=f"{name}_masking")(tensor) for name, tensor in inputs.items())
        return keras.Model(inputs, _decoder(config, target, _encoder(config, source)), name="transformer")
    inputs = {name: token_input(name, input_shape) for name in ("source_ids", "target_ids")}
    tokens = TokenEmbedding(
        config.vocabulary_size,
        config.model_dim,
        scale=True,
        mask_zero=True,
        embeddings_initializer=keras.initializers.RandomNormal(stddev=config.model_dim**-0.5),
        name="tokens",
    )
    source = _positioned(config, tokens(inputs["source_ids"]), "source")
    target = _positioned(config, tokens(inputs["target_ids"]), "target")
    x = _decoder(config, target, _encoder(config, source))
    logits = keras.layers.Identity(name="logits")(tokens(x, reverse=True))
    return keras.Model(inputs, logits, name="transformer")


def _vector_input(name: str, input_shape: tuple[int | None, ...], model_dim: int):
    if len(input_shape) != 2 or input_shape[1] not in (None, model_dim):
        raise ValueError(f"input_shape must be (steps, {model_dim}) without a vocabulary, got {tuple(input_shape)}.")
    return keras.Input((input_shape[0], model_dim), name=name)


def _positioned(config: TransformerConfig, x, side: str):
    """Add the positions, and drop."""
    if isinstance(config.positions, int):
        normal = keras.initializers.RandomNormal(stddev=0.02)
        x = LearnedPositionEmbedding(config.positions, embeddings_initializer=normal, name=f"{side}_positions")(x)
    elif config.positions == "sinusoidal":
        x = SinusoidalPositionEncoding(name=f"{side}_positions")(x)
    return keras.layers.Dropout(config.dropout, name=f"{side}_dropout")(x)


def _encoder(config: TransformerConfig, x):
    for block in range(1, config.depth[0] + 1):
        x = TransformerEncoderBlock(name=f"encoder_block{block}", **_block_arguments(config))(x)
    return x if config.norm == "post" else keras.layers.LayerNormalization(epsilon=config.epsilon, name="encoder_norm")(x)


def _decoder(config: TransformerConfig, x, memory):
    for block in range(1, config.depth[1] + 1):
        x = TransformerDecoderBlock(name=f"decoder_block{block}", **_block_arguments(config))(x, memory)
    return x if config.norm == "post" else keras.layers.LayerNormalization(epsilon=config.epsilon, name="decoder_norm")(x)


def _block_arguments(config: TransformerConfig) -> dict:
    return {
        "num_heads": config.num_heads,
        "model_dim": config.model_dim,
        "feedforward_dim": config.feedforward_dim,
        "activation": config.activation,
        "norm_first": config.norm == "pre",
        "epsilon": config.epsilon,
        "dropout": config.dropout,
        "rotary_base": _ROTARY_BASE if config.positions == "rotary" else None,
    }
