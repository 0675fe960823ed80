"""DenseNet, for ImageNet and for small images."""

from dataclasses import dataclass

import keras

from ...layers import ConvNormActivation, DenseBlock, SpatialPooling2D, TransitionBlock
from .image_input import image_input


@dataclass(frozen=True)
class DenseNetConfig:
    """A DenseNet-BC for ImageNet.

    Args:
        block_layers: layers of each dense block.
        growth_rate: k, maps that each layer adds; the first convolution makes 2 k.
        compression: theta, the share of the maps that a transition keeps.
        dropout: rate after each convolution but the first.
    """

    block_layers: tuple[int, ...] = (6, 12, 24, 16)
    growth_rate: int = 32
    compression: float = 0.5
    dropout: float = 0.0

    def __post_init__(self):
        _check_compression(self.compression)


@dataclass(frozen=True)
class DenseNetCifarConfig:
    """A DenseNet for small images.

    Args:
        block_layers: layers of each of the dense blocks.
        growth_rate: k, maps that each layer adds.
        stem_filters: maps of the first convolution: 16, or 2 k in DenseNet-BC.
        bottleneck_ratio: maps of the 1 x 1 convolution in each layer over k; None for no bottleneck.
        compression: theta, the share of the maps that a transition keeps.
        dropout: rate after each convolution but the first; 0.2 in the paper where the data are not augmented.
    """

    block_layers: tuple[int, ...] = (12, 12, 12)
    growth_rate: int = 12
    stem_filters: int = 16
    bottleneck_ratio: int | None = None
    compression: float = 1.0
    dropout: float = 0.0

    def __post_init__(self):
        _check_compression(self.compression)


def densenet(config: DenseNetConfig, *, input_shape: tuple[int | None, ...], num_classes: int) -> keras.Model:
    """Build a DenseNet-BC for ImageNet.

    Paper: Huang, Liu, van der Maaten, Weinberger, Densely connected convolutional networks, 2016, section 3 and table 1.
    https://arxiv.org/abs/1608.06993

    **Differs from the paper:** nothing. As in the authors' code the first convolution and pooling pad both sides alike, the first
    convolution is followed by batch normalisation and ReLU, the last dense block too, and batch normalisation has epsilon 1e-5.

    Shape walk (DenseNet-121):
        images       (B, 224, 224, 3)
        conv1        (B, 112, 112, 64)
        pool1        (B, 56, 56, 64)
        dense_block1 (B, 56, 56, 256)
        dense_block2 (B, 28, 28, 512)
        dense_block3 (B, 14, 14, 1024)
        final        (B, 7, 7, 1024)
        pool         (B, 1024)
        logits       (B, num_classes)

    Features: conv1 (stride 2), dense_block1 (4), dense_block2 (8), dense_block3 (16), final (32: the last dense block after batch
    normalisation and ReLU).

    Args:
        config: the sizes.
        input_shape: (height, width, channels), at least 29 x 29 for four blocks, also None.
        num_classes: number of classes; 0 leaves out the output layer and returns the pooled features.

    Raises:
        ValueError: for an input shape without three axes or too small for the strides, or a size of the config that is out of range.
    """
    # two strides of 2 that round up, then one that rounds down for each transition
    images = image_input(input_shape, smallest=4 * (2 ** (len(config.block_layers) - 1) - 1) + 1)
    x = ConvNormActivation(2 * config.growth_rate, 7, strides=2, padding="symmetric", name="conv1")(images)
    x = SpatialPooling2D("max", 3, strides=2, padding="symmetric", name="pool1")(x)
    x = _dense_blocks(x, config, bottleneck_ratio=4)
    return keras.Model(images, _head(x, num_classes), name="densenet")


def densenet_cifar(config: DenseNetCifarConfig, *, input_shape: tuple[int | None, ...], num_classes: int) -> keras.Model:
    """Build a DenseNet of depth L for small images: (L - 4) / 3 layers a block, half as many with bottlenecks.

    Paper: Huang, Liu, van der Maaten, Weinberger, Densely connected convolutional networks, 2016, section 3 (implementation details) and
    table 2. https://arxiv.org/abs/1608.06993

    **Differs from the paper:** nothing. Batch normalisation has epsilon 1e-5, as in the authors' code.

    Shape walk (L = 40, k = 12):
        images       (B, 32, 32, 3)
        conv1        (B, 32, 32, 16)
        dense_block1 (B, 32, 32, 160)
        dense_block2 (B, 16, 16, 304)
        final        (B, 8, 8, 448)
        pool         (B, 448)
        logits       (B, num_classes)

    Features: dense_block1 (stride 1), dense_block2 (2), final (4: the last dense block after batch normalisation and ReLU).

    Args:
        config: the sizes.
        input_shape: (height, width, channels), at least 4 x 4 for three blocks, also None.
        num_classes: number of classes; 0 leaves out the output layer and returns the pooled features.

    Raises:
        ValueError: for an input shape without three axes or too small for the strides, or a size of the config that is out of range.
    """
    images = image_input(input_shape, smallest=2 ** (len(config.block_layers) - 1))
    x = keras.layers.Conv2D(
        config.stem_filters,
        3,
        padding="same",
        use_bias=False,
        kernel_initializer="he_normal",
        data_format="channels_last",
        name="conv1",
    )(images)
    x = _dense_blocks(x, config, bottleneck_ratio=config.bottleneck_ratio)
    return keras.Model(images, _head(x, num_classes), name="densenet_cifar")


def _check_compression(compression: float) -> None:
    if not 0.0 < compression <= 1.0:
        raise ValueError(f"compression must be above 0 and at most 1, got {compression}")


def _dense_blocks(x, config: DenseNetConfig | DenseNetCifarConfig, bottleneck_ratio: int | None):
    """Dense blocks with a transition between each two, then batch normalisation and ReLU."""
    for block, layers in enumerate(config.block_layers, start=1):
        x = DenseBlock(layers, config.growth_rate, bottleneck_ratio, config.dropout, name=f"dense_block{block}")(x)
        if block < len(config.block_layers):
            filters = int(x.shape[-1] * config.compression)
            x = TransitionBlock(filters, dropout=config.dropout, name=f"transition{block}")(x)
    x = keras.layers.BatchNormalization(momentum=0.9, epsilon=1e-5, name="final_norm")(x)
    return keras.layers.Activation("relu", name="final_relu")(x)


def _head(x, num_classes: int):
    x = keras.layers.GlobalAveragePooling2D(data_format="channels_last", name="pool")(x)
    if num_classes:
        x = keras.layers.Dense(num_classes, kernel_initializer="he_normal", name="logits")(x)
    return x
