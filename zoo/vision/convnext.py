"""ConvNeXt."""

from dataclasses import dataclass

import keras

from ...layers import ConvNeXtBlock
from .image_input import image_input

_EPSILON = 1e-6


@dataclass(frozen=True)
class ConvNeXtConfig:
    """A ConvNeXt.

    Args:
        depths: B, blocks of the four stages.
        widths: C, channels of the four stages.
        stochastic_depth: drop rate of the last block; the rates rise to it linearly from 0.
        layer_scale: start of the factors on each branch; None leaves them out.
    """

    depths: tuple[int, ...] = (3, 3, 9, 3)
    widths: tuple[int, ...] = (96, 192, 384, 768)
    stochastic_depth: float = 0.1
    layer_scale: float | None = 1e-6


def convnext(config: ConvNeXtConfig, *, input_shape: tuple[int | None, ...], num_classes: int) -> keras.Model:
    """Build a ConvNeXt: a ResNet's stages of blocks that are built like a Swin Transformer's, without attention.

    Paper: Liu, Mao, Wu, Feichtenhofer, Darrell, Xie, A ConvNet for the 2020s, 2022, sections 2 and 3.1, figure 4, tables 5 and 9.
    https://arxiv.org/abs/2201.03545

    **Differs from the paper:** nothing. Kernels start from a truncated normal distribution with deviation 0.02, biases at 0, layer
    scale at 1e-6 (table 5); the last drop rates are 0.1, 0.4, 0.5 and 0.5 for tiny, small, base and large.
    Table 1 rounds the parameters to 29, 50, 89 and 198 million; the rows hold the exact numbers.

    Shape walk of the tiny one:
        images (B, 224, 224, 3)
        stem   (B, 56, 56, 96)
        res2   (B, 56, 56, 96)
        res3   (B, 28, 28, 192)
        res4   (B, 14, 14, 384)
        res5   (B, 7, 7, 768)
        pool   (B, 768)
        logits (B, num_classes)

    Features: stem (stride 4), res2 (4), res3 (8), res4 (16), res5 (32).

    Args:
        config: the sizes.
        input_shape: (height, width, channels), any height and width from 32 on, also None.
        num_classes: number of classes; 0 leaves out the output layer and returns the pooled features after their normalisation.

    Raises:
        ValueError: when a size of the config or of the input is out of range.
    """
    if len(config.depths) != len(config.widths) or not config.depths:
        raise ValueError(f"depths and widths must have one number a stage, got {config.depths} and {config.widths}.")
    images = image_input(input_shape, smallest=4 * 2 ** (len(config.depths) - 1))
    rates = _linear_rates(sum(config.depths), config.stochastic_depth)
    x = _convolution(config.widths[0], 4, "stem_patches")(images)
    x = _normalization("stem_norm")(x)
    for stage, (depth, width) in enumerate(zip(config.depths, config.widths, strict=True), start=2):
        if stage > 2:
            x = _normalization(f"res{stage}_downsample_norm")(x)
            x = _convolution(width, 2, f"res{stage}_downsample")(x)
        for block in range(1, depth + 1):
            x = ConvNeXtBlock(
                width,
                layer_scale=config.layer_scale,
                stochastic_depth=next(rates),
                epsilon=_EPSILON,
                name=f"res{stage}_block{block}",
            )(x)
    x = keras.layers.GlobalAveragePooling2D(data_format="channels_last", name="pool")(x)
    x = _normalization("pool_norm")(x)
    if num_classes:
        x = keras.layers.Dense(num_classes, kernel_initializer=_kernel_initializer(), name="logits")(x)
    return keras.Model(images, x, name="convnext")


def _linear_rates(count: int, last: float):
    """Yield the drop rate of each block, from 0 to `last`."""
    yield from (last * index / max(count - 1, 1) for index in range(count))


def _kernel_initializer() -> keras.initializers.Initializer:
    return keras.initializers.TruncatedNormal(stddev=0.02)


def _normalization(name: str) -> keras.layers.Layer:
    return keras.layers.LayerNormalization(epsilon=_EPSILON, name=name)


def _convolution(filters: int, size: int, name: str) -> keras.layers.Layer:
    """A convolution over windows that do not overlap."""
    return keras.layers.Conv2D(
        filters, size, strides=size, kernel_initializer=_kernel_initializer(), data_format="channels_last", name=name
    )
