"""MobileNetV3, large and small: searched inverted residuals with squeeze-and-excite and hard swish."""

from dataclasses import dataclass
from typing import Literal

import keras

from ...layers import ConvNormActivation, InvertedResidual, rounded_width
from .image_input import image_input

NONLINEARITIES = {"RE": "relu", "HS": "hard_silu"}


@dataclass(frozen=True)
class MobileNetV3Config:
    """MobileNetV3.

    Args:
        rows: of tables 1 and 2, one for each `bneck`: (kernel size, exp size, #out, SE, NL, s).
        penultimate_units: width of the layer after the pooling.
        width_multiplier: of every channel count; rounded to multiples of 8. The penultimate layer only grows with it.
        padding: "same" (the authors' TensorFlow form) or "symmetric" (torchvision's).
        dropout: rate before the output layer.
        momentum: share of the old moving statistics that batch normalisation keeps.
        epsilon: added to the variance in batch normalisation.
    """

    rows: tuple[tuple[int, int, int, bool, Literal["RE", "HS"], int], ...]
    penultimate_units: int = 1280
    width_multiplier: float = 1.0
    padding: Literal["same", "symmetric"] = "same"
    dropout: float = 0.2
    momentum: float = 0.99
    epsilon: float = 1e-3


def mobilenet_v3(config: MobileNetV3Config, *, input_shape: tuple[int | None, ...], num_classes: int) -> keras.Model:
    """Build MobileNetV3 from the rows of table 1 (large) or table 2 (small).

    Paper: Howard, Sandler, Chu, Chen, Chen, Tan, Wang, Zhu, Pang, Vasudevan, Le, Adam, Searching for MobileNetV3, 2019,
    section 5, figure 4, tables 1 and 2. https://arxiv.org/abs/1905.02244

    **Differs from the paper:**
    1. Section 5.3 fixes the bottleneck of squeeze-and-excite to a quarter of the expansion; it is rounded to a multiple of 8,
       as in the authors' code.
    2. Table 2 marks squeeze-and-excite at the last 1 x 1 convolution of the small network; neither the authors' code nor any
       published weights have it there.
    3. The paper prints no starting weights and no batch-norm epsilon: truncated normal with deviation 0.09 and 1e-3 as in the
       authors' code. Momentum 0.99 is section 6.1.1's.
    4. The variants `_torch` pad both sides alike where a map shrinks; with the same weights their outputs are others.

    Table 3 prints 5.4 million parameters and 219 million multiply-adds for the large network, 2.5 and 56 million for the small
    one; the architecture has 5,483,032 and 216.6 million, 2,542,856 and 56.5 million.

    Shape walk (large; the small network has no conv1, and 24, 48 and 96 channels in conv3, conv4 and conv5, 576 in conv6):
        images (B, 224, 224, 3)
        stem   (B, 112, 112, 16)
        conv1  (B, 112, 112, 16)
        conv2  (B, 56, 56, 24)
        conv3  (B, 28, 28, 40)
        conv4  (B, 14, 14, 112)
        conv5  (B, 7, 7, 160)
        conv6  (B, 7, 7, 960)
        pool   (B, 960)
        hidden (B, 1280)
        logits (B, num_classes)

    Features: conv1 (stride 2, large only), conv2 (4), conv3 (8), conv4 (16), conv5 (32), conv6 (32).

    Args:
        config: the sizes.
        input_shape: (height, width, channels), height and width at least 32, or None.
        num_classes: number of classes; 0 leaves out the output layer and returns the `hidden` features.

    Raises:
        ValueError: when the input is smaller than the strides, or a size of the config is out of range.
    """
    if config.width_multiplier <= 0.0:
        raise ValueError(f"width_multiplier must be above 0, got {config.width_multiplier}.")
    if not config.rows:
        raise ValueError("rows must hold at least one row of table 1 or 2, got none.")
    unit = {
        "padding": config.padding,
        "momentum": config.momentum,
        "epsilon": config.epsilon,
        "kernel_initializer": _initializer(),
    }
    images = image_input(input_shape, smallest=32)
    x = ConvNormActivation(rounded_width(16 * config.width_multiplier), 3, strides=2, activation="hard_silu", name="stem", **unit)(images)
    stage, block = 1, 0
    for kernel_size, expanded, filters, squeezes, nonlinearity, strides in config.rows:
        stage, block = (stage + 1, 1) if strides > 1 else (stage, block + 1)
        expanded = rounded_width(expanded * config.width_multiplier)
        x = InvertedResidual(
            rounded_width(filters * config.width_multiplier),
            # nothing to widen in the first row of either table
            None if expanded == x.shape[-1] else expanded,
            kernel_size,
            strides,
            squeeze_filters=rounded_width(expanded / 4) if squeezes else None,
            activation=NONLINEARITIES[nonlinearity],
            name=f"conv{stage}_block{block}",
            **unit,
        )(x)
    x = ConvNormActivation(rounded_width(6 * x.shape[-1]), 1, activation="hard_silu", name="conv6", **unit)(x)
    x = keras.layers.GlobalAveragePooling2D(data_format="channels_last", name="pool")(x)
    units = rounded_width(config.penultimate_units * max(1.0, config.width_multiplier))
    x = keras.layers.Dense(units, activation="hard_silu", kernel_initializer=_initializer(), name="hidden")(x)
    if num_classes:
        if config.dropout:
            x = keras.layers.Dropout(config.dropout, name="head_dropout")(x)
        x = keras.layers.Dense(num_classes, kernel_initializer=_initializer(), name="logits")(x)
    return keras.Model(images, x, name="mobilenet_v3")


def _initializer() -> keras.initializers.Initializer:
    return keras.initializers.TruncatedNormal(stddev=0.09)
