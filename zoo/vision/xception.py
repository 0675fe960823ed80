"""Xception: inception taken to the extreme, a residual network of depthwise separable convolutions."""

from dataclasses import dataclass, field
from typing import Any

import keras

from ...layers import ConvNormActivation, DepthwiseSeparableConv2D, SpatialPooling2D
from .image_input import image_input

_SMALLEST = 7


@dataclass(frozen=True)
class XceptionConfig:
    """Xception.

    Args:
        stem: filters of the two plain convolutions.
        entry: filters of the three blocks of the entry flow; the middle flow keeps the last.
        middle_blocks: number of blocks in the middle flow.
        exit: filters at the end of the exit flow's block and of the two convolutions after it.
        dropout: rate before the output layer.
        momentum: share of the old moving statistics that batch normalisation keeps; the paper gives none.
    """

    stem: tuple[int, int] = (32, 64)
    entry: tuple[int, int, int] = (128, 256, 728)
    middle_blocks: int = field(default=8, metadata={"least": 0})
    exit: tuple[int, int, int] = (1024, 1536, 2048)
    dropout: float = 0.5
    momentum: float = 0.99

    def __post_init__(self):
        if self.middle_blocks < 0:
            raise ValueError(f"middle_blocks must be at least 0, got {self.middle_blocks}")


def xception(config: XceptionConfig, *, input_shape: tuple[int | None, ...], num_classes: int) -> keras.Model:
    """Build Xception.

    Paper: Chollet, Xception: deep learning with depthwise separable convolutions, 2016, section 3, figure 5.
    https://arxiv.org/abs/1610.02357

    **Differs from the paper:** nothing. Batch normalisation (epsilon 1e-3) follows every convolution; figure 5 does not draw it. The
    optional fully-connected layers are left out. 22,855,952 trainable parameters, as table 3 prints.

    Shape walk:
        images  (B, 299, 299, 3)
        block1  (B, 147, 147, 64)
        block2  (B, 74, 74, 128)
        block3  (B, 37, 37, 256)
        block4  (B, 19, 19, 728)
        block12 (B, 19, 19, 728)
        block13 (B, 10, 10, 1024)
        block14 (B, 10, 10, 2048)
        pool    (B, 2048)
        logits  (B, num_classes)

    Blocks 1 to 4 are the entry flow, 5 to 12 the middle flow, 13 and 14 the exit flow: section 3's 14 modules.

    Features: block1 (stride 2), block2 (4), block3 (8), middle (16), exit (32).

    Args:
        config: the sizes.
        input_shape: (height, width, channels), at least 7 x 7, also None.
        num_classes: number of classes; 0 leaves out the output layer and returns the pooled features.

    Raises:
        ValueError: for an input shape without three axes or under 7 x 7, or a size of the config that is out of range.
    """
    norm: dict[str, Any] = {"momentum": config.momentum, "epsilon": 1e-3}
    images = image_input(input_shape, smallest=_SMALLEST)
    x = ConvNormActivation(config.stem[0], 3, strides=2, padding="valid", name="block1_conv1", **norm)(images)
    x = ConvNormActivation(config.stem[1], 3, padding="valid", name="block1_conv2", **norm)(x)
    for block, filters in enumerate(config.entry, start=2):
        # the block after the plain convolutions starts without a ReLU, since they end with one
        x = _narrowing_block(x, (filters, filters), f"block{block}", norm, first="relu" if block > 2 else None)
    for block in range(5, 5 + config.middle_blocks):
        x = _middle_block(x, config.entry[-1], f"block{block}", norm)
    x = keras.layers.Identity(name="middle")(x)
    last = 5 + config.middle_blocks
    x = _narrowing_block(x, (config.entry[-1], config.exit[0]), f"block{last}", norm, first="relu")
    x = _separable(config.exit[1], f"block{last + 1}_sepconv1", norm, activation=None)(x)
    x = _separable(config.exit[2], f"block{last + 1}_sepconv2", norm)(x)
    x = keras.layers.Activation("relu", name="exit")(x)
    x = keras.layers.GlobalAveragePooling2D(data_format="channels_last", name="pool")(x)
    if num_classes:
        x = keras.layers.Dropout(config.dropout, name="dropout")(x)
        x = keras.layers.Dense(num_classes, name="logits")(x)
    return keras.Model(images, x, name="xception")


def _separable(filters: int, name: str, norm: dict[str, Any], activation: str | None = "relu") -> DepthwiseSeparableConv2D:
    """A 3 x 3 separable convolution: the activation before it, batch normalisation after it."""
    return DepthwiseSeparableConv2D(filters, 3, order="xception", activation=activation, name=name, **norm)


def _narrowing_block(x, filters: tuple[int, int], name: str, norm: dict[str, Any], first: str | None):
    """Two separable convolutions and a pooling at stride 2 beside a 1 x 1 convolution at stride 2."""
    shortcut = ConvNormActivation(filters[1], 1, strides=2, activation=None, name=f"{name}_shortcut", **norm)(x)
    x = _separable(filters[0], f"{name}_sepconv1", norm, activation=first)(x)
    x = _separable(filters[1], f"{name}_sepconv2", norm)(x)
    x = SpatialPooling2D("max", 3, strides=2, padding="same", name=f"{name}_pool")(x)
    return keras.layers.Add(name=f"{name}_add")([x, shortcut])


def _middle_block(x, filters: int, name: str, norm: dict[str, Any]):
    """Three separable convolutions beside the identity."""
    shortcut = x
    for index in (1, 2, 3):
        x = _separable(filters, f"{name}_sepconv{index}", norm)(x)
    return keras.layers.Add(name=f"{name}_add")([x, shortcut])
