"""The residual networks for small images: ResNet-20 and its deeper sisters."""

from dataclasses import dataclass

import keras

from ...layers import ConvNormActivation, ResidualBlock
from .image_input import image_input
from .residual_stages import head, kernel_arguments

_STRIDE = 4


@dataclass(frozen=True)
class ResNetCifarConfig:
    """A residual network for small images.

    Args:
        blocks_per_stage: n; the network has 6 n + 2 layers with weights.
        widths: filters of the three stages.
        stochastic_depth: drop rate of the last block; the rates rise to it linearly.
        weight_decay: factor of the L2 penalty on the kernels.
    """

    blocks_per_stage: int = 3
    widths: tuple[int, ...] = (16, 32, 64)
    stochastic_depth: float = 0.0
    weight_decay: float = 0.0


def resnet_cifar(config: ResNetCifarConfig, *, input_shape: tuple[int, ...], num_classes: int) -> keras.Model:
    """Build the residual network of section 4.2, with 6 n + 2 layers.

    Paper: He, Zhang, Ren, Sun, Deep residual learning for image recognition, 2015, section 4.2 and table 6.
    https://arxiv.org/abs/1512.03385

    **Differs from the paper:** nothing. Shortcuts are of option A (zero padding, no parameters), as section 4.2 says.
    The paper prints 0.27, 0.46, 0.66, 0.85 and 1.7 million parameters for n = 3, 5, 7, 9 and 18; exact for three channels and
    ten classes are 269,722, 464,154, 658,586, 853,018 and 1,727,962.

    Shape walk:
        images (B, 32, 32, 3)
        conv1  (B, 32, 32, 16)
        stage1 (B, 32, 32, 16)
        stage2 (B, 16, 16, 32)
        stage3 (B, 8, 8, 64)
        pool   (B, 64)
        logits (B, num_classes)

    Features: stage1 (stride 1), stage2 (2), stage3 (4).

    Args:
        config: the sizes.
        input_shape: (height, width, channels), height and width at least 4, or None.
        num_classes: number of classes; 0 leaves out the output layer and returns the pooled features.

    Raises:
        ValueError: when the input is smaller than the strides, or a size of the config is out of range.
    """
    if config.blocks_per_stage < 1:
        raise ValueError(f"blocks_per_stage must be at least 1, got {config.blocks_per_stage}")
    kernel = kernel_arguments(config.weight_decay)
    total = len(config.widths) * config.blocks_per_stage
    images = image_input(input_shape, smallest=_STRIDE)
    x = ConvNormActivation(config.widths[0], 3, name="conv1", **kernel)(images)
    for stage, filters in enumerate(config.widths, start=1):
        for block in range(1, config.blocks_per_stage + 1):
            narrows = stage > 1 and block == 1
            depth = (stage - 1) * config.blocks_per_stage + block
            x = ResidualBlock(
                filters,
                strides=2 if narrows else 1,
                shortcut="zero_padding" if narrows else "identity",
                stochastic_depth=config.stochastic_depth * depth / total,
                **kernel,
                name=f"stage{stage}_block{block}",
            )(x)
    return keras.Model(images, head(x, num_classes, kernel), name="resnet_cifar")
