"""Wide residual networks: for small images with pre-activation, for ImageNet with wide bottlenecks."""

from dataclasses import dataclass

import keras

from ...layers import BottleneckResidualBlock, ConvNormActivation, PreActivationResidualBlock
from .image_input import image_input
from .residual_stages import check_stages, first_pooling, head, kernel_arguments, places

_BASE_WIDTHS = (16, 32, 64)
_STRIDE = 4


@dataclass(frozen=True)
class WideResNetConfig:
    """A wide residual network for small images.

    Args:
        depth: layers with weights, 6 n + 4 for n blocks a group.
        widen_factor: k; the groups have 16 k, 32 k and 64 k channels.
        dropout: rate between the two convolutions of a block (0.3 in section 3.3 where it is used on CIFAR).
        stochastic_depth: drop rate of the last block; the rates rise to it linearly.
        weight_decay: factor of the L2 penalty on the kernels.
    """

    depth: int = 28
    widen_factor: int = 10
    dropout: float = 0.0
    stochastic_depth: float = 0.0
    weight_decay: float = 0.0


@dataclass(frozen=True)
class WideBottleneckConfig:
    """A wide residual network for ImageNet.

    Args:
        blocks_per_stage: number of blocks in conv2, conv3, conv4 and conv5.
        widen_factor: factor of the width of the 3 x 3 convolutions over ResNet's; the outputs of the blocks stay as they are.
        widths: a quarter of the output channels of the stages.
        dropout: rate before the output layer.
        stochastic_depth: drop rate of the last block; the rates rise to it linearly.
        zero_gamma: True to start every block as its shortcut (Goyal et al. 2017, section 5.1).
        weight_decay: factor of the L2 penalty on the kernels.
    """

    blocks_per_stage: tuple[int, ...] = (3, 4, 6, 3)
    widen_factor: int = 2
    widths: tuple[int, ...] = (64, 128, 256, 512)
    dropout: float = 0.0
    stochastic_depth: float = 0.0
    zero_gamma: bool = False
    weight_decay: float = 0.0


def wide_resnet(config: WideResNetConfig, *, input_shape: tuple[int | None, ...], num_classes: int) -> keras.Model:
    """Build the wide residual network WRN-depth-k for small images.

    Paper: Zagoruyko, Komodakis, Wide residual networks, 2016, section 2, table 1, figures 1c and 1d.
    https://arxiv.org/abs/1605.07146

    **Differs from the paper:** nothing. Blocks are B(3, 3), basic with pre-activation; where the channels grow, both paths start
    from the activated input and the shortcut is a bare 1 x 1 convolution, as in the authors' code.
    The paper prints 36.5 million parameters for WRN-28-10 and 8.9 for WRN-40-4; exact are 36,479,194 and 8,949,210.

    Shape walk (WRN-28-10):
        images (B, 32, 32, 3)
        conv1  (B, 32, 32, 16)
        conv2  (B, 32, 32, 160)
        conv3  (B, 16, 16, 320)
        conv4  (B, 8, 8, 640)
        pool   (B, 640)
        logits (B, num_classes)

    Features: conv1 (stride 1), conv2 (1), conv3 (2), conv4 (4). conv2 and conv3 are sums before any activation, conv4 is activated.

    Args:
        config: the sizes.
        input_shape: (height, width, channels), height and width at least 4, or None.
        num_classes: number of classes; 0 leaves out the output layer and returns the pooled features.

    Raises:
        ValueError: when the input is smaller than the strides, or a size of the config is out of range.
    """
    blocks, rest = divmod(config.depth - 4, 6)
    if blocks < 1 or rest:
        raise ValueError(f"depth must be 6 n + 4 with n of at least 1, such as 16, 22, 28, 40, got {config.depth}.")
    if config.widen_factor < 1:
        raise ValueError(f"widen_factor must be at least 1, got {config.widen_factor}.")
    kernel = kernel_arguments(config.weight_decay)
    images = image_input(input_shape, smallest=_STRIDE)
    bare = {"normalization": None, "activation": None, "use_bias": False}
    x = ConvNormActivation(_BASE_WIDTHS[0], 3, name="conv1", **kernel, **bare)(images)
    for place in places((blocks,) * len(_BASE_WIDTHS), config.stochastic_depth):
        changes = place.first and (place.stage > 0 or config.widen_factor > 1)
        x = PreActivationResidualBlock(
            _BASE_WIDTHS[place.stage] * config.widen_factor,
            strides=place.strides,
            shortcut="projection" if changes else "identity",
            padding="symmetric",
            dropout=config.dropout,
            stochastic_depth=place.stochastic_depth,
            **kernel,
            name=place.name,
        )(x)
    x = keras.layers.BatchNormalization(momentum=0.9, epsilon=1e-5, name="conv4_norm")(x)
    x = keras.layers.ReLU(name="conv4_relu")(x)
    return keras.Model(images, head(x, num_classes, kernel), name="wide_resnet")


def wide_resnet_bottleneck(config: WideBottleneckConfig, *, input_shape: tuple[int | None, ...], num_classes: int) -> keras.Model:
    """Build the wide residual network for ImageNet, WRN-50-2-bottleneck.

    Paper: Zagoruyko, Komodakis, Wide residual networks, 2016, section 3.4 and its table of ImageNet results.
    https://arxiv.org/abs/1605.07146

    **Differs from the paper:**
    1. `wide_resnet101_2` is not in the paper; it is the same widening of ResNet-101, as torchvision publishes it.
    2. The stride is on the 3 x 3 convolution; the paper does not say where it is.

    The paper prints 68.9 million parameters for WRN-50-2-bottleneck; exact are 68,883,240.

    Shape walk (WRN-50-2-bottleneck):
        images (B, 224, 224, 3)
        conv1  (B, 112, 112, 64)
        conv2  (B, 56, 56, 256)
        conv3  (B, 28, 28, 512)
        conv4  (B, 14, 14, 1024)
        conv5  (B, 7, 7, 2048)
        pool   (B, 2048)
        logits (B, num_classes)

    Features: conv1 (stride 2), conv2 (4), conv3 (8), conv4 (16), conv5 (32).

    Args:
        config: the sizes.
        input_shape: (height, width, channels), height and width at least 32, or None.
        num_classes: number of classes; 0 leaves out the output layer and returns the pooled features.

    Raises:
        ValueError: when the input is smaller than the strides, or a size of the config is out of range.
    """
    check_stages(config.blocks_per_stage, config.widths)
    kernel = kernel_arguments(config.weight_decay)
    images = image_input(input_shape, smallest=32)
    x = ConvNormActivation(config.widths[0], 7, strides=2, padding="symmetric", name="conv1", **kernel)(images)
    x = first_pooling()(x)
    for place in places(config.blocks_per_stage, config.stochastic_depth):
        x = BottleneckResidualBlock(
            config.widths[place.stage],
            strides=place.strides,
            shortcut="projection" if place.first else "identity",
            base_width=64 * config.widen_factor,
            stride_on="3x3",
            padding="symmetric",
            stochastic_depth=place.stochastic_depth,
            last_gamma_initializer="zeros" if config.zero_gamma else "ones",
            **kernel,
            name=place.name,
        )(x)
    return keras.Model(images, head(x, num_classes, kernel, config.dropout), name="wide_resnet_bottleneck")
