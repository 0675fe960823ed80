"""Language models of gated convolutions."""

from dataclasses import dataclass

import keras

from ...layers import GatedConv1D
from ..token_input import refuse_classes
from .sequences import embedded_tokens


@dataclass(frozen=True)
class GatedConvNetConfig:
    """A language model of gated convolutions.

    Args:
        vocabulary_size: number of tokens, of which 0 is padding.
        embedding_dim: width of the vectors of tokens.
        blocks: layers of each residual block, (filters, kernel size) one after the other: (128, 1, 128, 5, 512, 1) is a bottleneck.
        dropout: rate before each block and before the logits.
    """

    vocabulary_size: int = 267_736
    embedding_dim: int = 280
    blocks: tuple[tuple[int, ...], ...] = ((850, 6),)
    dropout: float = 0.0


def gated_convnet(config: GatedConvNetConfig, *, input_shape: tuple[int | None, ...], num_classes: int) -> keras.Model:
    """Build a language model that predicts each token from a window of those before it.

    Paper: Dauphin, Fan, Auli, Grangier, Language modeling with gated convolutional networks, 2017, section 2 and table 1.
    https://arxiv.org/abs/1612.08083

    **Differs from the paper:** 1. A full softmax in place of the adaptive one, so the output layer has more parameters. 2. No weight
    normalisation. 3. Where a block changes the width, its shortcut is a linear map.

    Shape walk:
        token_ids (B, T)
        embedding (B, T, embedding_dim)
        block1    (B, T, filters), and so on
        logits    (B, T, vocabulary_size)

    Args:
        config: the sizes.
        input_shape: (steps,); steps may be None.
        num_classes: 0, the classes are the vocabulary.

    Raises:
        ValueError: another rank of input, any number of classes but 0, or a size of the config out of range.
    """
    refuse_classes(num_classes)
    token_ids, x = embedded_tokens("token_ids", input_shape, config.vocabulary_size, config.embedding_dim, "embedding")
    for number, sizes in enumerate(config.blocks, start=1):
        x = _block(x, sizes, config.dropout, f"block{number}")
    if config.dropout:
        x = keras.layers.Dropout(config.dropout, name="head_dropout")(x)
    return keras.Model(token_ids, keras.layers.Dense(config.vocabulary_size, name="logits")(x), name="gated_convnet")


def _block(x, sizes: tuple[int, ...], dropout: float, name: str):
    """Return a residual block of causal gated convolutions."""
    if not sizes or len(sizes) % 2:
        raise ValueError(f"each of blocks must hold pairs of filters and kernel size, got {sizes}.")
    shortcut = x
    if dropout:
        x = keras.layers.Dropout(dropout, name=f"{name}_dropout")(x)
    for number, (filters, kernel_size) in enumerate(zip(sizes[::2], sizes[1::2], strict=True), start=1):
        x = GatedConv1D(filters, kernel_size, kernel_initializer="he_normal", name=f"{name}_conv{number}")(x)
    if shortcut.shape[-1] != x.shape[-1]:
        shortcut = keras.layers.Dense(x.shape[-1], use_bias=False, name=f"{name}_shortcut")(shortcut)
    return keras.layers.Add(name=f"{name}_add")([x, shortcut])
