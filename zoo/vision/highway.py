"""Highway networks: a thin dense one of fifty layers, and the convolutional ones."""

from dataclasses import dataclass

import keras

from ...layers import ConvNormActivation, HighwayConv2D, HighwayDense, SpatialPooling2D
from .image_input import image_input


@dataclass(frozen=True)
class HighwayConfig:
    """A dense highway network.

    Args:
        depth: hidden layers: one plain and depth - 1 highway layers.
        units: width of all of them.
        activation: of the plain layer and of H in the highway layers.
        transform_bias: starting value of the transform gates' biases.
    """

    depth: int = 50
    units: int = 50
    activation: str = "relu"
    transform_bias: float = -2.0


@dataclass(frozen=True)
class HighwayDigitsConfig:
    """The convolutional highway network of ten layers for digits.

    Args:
        width: maps of every layer.
        layers_per_stage: convolutional layers in each of the three stages.
        dropout: rate on the image and behind each stage.
        transform_bias: starting value of the transform gates' biases.
    """

    width: int = 32
    layers_per_stage: tuple[int, int, int] = (3, 3, 3)
    dropout: tuple[float, float, float, float] = (0.2, 0.3, 0.4, 0.5)
    transform_bias: float = -1.0


@dataclass(frozen=True)
class HighwayPhotosConfig:
    """The convolutional highway network of nineteen layers for small photographs.

    Args:
        widths: maps of each stage.
        layers_per_stage: convolutional layers in each stage, the first of them plain.
        last_units: maps of the 1 x 1 convolution before the average.
        dropout: rate on the image, behind each pooling and before the output layer.
        transform_bias: starting value of the transform gates' biases.
    """

    widths: tuple[int, ...] = (32, 80, 128)
    layers_per_stage: tuple[int, ...] = (5, 6, 6)
    last_units: int = 100
    dropout: float = 0.2
    transform_bias: float = -2.0


def highway(config: HighwayConfig, *, input_shape: tuple[int, ...], num_classes: int) -> keras.Model:
    """Build the dense highway network of the optimisation experiment, for 28 x 28 digits.

    Paper: Srivastava, Greff, Schmidhuber, Training very deep networks, 2015, section 3.1, figure 1; equation 3.
    https://arxiv.org/abs/1507.06228

    **Differs from the paper:** nothing. The transform bias, which the paper searches between -1 and -10, is -2, that of the best
    network of fifty layers (figure 2 of arXiv:1505.00387).

    Trainable parameters: 39,250 + 49 x 5,100 + 510 = 289,660. The paper prints "about 5000" a layer.

    Shape walk:
        images  (B, 28, 28, 1)
        layer1  (B, 50)    plain
        layer2  (B, 50)    highway, and so on to layer50
        logits  (B, num_classes)

    Features: none.

    Args:
        config: the sizes.
        input_shape: (height, width, channels), height and width known.
        num_classes: number of classes; 0 leaves out the output layer and returns the last highway layer.

    Raises:
        ValueError: when an input size is unknown or the depth is below 1.
    """
    if config.depth < 1:
        raise ValueError(f"depth must be at least 1, got {config.depth}.")
    images = image_input(input_shape, known=True)
    x = keras.layers.Flatten(data_format="channels_last", name="pixels")(images)
    x = keras.layers.Dense(config.units, activation=config.activation, name="layer1")(x)
    for index in range(2, config.depth + 1):
        x = HighwayDense(config.units, config.activation, config.transform_bias, name=f"layer{index}")(x)
    if num_classes:
        x = keras.layers.Dense(num_classes, name="logits")(x)
    return keras.Model(images, x, name="highway")


