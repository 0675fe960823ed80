"""ZFNet: AlexNet corrected by looking inside."""

from dataclasses import dataclass

import keras

from ...layers import LocalResponseNormalization, SpatialPooling2D
from .image_input import image_input


@dataclass(frozen=True)
class ZFNetConfig:
    """The network of Zeiler and Fergus.

    Args:
        widths: kernels of the five convolutional layers.
        hidden_units: units of the two hidden dense layers.
        dropout: rate behind each hidden dense layer.
        kernel_deviation: standard deviation of the normal distribution of the starting weights.
    """

    widths: tuple[int, int, int, int, int] = (96, 256, 384, 384, 256)
    hidden_units: tuple[int, int] = (4096, 4096)
    dropout: float = 0.5
    kernel_deviation: float = 0.01


def zfnet(config: ZFNetConfig, *, input_shape: tuple[int, ...], num_classes: int) -> keras.Model:
    """Build the eight-layer network of figure 3: smaller first kernels, a smaller first stride, no groups.

    Paper: Zeiler, Fergus, Visualizing and understanding convolutional networks, 2013, figure 3, sections 3 and 4.1.
    https://arxiv.org/abs/1311.2901

    **Differs from the paper:**
    1. Figure 3 gives the maps 110, 55, 26, 13, 6 and no padding. They come out with one pixel around the image before layer 1
       (109.5 rounded down otherwise) and pooling that rounds up (54.5 to 55, 12.5 to 13).
    2. The constants of the contrast normalisation are not printed; they are those of Krizhevsky et al. 2012.

    Trainable parameters: 62,357,608 at 1000 classes. The paper prints no number.

    Shape walk:
        images (B, 224, 224, 3)
        conv1  (B, 110, 110, 96)   7 x 7, stride 2; pool1, norm1 (B, 55, 55, 96)
        conv2  (B, 26, 26, 256)    5 x 5, stride 2; pool2, norm2 (B, 13, 13, 256)
        conv3  (B, 13, 13, 384)    3 x 3
        conv4  (B, 13, 13, 384)    3 x 3
        conv5  (B, 13, 13, 256)    3 x 3; pool5 (B, 6, 6, 256)
        fc6    (B, 4096)
        fc7    (B, 4096)
        logits (B, num_classes)

    Features: conv1 (stride 2), conv2 (8), conv3, conv4, conv5 (16).

    Args:
        config: the sizes.
        input_shape: (height, width, channels), height and width known and at least 63.
        num_classes: number of classes; 0 leaves out the output layer and returns fc7.

    Raises:
        ValueError: when the input is too small or of unknown size.
    """
    images = image_input(input_shape, smallest=63, known=True)
    x = keras.layers.ZeroPadding2D(1, data_format="channels_last", name="conv1_padding")(images)
    for index, kernel_size in ((1, 7), (2, 5)):
        x = _convolution(config, index, kernel_size, strides=2, padding="valid")(x)
        x = SpatialPooling2D("max", 3, strides=2, ceil_mode=True, name=f"pool{index}")(x)
        x = LocalResponseNormalization(size=5, alpha=1e-4, beta=0.75, bias=2.0, name=f"norm{index}")(x)
    for index in (3, 4, 5):
        x = _convolution(config, index, 3)(x)
    x = SpatialPooling2D("max", 3, strides=2, ceil_mode=True, name="pool5")(x)
    x = keras.layers.Flatten(data_format="channels_last", name="pool5_units")(x)
    first, second = config.hidden_units
    x = keras.layers.Dense(first, activation="relu", kernel_initializer=_normal(config), name="fc6")(x)
    x = keras.layers.Dropout(config.dropout, name="fc6_dropout")(x)
    x = keras.layers.Dense(second, activation="relu", kernel_initializer=_normal(config), name="fc7")(x)
    if num_classes:
        x = keras.layers.Dropout(config.dropout, name="head_dropout")(x)
        x = keras.layers.Dense(num_classes, kernel_initializer=_normal(config), name="logits")(x)
    return keras.Model(images, x, name="zfnet")


def _convolution(config: ZFNetConfig, index: int, kernel_size: int, *, strides: int = 1, padding: str = "same") -> keras.layers.Layer:
    return keras.layers.Conv2D(
        config.widths[index - 1],
        kernel_size,
        strides=strides,
        padding=padding,
        activation="relu",
        kernel_initializer=_normal(config),
        data_format="channels_last",
        name=f"conv{index}",
    )


def _normal(config: ZFNetConfig) -> keras.initializers.Initializer:
    return keras.initializers.RandomNormal(stddev=config.kernel_deviation)
