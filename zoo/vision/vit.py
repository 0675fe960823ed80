"""The Vision Transformer."""

from dataclasses import dataclass
from typing import Literal

import keras

from ...layers import (
    ClassToken,
    FirstStep,
    GlobalPooling,
    LearnedPositionEmbedding,
    PatchEmbedding,
    SinusoidalGrid,
    TransformerEncoderBlock,
)

_EPSILON = 1e-6


@dataclass(frozen=True)
class ViTConfig:
    """A Vision Transformer.

    Args:
        patch_size: P, side of a patch in pixels.
        depth: L, number of blocks.
        model_dim: D, width of the tokens.
        feedforward_dim: width between the two layers of each MLP.
        num_heads: k, heads of the attention.
        dropout: rate after each dense layer but those of query, key and value, and after the positions (appendix B.1).
        pool: "token" for a class token whose last state is classified, "average" for the mean of the patches without a class
            token (appendix D.3).
        positions: what the learned positions start from, "normal" (deviation 0.02) or "sinusoidal" for the sines and cosines of each
            patch's column and row (Beyer et al. 2022, section 2, who keep them), which tell positions apart from the first update.
    """

    patch_size: int = 16
    depth: int = 12
    model_dim: int = 768
    feedforward_dim: int = 3072
    num_heads: int = 12
    dropout: float = 0.0
    pool: Literal["token", "average"] = "token"
    positions: Literal["normal", "sinusoidal"] = "normal"


def vit(config: ViTConfig, *, input_shape: tuple[int, ...], num_classes: int) -> keras.Model:
    """Build a Vision Transformer: an image as a sequence of patches in a pre-norm Transformer encoder.

    Paper: Dosovitskiy, Beyer, Kolesnikov, Weissenborn, Zhai, Unterthiner, Dehghani, Minderer, Heigold, Gelly, Uszkoreit, Houlsby,
    An image is worth 16x16 words, 2021, section 3.1, equations 1 to 4, table 1. https://arxiv.org/abs/2010.11929
    The tiny and small ones: Touvron et al., Training data-efficient image transformers, 2021, table 1. https://arxiv.org/abs/2012.12877

    **Differs from the paper:**
    1. The head is always one linear layer, as in section 3.1 for fine-tuning; the hidden layer that the paper adds in pre-training
       is left out. It starts from a truncated normal distribution with deviation 0.02 instead of zeros.
    2. The stochastic depth with which Touvron et al. train is left out; it adds nothing in inference.

    GELU is the exact one, and layer normalisation adds 1e-6 to the variance. Dropout is 0 unless it is asked for; table 3 has 0.1
    for training on ImageNet alone.
    Table 1 prints 86 and 307 million parameters for base and large. With 1,000 classes they have 86,567,656 and 304,326,632; no
    reading of the large one's sizes gives 307 million without a larger head.

    Shape walk of base_16:
        images          (B, 224, 224, 3)
        patches         (B, 196, 768)
        class_token     (B, 197, 768)
        positions       (B, 197, 768)
        encoder_block1  (B, 197, 768)
        encoder_block12 (B, 197, 768)
        norm            (B, 197, 768)
        pool            (B, 768)
        logits          (B, num_classes)

    Features: patches and encoder, the tokens before and after all blocks (stride: the patch size).

    Args:
        config: the sizes.
        input_shape: (height, width, channels), height and width multiples of the patch size.
        num_classes: number of classes; 0 leaves out the output layer and returns the pooled features.

    Raises:
        ValueError: when a size of the config is out of range, or the patches do not fill the image.
    """
    images = keras.Input(_checked(input_shape, config.patch_size), name="images")
    x = PatchEmbedding(config.patch_size, config.model_dim, kernel_initializer="lecun_normal", name="patches")(images)
    if config.pool == "token":
        x = ClassToken(name="class_token")(x)
    x = LearnedPositionEmbedding(x.shape[1], embeddings_initializer=_positions(config, input_shape), name="positions")(x)
    x = keras.layers.Dropout(config.dropout, name="positions_dropout")(x)
    for block in range(1, config.depth + 1):
        x = TransformerEncoderBlock(
            config.num_heads,
            config.model_dim,
            config.feedforward_dim,
            activation="gelu",
            norm_first=True,
            epsilon=_EPSILON,
            dropout=config.dropout,
            feedforward_dropout=config.dropout,
            name=f"encoder_block{block}",
        )(x)
    x = keras.layers.LayerNormalization(epsilon=_EPSILON, name="norm")(x)
    x = FirstStep(name="pool")(x) if config.pool == "token" else GlobalPooling("average", name="pool")(x)
    if num_classes:
        x = keras.layers.Dense(num_classes, kernel_initializer=keras.initializers.TruncatedNormal(stddev=0.02), name="logits")(x)
    return keras.Model(images, x, name="vit")


def _positions(config: ViTConfig, shape: tuple[int, ...]) -> keras.initializers.Initializer:
    """Return what the position table starts from."""
    if config.positions == "normal":
        return keras.initializers.RandomNormal(stddev=0.02)
    if config.model_dim % 4 or config.model_dim == 4:
        raise ValueError(f"model_dim must be a multiple of 4 above 4 for positions of sines and cosines, got {config.model_dim}.")
    return SinusoidalGrid(shape[0] // config.patch_size, shape[1] // config.patch_size)


def _checked(shape: tuple[int, ...], patch: int) -> tuple[int, ...]:
    """Return the input shape when whole patches fill it; the position table fixes how many there are."""
    if len(shape) != 3 or not shape[2]:
        raise ValueError(f"input_shape must be (height, width, channels) with known channels, got {tuple(shape)}.")
    if any(not size or size % patch for size in shape[:2]):
        raise ValueError(f"input_shape must have a height and a width that are multiples of the patch size, {patch}, got {tuple(shape)}.")
    return tuple(shape)
