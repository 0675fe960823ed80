"""MobileNet: a plain stack of depthwise separable convolutions, thinned by one width multiplier."""

from dataclasses import dataclass

import keras

from ...layers import ConvNormActivation, DepthwiseSeparableConv2D
from .image_input import image_input

# Table 1 as (channels, stride) of each depthwise separable convolution; the stride of the last one is printed as 2, see below
TABLE_1 = ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *((512, 1),) * 5, (1024, 2), (1024, 1))


@dataclass(frozen=True)
class MobileNetV1Config:
    """MobileNet.

    Args:
        width_multiplier: alpha of section 3.3; every channel count is multiplied by it and rounded down.
        blocks: channels at alpha = 1 and stride of each depthwise separable convolution.
        activation: after each normalisation; "relu" is the paper's word, "relu6" what its published weights were trained with.
        dropout: rate before the output layer; 0.001 in the authors' code.
        momentum: share of the old moving statistics that batch normalisation keeps.
        epsilon: added to the variance in batch normalisation.
    """

    width_multiplier: float = 1.0
    blocks: tuple[tuple[int, int], ...] = TABLE_1
    activation: str = "relu6"
    dropout: float = 0.001
    momentum: float = 0.99
    epsilon: float = 1e-3


def mobilenet_v1(config: MobileNetV1Config, *, input_shape: tuple[int | None, ...], num_classes: int) -> keras.Model:
    """Build the network of table 1.

    Paper: Howard, Zhu, Chen, Kalenichenko, Wang, Weyand, Andreetto, Adam, MobileNets: efficient convolutional neural networks
    for mobile vision applications, 2017, section 3 and table 1. https://arxiv.org/abs/1704.04861

    **Differs from the paper:**
    1. ReLU is cut off at 6, as in the authors' published code and weights; the paper says ReLU. The override
       {"activation": "relu"} is the paper's word.
    2. Table 1 prints stride 2 for the last depthwise convolution although its input and output are both 7 x 7; it is 1 here.
    3. The paper prints no starting weights: truncated normal with deviation 0.09 as in the authors' code.

    Trainable parameters and millions of multiply-adds at 224 x 224, with table 6's figures in brackets:
    alpha 1.0: 4,231,976 (4.2 million), 568.7 (569); 0.75: 2,585,560 (2.6), 325.4 (325); 0.5: 1,331,592 (1.3), 149.5 (149);
    0.25: 470,072 (0.5), 41.0 (41).
    The resolution multiplier rho of section 3.4 is the `input_shape`.

    Shape walk (alpha = 1):
        images (B, 224, 224, 3)
        stem   (B, 112, 112, 32)
        conv1  (B, 112, 112, 64)
        conv2  (B, 56, 56, 128)
        conv3  (B, 28, 28, 256)
        conv4  (B, 14, 14, 512)
        conv5  (B, 7, 7, 1024)
        pool   (B, 1024)
        logits (B, num_classes)

    Features: conv1 (stride 2), conv2 (4), conv3 (8), conv4 (16), conv5 (32).

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
        "activation": config.activation,
        "momentum": config.momentum,
        "epsilon": config.epsilon,
        "kernel_initializer": keras.initializers.TruncatedNormal(stddev=0.09),
    }
    images = image_input(input_shape, smallest=32)
    x = ConvNormActivation(_thinned(32, config), 3, strides=2, name="stem", **unit)(images)
    stage, block = 1, 0
    for filters, strides in config.blocks:
        # a stage ends where the map shrinks
        stage, block = (stage + 1, 1) if strides > 1 else (stage, block + 1)
        name = f"conv{stage}_block{block}"
        x = DepthwiseSeparableConv2D(_thinned(filters, config), strides=strides, name=name, **unit)(x)
    x = keras.layers.GlobalAveragePooling2D(data_format="channels_last", name="pool")(x)
    if num_classes:
        if config.dropout:
            x = keras.layers.Dropout(config.dropout, name="head_dropout")(x)
        initializer = keras.initializers.TruncatedNormal(stddev=0.09)
        x = keras.layers.Dense(num_classes, kernel_initializer=initializer, name="logits")(x)
    return keras.Model(images, x, name="mobilenet_v1")


def _thinned(filters: int, config: MobileNetV1Config) -> int:
    """Channels after the width multiplier; the authors' code keeps at least 8."""
    return max(8, int(filters * config.width_multiplier))