def highway_conv10(config: HighwayDigitsConfig, *, input_shape: tuple[int, ...], num_classes: int) -> keras.Model:
    """Build the convolutional highway network of ten layers for MNIST.

    Paper: Srivastava, Greff, Schmidhuber, Training very deep networks, 2015, section 3.2, table 1.
    https://arxiv.org/abs/1507.06228

    **Differs from the paper:** nothing. What the text leaves open (kernels, pooling, dropout) is as in the authors' published
    network file.

    Table 1 prints 39K and 151K parameters; exactly they are 38,986 (width 16) and 151,690 (width 32).

    Shape walk (width 32):
        images (B, 28, 28, 1)
        stage1 (B, 24, 24, 32)    5 x 5 plain and unpadded, then two 3 x 3 highway layers; pool1 (B, 12, 12, 32)
        stage2 (B, 12, 12, 32)    three highway layers; pool2 (B, 6, 6, 32)
        stage3 (B, 6, 6, 32)      three highway layers; pool3 (B, 3, 3, 32)
        logits (B, num_classes)

    Features: stage1 (stride 1), stage2 (2), stage3 (4), each before its pooling.

    Args:
        config: the sizes.
        input_shape: (height, width, channels), height and width known and at least 12.
        num_classes: number of classes; 0 leaves out the output layer and returns the last map as a vector.

    Raises:
        ValueError: when the input is too small or of unknown size.
    """
    images = image_input(input_shape, smallest=12, known=True)
    x = keras.layers.Dropout(config.dropout[0], name="input_dropout")(images)
    x = _plain(config.width, 5, "stage1_conv1", padding="valid")(x)
    for stage, (count, rate) in enumerate(zip(config.layers_per_stage, config.dropout[1:], strict=True), start=1):
        for step in range(2 if stage == 1 else 1, count + 1):
            x = _gated(config.width, config.transform_bias, f"stage{stage}_conv{step}")(x)
        last = stage == len(config.layers_per_stage)
        x = SpatialPooling2D("max", 2 if last else 3, strides=2, ceil_mode=not last, name=f"pool{stage}")(x)
        if last:
            x = keras.layers.Flatten(data_format="channels_last", name=f"pool{stage}_units")(x)
        if num_classes or not last:
            x = keras.layers.Dropout(rate, name="head_dropout" if last else f"dropout{stage}")(x)
    if num_classes:
        x = keras.layers.Dense(num_classes, name="logits")(x)
    return keras.Model(images, x, name="highway_conv10")


def highway_conv19(config: HighwayPhotosConfig, *, input_shape: tuple[int | None, ...], num_classes: int) -> keras.Model:
    """Build the convolutional highway network of nineteen layers for CIFAR.

    Paper: Srivastava, Greff, Schmidhuber, Training very deep networks, 2015, section 3.3.2, table 3; it is Highway B of table 2,
    drawn after FitNet 4, with global average pooling in place of the dense layer. https://arxiv.org/abs/1507.06228

    **Differs from the paper:** nothing. What the text leaves open (widths, dropout) is as in the authors' published network
    file.

    Table 2 prints 2.3 million parameters for Highway B; this network has 2,256,838 at ten classes.

    Shape walk:
        images (B, 32, 32, 3)
        stage1 (B, 32, 32, 32)    one plain and four highway layers, 3 x 3; pool1 (B, 16, 16, 32)
        stage2 (B, 16, 16, 80)    one plain and five highway layers; pool2 (B, 8, 8, 80)
        stage3 (B, 8, 8, 128)     one plain and five highway layers
        conv18 (B, 8, 8, 100)     1 x 1
        pool3  (B, 100)           average over the map
        logits (B, num_classes)

    Features: stage1 (stride 1), stage2 (2), stage3 (4).

    Args:
        config: the sizes.
        input_shape: (height, width, channels), height and width at least 4, also None.
        num_classes: number of classes; 0 leaves out the output layer and returns pool3.

    Raises:
        ValueError: when the input is too small or the stages are not as many as the widths.
    """
    if len(config.layers_per_stage) != len(config.widths):
        raise ValueError(f"widths must name one number a stage, got {config.widths} for stages {config.layers_per_stage}.")
    images = image_input(input_shape, smallest=2 ** (len(config.widths) - 1))
    x = keras.layers.Dropout(config.dropout, name="input_dropout")(images)
    for stage, (count, filters) in enumerate(zip(config.layers_per_stage, config.widths, strict=True), start=1):
        if stage > 1:
            x = keras.layers.MaxPooling2D(2, data_format="channels_last", name=f"pool{stage - 1}")(x)
            x = keras.layers.Dropout(config.dropout, name=f"dropout{stage - 1}")(x)
        x = _plain(filters, 3, f"stage{stage}_conv1")(x)
        for step in range(2, count + 1):
            x = _gated(filters, config.transform_bias, f"stage{stage}_conv{step}")(x)
    x = _plain(config.last_units, 1, f"conv{sum(config.layers_per_stage) + 1}")(x)
    x = keras.layers.GlobalAveragePooling2D(data_format="channels_last", name=f"pool{len(config.widths)}")(x)
    if num_classes:
        x = keras.layers.Dropout(config.dropout, name="head_dropout")(x)
        x = keras.layers.Dense(num_classes, name="logits")(x)
    return keras.Model(images, x, name="highway_conv19")


def _plain(filters: int, kernel_size: int, name: str, *, padding: str = "same") -> keras.layers.Layer:
    return ConvNormActivation(filters, kernel_size, padding=padding, normalization=None, kernel_initializer="glorot_uniform", name=name)


def _gated(filters: int, transform_bias: float, name: str) -> keras.layers.Layer:
    return HighwayConv2D(filters, 3, transform_bias=transform_bias, name=name)
