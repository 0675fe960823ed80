"""AlexNet of 2012, in its two groups."""

from dataclasses import dataclass

import keras

from ...layers import GroupedConv2D, LocalResponseNormalization
from .image_input import image_input

_KERNEL, _STRIDE = 11, 4


@dataclass(frozen=True)
class AlexNetConfig:
    """AlexNet of 2012.

    Args:
        widths: kernels of the five convolutional layers.
        hidden_units: units of the two hidden dense layers.
        groups: GPUs over which the second, fourth and fifth convolution are split.
        dropout: rate before the second hidden and before the output layer.
        kernel_deviation: standard deviation of the normal distribution of the starting weights.
    """

    widths: tuple[int, int, int, int, int] = (96, 256, 384, 384, 256)
    hidden_units: tuple[int, int] = (4096, 4096)
    groups: int = 2
    dropout: float = 0.5
    kernel_deviation: float = 0.01


def alexnet(config: AlexNetConfig, *, input_shape: tuple[int, ...], num_classes: int) -> keras.Model:
    """Build the network of Krizhevsky, Sutskever and Hinton, split over two GPUs as in the paper.

    Paper: ImageNet classification with deep convolutional neural networks, NIPS 2012, section 3.5 and figure 2;
    normalisation section 3.3, overlapping pooling section 3.4, dropout section 4.2, starting weights section 5.
    https://doi.org/10.1145/3065386

    **Differs from the paper:**
    1. The paper crops 224 x 224 and draws a first map of 55 x 55, which 11 x 11 kernels at stride 4 do not give: 54 when
       rounded down. The authors' program rounds up, so its last windows reach 3 pixels beyond the crop. Here zeros after the
       image complete them; an input of 227 x 227, usual elsewhere for the same reason, fits without any.
    2. Normalisation in conv1 and conv2 runs over neighbouring maps across the border of the two GPUs; the paper does not say.

    The paper prints "60 million parameters"; its architecture has 60,965,224.
    The first map is 55 x 55 x 96 = 290,400 neurons; the paper's 253,440 is no product of such a map.

    Shape walk:
        images (B, 224, 224, 3)
        conv1  (B, 55, 55, 96)     11 x 11, stride 4; norm1, pool1 (B, 27, 27, 96)
        conv2  (B, 27, 27, 256)    5 x 5 in two groups; norm2, pool2 (B, 13, 13, 256)
        conv3  (B, 13, 13, 384)    3 x 3, across the groups
        conv4  (B, 13, 13, 384)    3 x 3 in two groups
        conv5  (B, 13, 13, 256)    3 x 3 in two groups; pool5 (B, 6, 6, 256)
        fc6    (B, 4096)
        fc7    (B, 4096)
        logits (B, num_classes)

    Features: conv1 (stride 4), conv2 (8), conv3, conv4, conv5 (16).

    Args:
        config: the sizes.
        input_shape: (height, width, channels), height and width known and at least 64.
        num_classes: number of classes; 0 leaves out the output layer and returns fc7.

    Raises:
        ValueError: when the input is too small, of unknown size, or a width is not a multiple of the groups.
    """
    images = image_input(input_shape, smallest=64, known=True)
    margins = [-(size - _KERNEL) % _STRIDE for size in input_shape[:2]]
    x = images
    if any(margins):
        x = keras.layers.ZeroPadding2D([(0, margin) for margin in margins], data_format="channels_last", name="conv1_padding")(x)
    x = _convolution(config, 0, _KERNEL, strides=_STRIDE, padding="valid")(x)
    x = LocalResponseNormalization(size=5, alpha=1e-4, beta=0.75, bias=2.0, name="norm1")(x)
    x = _pooling("pool1")(x)
    x = _convolution(config, 1, 5, groups=config.groups, bias=1.0)(x)
    x = LocalResponseNormalization(size=5, alpha=1e-4, beta=0.75, bias=2.0, name="norm2")(x)
    x = _pooling("pool2")(x)
    x = _convolution(config, 2, 3)(x)
    x = _convolution(config, 3, 3, groups=config.groups, bias=1.0)(x)
    x = _convolution(config, 4, 3, groups=config.groups, bias=1.0)(x)
    x = _pooling("pool5")(x)
    x = keras.layers.Flatten(data_format="channels_last", name="pool5_units")(x)
    first, second = config.hidden_units
    x = _dense(config, first, "fc6", activation="relu", bias=1.0)(x)
    x = keras.layers.Dropout(config.dropout, name="fc6_dropout")(x)
    x = _dense(config, second, "fc7", activation="relu", bias=1.0)(x)
    if num_classes:
        x = keras.layers.Dropout(config.dropout, name="head_dropout")(x)
        x = _dense(config, num_classes, "logits")(x)
    return keras.Model(images, x, name="alexnet")


def _convolution(
    config: AlexNetConfig, index: int, kernel_size: int, *, groups: int = 1, strides: int = 1, padding: str = "same", bias: float = 0.0
) -> keras.layers.Layer:
    """A convolution with ReLU; a bias of 1 hands the ReLU positive inputs in the early phase of training (section 5)."""
    return GroupedConv2D(
        config.widths[index],
        kernel_size,
        strides=strides,
        padding=padding,
        groups=groups,
        activation="relu",
        kernel_initializer=keras.initializers.RandomNormal(stddev=config.kernel_deviation),
        bias_initializer=keras.initializers.Constant(bias),
        data_format="channels_last",
        name=f"conv{index + 1}",
    )


def _pooling(name: str) -> keras.layers.Layer:
    """Overlapping pooling: windows of 3 at a distance of 2 (section 3.4)."""
    return keras.layers.MaxPooling2D(3, strides=2, data_format="channels_last", name=name)


def _dense(config: AlexNetConfig, units: int, name: str, *, activation: str | None = None, bias: float = 0.0) -> keras.layers.Layer:
    return keras.layers.Dense(
        units,
        activation=activation,
        kernel_initializer=keras.initializers.RandomNormal(stddev=config.kernel_deviation),
        bias_initializer=keras.initializers.Constant(bias),
        name=name,
    )
