"""EfficientNet: one searched network, scaled in width, depth and resolution together."""

import math
from dataclasses import dataclass
from typing import Literal

import keras

from ...layers import ConvNormActivation, InvertedResidual, rounded_width
from .image_input import image_input

# Table 1, stages 2 to 8, as (expansion, kernel size, stride, channels, layers); its resolution column is that of a stage's input
TABLE_1 = ((1, 3, 1, 16, 1), (6, 3, 2, 24, 2), (6, 5, 2, 40, 2), (6, 3, 2, 80, 3), (6, 5, 1, 112, 3), (6, 5, 2, 192, 4), (6, 3, 1, 320, 1))


@dataclass(frozen=True)
class EfficientNetConfig:
    """EfficientNet.

    Args:
        width_multiplier: w of equation 2; channels are rounded to multiples of 8.
        depth_multiplier: d of equation 2; layers of a stage are rounded up.
        rows: (expansion, kernel size, stride, channels, layers) of each MBConv stage of table 1.
        padding: "same" (the authors' TensorFlow form) or "symmetric" (torchvision's).
        dropout: rate before the output layer; 0.2 for B0 to 0.5 for B7 (section 5.2).
        stochastic_depth: drop rate that the blocks rise to linearly; 0.2 is section 5.2's survival probability of 0.8.
        momentum: share of the old moving statistics that batch normalisation keeps.
        epsilon: added to the variance in batch normalisation.
    """

    width_multiplier: float = 1.0
    depth_multiplier: float = 1.0
    rows: tuple[tuple[int, int, int, int, int], ...] = TABLE_1
    padding: Literal["same", "symmetric"] = "same"
    dropout: float = 0.2
    stochastic_depth: float = 0.2
    momentum: float = 0.99
    epsilon: float = 1e-3


def efficientnet(config: EfficientNetConfig, *, input_shape: tuple[int | None, ...], num_classes: int) -> keras.Model:
    """Build an EfficientNet: table 1, widened and deepened.

    Paper: Tan, Le, EfficientNet: rethinking model scaling for convolutional neural networks, 2019, equations 2 and 3, sections
    4 and 5.2, table 1. https://arxiv.org/abs/1905.11946

    **Differs from the paper:**
    1. Section 4 gives alpha, beta and gamma; the multipliers and resolutions of B1 to B7 are the authors' code's, which rounds
       them. So are the epsilon of 1e-3, the starting weights and the rounding of channels.
    2. Squeeze-and-excite has a quarter of the channels that enter the block, not of the expanded ones, as in the authors' code.
    3. Colours are normalised by `zoo.preprocess`; no layer of the model does so, where keras.applications has three that do.
    4. The variants `_torch` pad both sides alike where a map shrinks, and have epsilon 1e-5 up to B4; with the same weights
       their outputs are others.

    Trainable parameters, with table 2's figures in brackets: B0 5,288,548 (5.3 million), B1 7,794,184 (7.8), B2 9,109,994 (9.2),
    B3 12,233,232 (12), B4 19,341,616 (19), B5 30,389,784 (30), B6 43,040,704 (43), B7 66,347,960 (66).
    Thousand million multiply-adds, with table 2's: B0 0.386 (0.39), B1 0.687 (0.70), B2 0.994 (1.0), B3 1.827 (1.8), B4 4.394 (4.2),
    B5 10.27 (9.9), B6 19.07 (19), B7 37.75 (37).

    Shape walk (B0):
        images (B, 224, 224, 3)
        stage1 (B, 112, 112, 32)
        stage2 (B, 112, 112, 16)
        stage3 (B, 56, 56, 24)
        stage4 (B, 28, 28, 40)
        stage5 (B, 14, 14, 80)
        stage6 (B, 14, 14, 112)
        stage7 (B, 7, 7, 192)
        stage8 (B, 7, 7, 320)
        stage9 (B, 7, 7, 1280)
        pool   (B, 1280)
        logits (B, num_classes)

    Features: stage1 (stride 2), stage2 (2), stage3 (4), stage4 (8), stage5 (16), stage6 (16), stage7 (32), stage8 (32), stage9 (32).

    Args:
        config: the sizes.
        input_shape: (height, width, channels), height and width at least 32, or None.
        num_classes: number of classes; 0 leaves out the output layer and returns the pooled features.

    Raises:
        ValueError: when the input is smaller than the strides, or a size of the config is out of range.
    """
    if min(config.width_multiplier, config.depth_multiplier) <= 0.0:
        raise ValueError(
            f"width_multiplier and depth_multiplier must be above 0, got {config.width_multiplier} and {config.depth_multiplier}."
        )
    unit = {
        "activation": "silu",
        "padding": config.padding,
        "momentum": config.momentum,
        "epsilon": config.epsilon,
        "kernel_initializer": keras.initializers.VarianceScaling(2.0, "fan_out", "truncated_normal"),
    }
    repeats = [math.ceil(config.depth_multiplier * layers) for *_, layers in config.rows]
    images = image_input(input_shape, smallest=32)
    x = ConvNormActivation(_widened(32, config), 3, strides=2, name="stage1", **unit)(images)
    depth = 0
    for stage, (expansion, kernel_size, first_strides, channels, _) in enumerate(config.rows):
        for block in range(repeats[stage]):
            entering = x.shape[-1]
            x = InvertedResidual(
                _widened(channels, config),
                None if expansion == 1 else expansion * entering,
                kernel_size,
                first_strides if block == 0 else 1,
                squeeze_filters=max(1, entering // 4),
                squeeze_activation="silu",
                gate_activation="sigmoid",
                stochastic_depth=config.stochastic_depth * depth / sum(repeats),
                name=f"stage{stage + 2}_block{block + 1}",
                **unit,
            )(x)
            depth += 1
    x = ConvNormActivation(_widened(1280, config), 1, name=f"stage{len(config.rows) + 2}", **unit)(x)
    x = keras.layers.GlobalAveragePooling2D(data_format="channels_last", name="pool")(x)
    if num_classes:
        if config.dropout:
            x = keras.layers.Dropout(config.dropout, name="head_dropout")(x)
        initializer = keras.initializers.VarianceScaling(1.0 / 3.0, "fan_out", "uniform")
        x = keras.layers.Dense(num_classes, kernel_initializer=initializer, name="logits")(x)
    return keras.Model(images, x, name="efficientnet")


def _widened(channels: int, config: EfficientNetConfig) -> int:
    return rounded_width(channels * config.width_multiplier)
