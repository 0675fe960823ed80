"""Aggregated residual transformations: ResNeXt-50 and ResNeXt-101."""

from dataclasses import dataclass

import keras

from ...layers import BottleneckResidualBlock, ConvNormActivation
from .image_input import image_input
from .residual_stages import check_stages, first_pooling, head, kernel_arguments, places


@dataclass(frozen=True)
class ResNeXtConfig:
    """A residual network of grouped bottlenecks.

    Args:
        blocks_per_stage: number of blocks in conv2, conv3, conv4 and conv5.
        cardinality: C, number of groups.
        bottleneck_width: d, channels of one group in conv2.
        widths: a quarter of the output channels of the stages.
        dropout: rate before the output layer.
        stochastic_depth: drop rate of the last block; the rates rise to it linearly.
        zero_gamma: True to start every block as its shortcut (Goyal et al. 2017, section 5.1).
        weight_decay: factor of the L2 penalty on the kernels.
    """

    blocks_per_stage: tuple[int, ...] = (3, 4, 6, 3)
    cardinality: int = 32
    bottleneck_width: int = 4
    widths: tuple[int, ...] = (64, 128, 256, 512)
    dropout: float = 0.0
    stochastic_depth: float = 0.0
    zero_gamma: bool = False
    weight_decay: float = 0.0


def resnext(config: ResNeXtConfig, *, input_shape: tuple[int | None, ...], num_classes: int) -> keras.Model:
    """Build a residual network of aggregated transformations, in the grouped form of figure 3c.

    Paper: Xie, Girshick, Dollár, Tu, He, Aggregated residual transformations for deep neural networks, 2016, table 1, figure 3c.
    https://arxiv.org/abs/1611.05431

    **Differs from the paper:**
    1. `resnext101_32x8d` is not in its tables: Mahajan et al. 2018, Exploring the limits of weakly supervised pretraining,
       https://arxiv.org/abs/1805.00932, is the source of that width. The paper's ResNeXt-101 (32 x 4d) is the override
       {"bottleneck_width": 4}, its 64 x 4d is {"cardinality": 64, "bottleneck_width": 4}.

    Shortcuts are projections where the shape changes, and the stride is on the 3 x 3 convolution, as section 4 says.
    Table 1 prints 25.0 million parameters and 4.2 billion multiply-adds for ResNeXt-50 (32 x 4d).

    Shape walk (ResNeXt-50):
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
            groups=config.cardinality,
            base_width=config.bottleneck_width,
            stride_on="3x3",
            padding="symmetric",
            stochastic_depth=place.stochastic_depth,
            last_gamma_initializer="zeros" if config.zero_gamma else "ones",
            **kernel,
            name=place.name,
        )(x)
    return keras.Model(images, head(x, num_classes, kernel, config.dropout), name="resnext")
