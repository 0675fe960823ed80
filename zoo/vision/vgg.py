"""VGG: small kernels, many layers."""

from dataclasses import dataclass

import keras

from ...layers import AdaptiveAveragePooling2D, ConvNormActivation
from .image_input import image_input

_GRID = 7


@dataclass(frozen=True)
class VGGConfig:
    """A VGG network.

    Args:
        convolutions_per_stage: number of 3 x 3 convolutions in each of the five stages.
        widths: maps of each stage.
        hidden_units: units of the two hidden dense layers.
        normalization: "batch" puts batch normalisation behind each convolution; None is the paper's.
        dropout: rate behind each hidden dense layer.
    """

    convolutions_per_stage: tuple[int, ...] = (2, 2, 3, 3, 3)
    widths: tuple[int, ...] = (64, 128, 256, 512, 512)
    hidden_units: tuple[int, int] = (4096, 4096)
    normalization: str | None = None
    dropout: float = 0.5


def vgg(config: VGGConfig, *, input_shape: tuple[int | None, ...], num_classes: int) -> keras.Model:
    """Build a VGG network: stages of 3 x 3 convolutions, each closed by max pooling, then three dense layers.

    Paper: Simonyan, Zisserman, Very deep convolutional networks for large-scale image recognition, 2014, table 1 (columns A, B,
    D, E), table 2 (parameters), section 3.1 (dropout, starting weights). https://arxiv.org/abs/1409.1556

    **Differs from the paper:**
    1. An average over a 7 x 7 grid precedes the dense layers. On 224 x 224 the map is 7 x 7 already and nothing changes; it lets
       the same weights take other sizes. (The paper turns the dense layers into convolutions for that.)
    2. All depths start from Glorot's weights, which the paper names as sufficient; its own runs start from network A.
    3. The `_bn` variants are later than the paper: batch normalisation behind each convolution, whose bias is kept as in
       torchvision.

    Table 2 prints 133, 133, 138 and 144 million parameters for A, B, D, E; exactly they are 132,863,336 (vgg11), 133,047,848
    (vgg13), 138,357,544 (vgg16) and 143,667,240 (vgg19).

    Shape walk (vgg16):
        images (B, 224, 224, 3)
        conv1  (B, 224, 224, 64)    conv1_1, conv1_2; pool1 (B, 112, 112, 64)
        conv2  (B, 112, 112, 128)   conv2_1, conv2_2; pool2 (B, 56, 56, 128)
        conv3  (B, 56, 56, 256)     conv3_1 to conv3_3; pool3 (B, 28, 28, 256)
        conv4  (B, 28, 28, 512)     conv4_1 to conv4_3; pool4 (B, 14, 14, 512)
        conv5  (B, 14, 14, 512)     conv5_1 to conv5_3; pool5 (B, 7, 7, 512)
        fc6    (B, 4096)
        fc7    (B, 4096)
        logits (B, num_classes)

    Features: conv1 (stride 1), conv2 (2), conv3 (4), conv4 (8), conv5 (16), each before its pooling.

    Args:
        config: the sizes.
        input_shape: (height, width, channels), height and width at least 32, also None.
        num_classes: number of classes; 0 leaves out the output layer and returns fc7.

    Raises:
        ValueError: when the input is too small, the stages are not as many as the widths, or the normalisation is unknown.
    """
    if len(config.convolutions_per_stage) != len(config.widths):
        raise ValueError(f"widths must name one number a stage, got {config.widths} for stages {config.convolutions_per_stage}.")
    images = image_input(input_shape, smallest=2 ** len(config.widths))
    x = images
    for stage, (count, filters) in enumerate(zip(config.convolutions_per_stage, config.widths, strict=True), start=1):
        for step in range(1, count + 1):
            x = ConvNormActivation(
                filters,
                3,
                normalization=config.normalization,
                use_bias=True,
                kernel_initializer="glorot_uniform",
                name=f"conv{stage}_{step}",
            )(x)
        x = keras.layers.MaxPooling2D(2, data_format="channels_last", name=f"pool{stage}")(x)
    x = AdaptiveAveragePooling2D(_GRID, name="grid")(x)
    x = keras.layers.Flatten(data_format="channels_last", name="grid_units")(x)
    first, second = config.hidden_units
    x = keras.layers.Dense(first, activation="relu", name="fc6")(x)
    x = keras.layers.Dropout(config.dropout, name="fc6_dropout")(x)
    x = keras.layers.Dense(second, activation="relu", name="fc7")(x)
    if num_classes:
        x = keras.layers.Dropout(config.dropout, name="head_dropout")(x)
        x = keras.layers.Dense(num_classes, name="logits")(x)
    return keras.Model(images, x, name="vgg")
