"""AlexNet of 2014, in one tower: the form that is trained today."""

from dataclasses import dataclass

import keras

from ...layers import AdaptiveAveragePooling2D
from .image_input import image_input

_GRID = 6


@dataclass(frozen=True)
class AlexNetOneTowerConfig:
    """AlexNet of 2014.

    Args:
        widths: kernels of the five convolutional layers.
        hidden_units: units of the two hidden dense layers.
        dropout: rate before each hidden dense layer.
    """

    widths: tuple[int, int, int, int, int] = (64, 192, 384, 256, 256)
    hidden_units: tuple[int, int] = (4096, 4096)
    dropout: float = 0.5


def alexnet_one_tower(config: AlexNetOneTowerConfig, *, input_shape: tuple[int | None, ...], num_classes: int) -> keras.Model:
    """Build AlexNet with one tower in place of two, as torchvision has it.

    Paper: Krizhevsky, One weird trick for parallelizing convolutional neural networks, 2014, section 5.
    https://arxiv.org/abs/1404.5997

    **Differs from the paper:**
    1. No response normalisation, as in torchvision, whose weights and arithmetic this variant has.
    2. The first convolution pads 2 pixels on all sides and rounds down; its map is 55 x 55 all the same.
    3. An average over a 6 x 6 grid precedes the dense layers. On 224 x 224 the map is 6 x 6 already and nothing changes; it
       lets the same weights take other sizes.
    4. Dropout stands before the two hidden dense layers, not behind them.
    5. Starting weights are He's for the convolutions and dense layers; the paper does not print them.

    Trainable parameters: 61,100,840 at 1000 classes.

    Shape walk:
        images (B, 224, 224, 3)
        conv1  (B, 55, 55, 64)     11 x 11, stride 4; pool1 (B, 27, 27, 64)
        conv2  (B, 27, 27, 192)    5 x 5; pool2 (B, 13, 13, 192)
        conv3  (B, 13, 13, 384)    3 x 3
        conv4  (B, 13, 13, 256)    3 x 3
        conv5  (B, 13, 13, 256)    3 x 3; pool5 (B, 6, 6, 256)
        fc6    (B, 4096)
        fc7    (B, 4096)
        logits (B, num_classes)

    Features: conv1 (stride 4), conv2 (8), conv3, conv4, conv5 (16).

    Args:
        config: the sizes.
        input_shape: (height, width, channels), height and width at least 63, also None.
        num_classes: number of classes; 0 leaves out the output layer and returns fc7.

    Raises:
        ValueError: when the input is too small.
    """
    images = image_input(input_shape, smallest=63)
    widths = config.widths
    x = keras.layers.ZeroPadding2D(2, data_format="channels_last", name="conv1_padding")(images)
    x = _convolution(widths[0], 11, "conv1", strides=4, padding="valid")(x)
    x = _pooling("pool1")(x)
    x = _convolution(widths[1], 5, "conv2")(x)
    x = _pooling("pool2")(x)
    for index in (3, 4, 5):
        x = _convolution(widths[index - 1], 3, f"conv{index}")(x)
    x = _pooling("pool5")(x)
    x = AdaptiveAveragePooling2D(_GRID, name="grid")(x)
    x = keras.layers.Flatten(data_format="channels_last", name="grid_units")(x)
    for units, name in zip(config.hidden_units, ("fc6", "fc7"), strict=True):
        x = keras.layers.Dropout(config.dropout, name=f"{name}_dropout")(x)
        x = keras.layers.Dense(units, activation="relu", kernel_initializer="he_normal", name=name)(x)
    if num_classes:
        x = keras.layers.Dense(num_classes, name="logits")(x)
    return keras.Model(images, x, name="alexnet_one_tower")


def _convolution(filters: int, kernel_size: int, name: str, *, strides: int = 1, padding: str = "same") -> keras.layers.Layer:
    return keras.layers.Conv2D(
        filters,
        kernel_size,
        strides=strides,
        padding=padding,
        activation="relu",
        kernel_initializer="he_normal",
        data_format="channels_last",
        name=name,
    )


def _pooling(name: str) -> keras.layers.Layer:
    return keras.layers.MaxPooling2D(3, strides=2, data_format="channels_last", name=name)
