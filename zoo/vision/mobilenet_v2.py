"""MobileNetV2: inverted residuals with linear bottlenecks."""

from dataclasses import dataclass
from typing import Literal

import keras

from ...layers import ConvNormActivation, InvertedResidual, rounded_width
from .image_input import image_input

# Table 2 as (t, c, n, s): expansion, channels, repeats, stride of the first of them
TABLE_2 = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))


@dataclass(frozen=True)
class MobileNetV2Config:
    """MobileNetV2.

    Args:
        width_multiplier: of every channel count but the last convolution's, which only grows with it; rounded to multiples of 8.
        rows: (t, c, n, s) of each row of table 2 that holds bottlenecks.
        padding: "same" (the authors' TensorFlow form) or "symmetric" (torchvision's).
        dropout: rate before the output layer.
        momentum: share of the old moving statistics that batch normalisation keeps.
        epsilon: added to the variance in batch normalisation.
    """

    width_multiplier: float = 1.0
    rows: tuple[tuple[int, int, int, int], ...] = TABLE_2
    padding: Literal["same", "symmetric"] = "same"
    dropout: float = 0.2
    momentum: float = 0.997
    epsilon: float = 1e-3


def mobilenet_v2(config: MobileNetV2Config, *, input_shape: tuple[int | None, ...], num_classes: int) -> keras.Model:
    """Build the network of table 2.

    Paper: Sandler, Howard, Zhu, Zhmoginov, Chen, MobileNetV2: inverted residuals and linear bottlenecks, 2018, sections 3.2
    to 4 and table 2. https://arxiv.org/abs/1801.04381

    **Differs from the paper:**
    1. Channel counts under a width multiplier are rounded to multiples of 8, never below 90 %; the paper does not say how to
       round, the authors' code does so.
    2. The paper prints no starting weights and no batch-norm constants: truncated normal with deviation 0.09, momentum 0.997
       and epsilon 1e-3 as in the authors' code.
    3. The variant `_torch` pads both sides alike where a map shrinks and has epsilon 1e-5 and momentum 0.9; with the same
       weights its outputs are others.

    Section 4 speaks of 19 bottlenecks; table 2 lists 17, and so it is here and in the authors' code.
    Table 4 prints 3.4 million parameters and 300 million multiply-adds; the architecture of table 2 has 3,504,872 trainable
    parameters (3,538,984 with the moving statistics) and 300.8 million. Width 1.4 has 6,156,712 with the moving statistics
    (the table prints 6.9 million for 6,108,776 trainable ones).

    Shape walk (width 1):
        images (B, 224, 224, 3)
        stem   (B, 112, 112, 32)
        conv1  (B, 112, 112, 16)
        conv2  (B, 56, 56, 24)
        conv3  (B, 28, 28, 32)
        conv4  (B, 14, 14, 96)
        conv5  (B, 7, 7, 320)
        conv6  (B, 7, 7, 1280)
        pool   (B, 1280)
        logits (B, num_classes)

    Features: conv1 (stride 2), conv2 (4), conv3 (8), conv4 (16), conv5 (32), conv6 (32).

    Args:
        config: the sizes.
        input_shape: (height, width, channels), height and width at least 32, or None.
        num_classes: number of classes; 0 leaves out the output layer and returns the pooled features.

    Raises:
        ValueError: when the input is smaller than the strides, or a size of the config is out of range.
    """
    if config.width_multiplier <= 0.0:
        raise ValueError(f"width_multiplier must be above 0, got {config.width_multiplier}.")
    unit = {
        "activation": "relu6",
        "padding": config.padding,
        "momentum": config.momentum,
        "epsilon": config.epsilon,
        "kernel_initializer": keras.initializers.TruncatedNormal(stddev=0.09),
    }
    images = image_input(input_shape, smallest=32)
    x = ConvNormActivation(rounded_width(32 * config.width_multiplier), 3, strides=2, name="stem", **unit)(images)
    stage, block = 1, 0
    for expansion, channels, repeats, first_strides in config.rows:
        filters = rounded_width(channels * config.width_multiplier)
        for strides in (first_strides, *(1,) * (repeats - 1)):
            stage, block = (stage + 1, 1) if strides > 1 else (stage, block + 1)
            expanded = None if expansion == 1 else expansion * x.shape[-1]
            x = InvertedResidual(filters, expanded, strides=strides, name=f"conv{stage}_block{block}", **unit)(x)
    # the last convolution is not thinned (section 6.1)
    x = ConvNormActivation(rounded_width(1280 * max(1.0, config.width_multiplier)), 1, name="conv6", **unit)(x)
    x = keras.layers.GlobalAveragePooling2D(data_format="channels_last", name="pool")(x)
    if num_classes:
        if config.dropout:
            x = keras.layers.Dropout(config.dropout, name="head_dropout")(x)
        initializer = keras.initializers.TruncatedNormal(stddev=0.09)
        x = keras.layers.Dense(num_classes, kernel_initializer=initializer, name="logits")(x)
    return keras.Model(images, x, name="mobilenet_v2")
