"""The all convolutional net."""

from dataclasses import dataclass

import keras

from ...layers import ClassMaps2D, ConvNormActivation
from .image_input import image_input


@dataclass(frozen=True)
class AllCNNConfig:
    """All-CNN-C.

    Args:
        widths: maps of the three convolutions of each of the three stages; one number a stage.
        input_dropout: rate on the image.
        dropout: rate behind each convolution that stands for a pooling.
    """

    widths: tuple[int, int, int] = (96, 192, 192)
    input_dropout: float = 0.2
    dropout: float = 0.5


def all_cnn_c(config: AllCNNConfig, *, input_shape: tuple[int | None, ...], num_classes: int) -> keras.Model:
    """Build All-CNN-C: model C with its poolings replaced by convolutions of stride 2.

    Paper: Springenberg, Dosovitskiy, Brox, Riedmiller, Striving for simplicity: the all convolutional net, 2015, tables 1 and 2
    (model C, All-CNN-C), section 3.1. https://arxiv.org/abs/1412.6806

    **Differs from the paper:**
    1. Padding is not printed. All 3 x 3 convolutions are padded by one pixel on all sides but the last, which is not: so the
       final average runs over 6 x 6, as table 1 says.
    2. Starting weights are He's; the paper does not print them.

    The paper prints about 1.4 million parameters; the exact number for three channels and ten classes is 1,369,738.

    Shape walk:
        images       (B, 32, 32, 3)
        stage1_conv1 (B, 32, 32, 96)     stage1_conv2 alike
        stage1_conv3 (B, 16, 16, 96)     stride 2
        stage2_conv1 (B, 16, 16, 192)    stage2_conv2 alike
        stage2_conv3 (B, 8, 8, 192)      stride 2
        stage3_conv1 (B, 6, 6, 192)      not padded
        stage3_conv2 (B, 6, 6, 192)      1 x 1
        logits       (B, num_classes)    1 x 1 with ReLU, one map a class, averaged

    Features: stage1 (stride 2), stage2 (4), stage3 (4).

    Args:
        config: the sizes.
        input_shape: (height, width, channels), height and width at least 9, also None.
        num_classes: number of classes; 0 leaves out the class maps and returns the average of stage3.

    Raises:
        ValueError: when the input is too small.
    """
    images = image_input(input_shape, smallest=9)
    x = keras.layers.Dropout(config.input_dropout, name="input_dropout")(images)
    for stage, filters in enumerate(config.widths[:2], start=1):
        for step, strides in ((1, 1), (2, 1), (3, 2)):
            x = _convolution(filters, 3, f"stage{stage}_conv{step}", strides=strides)(x)
        x = keras.layers.Dropout(config.dropout, name=f"dropout{stage}")(x)
    x = _convolution(config.widths[2], 3, "stage3_conv1", padding="valid")(x)
    x = _convolution(config.widths[2], 1, "stage3_conv2")(x)
    if num_classes:
        x = ClassMaps2D(num_classes, name="logits")(x)
    else:
        x = keras.layers.GlobalAveragePooling2D(data_format="channels_last", name="pool")(x)
    return keras.Model(images, x, name="all_cnn_c")


def _convolution(filters: int, kernel_size: int, name: str, *, strides: int = 1, padding: str = "symmetric") -> keras.layers.Layer:
    return ConvNormActivation(filters, kernel_size, strides=strides, padding=padding, normalization=None, name=name)
