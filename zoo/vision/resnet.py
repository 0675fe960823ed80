"""The residual networks for ImageNet: ResNet-18 to ResNet-152, and the bottleneck networks with the stride on the 3 x 3."""

from dataclasses import dataclass
from typing import Any, Literal

import keras

from ...layers import BottleneckResidualBlock, ConvNormActivation, ResidualBlock
from .image_input import image_input
from .residual_stages import Place, check_stages, first_pooling, head, kernel_arguments, places


@dataclass(frozen=True)
class ResNetConfig:
    """A residual network for ImageNet.

    Args:
        blocks_per_stage: number of blocks in conv2, conv3, conv4 and conv5.
        block: "basic" (two 3 x 3 convolutions) or "bottleneck" (1 x 1, 3 x 3, 1 x 1).
        stride_on: convolution of a bottleneck that has the stride: "1x1" as in the paper, "3x3" in the form called v1.5.
        shortcut_option: the paper's A (zero padding where the shape changes), B (projection there) or C (projection everywhere).
        widths: filters of the stages (of a bottleneck's 3 x 3 convolution).
        dropout: rate before the output layer.
        stochastic_depth: drop rate of the last block; the rates rise to it linearly.
        zero_gamma: True to start every block as its shortcut (Goyal et al. 2017, section 5.1).
        weight_decay: factor of the L2 penalty on the kernels.
    """

    blocks_per_stage: tuple[int, ...] = (3, 4, 6, 3)
    block: Literal["basic", "bottleneck"] = "bottleneck"
    stride_on: Literal["1x1", "3x3"] = "1x1"
    shortcut_option: Literal["A", "B", "C"] = "B"
    widths: tuple[int, ...] = (64, 128, 256, 512)
    dropout: float = 0.0
    stochastic_depth: float = 0.0
    zero_gamma: bool = False
    weight_decay: float = 0.0


def resnet(config: ResNetConfig, *, input_shape: tuple[int | None, ...], num_classes: int) -> keras.Model:
    """Build a residual network of table 1.

    Paper: He, Zhang, Ren, Sun, Deep residual learning for image recognition, 2015, sections 3.3 and 4.1, table 1.
    https://arxiv.org/abs/1512.03385

    **Differs from the paper:**
    1. ResNet-18 and -34 have projection shortcuts where the shape changes (option B of table 3), as their published weights do;
       table 2 is measured with option A, which is the override {"shortcut_option": "A"}.
    2. The variants `_v1_5` have the stride on the 3 x 3 convolution of a bottleneck, a later form with equal parameters and other
       arithmetic: ResNet-50 has 4.089 instead of 3.858 billion multiply-adds.
    3. Strided windows are padded on both sides alike; the paper does not print its padding.

    Table 1 prints 1.8, 3.6, 3.8, 7.6 and 11.3 billion multiply-adds for 18, 34, 50, 101 and 152 layers; 3.6 is
    ResNet-34 with option A (3.664 with option B).
    Trainable parameters of ResNet-50 are 25,557,032. The 25,636,712 that are often quoted add 53,120 moving statistics and the
    26,560 biases that keras.applications puts on convolutions before a batch normalisation.

    Shape walk (ResNet-50; a basic block keeps 64, 128, 256, 512 channels):
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
        x = _block(config, place, kernel)(x)
    return keras.Model(images, head(x, num_classes, kernel, config.dropout), name="resnet")


def _block(config: ResNetConfig, place: Place, kernel: dict[str, Any]) -> keras.layers.Layer:
    # conv2 of the basic networks has the channels of conv1 already
    changes = place.first and (place.stage > 0 or config.block == "bottleneck")
    arguments = {
        "filters": config.widths[place.stage],
        "strides": place.strides,
        "shortcut": _shortcut(config.shortcut_option, changes),
        "padding": "symmetric",
        "stochastic_depth": place.stochastic_depth,
        "last_gamma_initializer": "zeros" if config.zero_gamma else "ones",
        "name": place.name,
        **kernel,
    }
    if config.block == "basic":
        return ResidualBlock(**arguments)
    return BottleneckResidualBlock(stride_on=config.stride_on, **arguments)


def _shortcut(option: str, changes: bool) -> str:
    if option == "C":
        return "projection"
    if not changes:
        return "identity"
    return "projection" if option == "B" else "zero_padding"
