"""The residual networks with identity mappings: pre-activation ResNet-50, -101 and -152, and their form in keras.applications."""

from dataclasses import dataclass

import keras

from ...layers import ConvNormActivation, PreActivationBottleneckBlock, SymmetricPadding2D
from .image_input import image_input
from .residual_stages import check_stages, first_pooling, head, kernel_arguments, places


@dataclass(frozen=True)
class ResNetV2Config:
    """A residual network with full pre-activation.

    Args:
        blocks_per_stage: number of blocks in conv2, conv3, conv4 and conv5.
        widths: filters of the 3 x 3 convolutions by stage.
        dropout: rate before the output layer.
        stochastic_depth: drop rate of the last block; the rates rise to it linearly.
        weight_decay: factor of the L2 penalty on the kernels.
    """

    blocks_per_stage: tuple[int, ...] = (3, 4, 6, 3)
    widths: tuple[int, ...] = (64, 128, 256, 512)
    dropout: float = 0.0
    stochastic_depth: float = 0.0
    weight_decay: float = 0.0


def resnet_v2(config: ResNetV2Config, *, input_shape: tuple[int | None, ...], num_classes: int) -> keras.Model:
    """Build a residual network whose shortcuts are identity mappings.

    Paper: He, Zhang, Ren, Sun, Identity mappings in deep residual networks, 2016, figure 4e, section 5, table 5 and the appendix.
    https://arxiv.org/abs/1603.05027

    **Differs from the paper:**
    1. Table 5 has the depths 152 and 200; 50 and 101 have the blocks of the 2015 paper. ResNet-200 is the override
       {"blocks_per_stage": [3, 24, 36, 3]}.
    2. Strided windows are padded on both sides alike; the paper does not print its padding.

    As the appendix says, the first activation stands right after conv1, before the first block splits into two paths, and one
    more follows the last sum. Where the channels grow, both paths start from the activated input and the shortcut is a bare
    convolution. The stride is on the first 1 x 1 convolution, as in the 2015 paper and the authors' code for CIFAR.

    Shape walk (ResNet-50):
        images (B, 224, 224, 3)
        conv1  (B, 112, 112, 64)
        conv2  (B, 56, 56, 256)
        conv3  (B, 28, 28, 512)
        conv4  (B, 14, 14, 1024)
        conv5  (B, 7, 7, 2048)
        pool   (B, 2048)
        logits (B, num_classes)

    Features: conv1 (stride 2), conv2 (4), conv3 (8), conv4 (16), conv5 (32). conv2 to conv4 are sums before any activation,
    conv5 is the last one, activated.

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
        x = PreActivationBottleneckBlock(
            config.widths[place.stage],
            strides=place.strides,
            shortcut="projection" if place.first else "identity",
            padding="symmetric",
            stochastic_depth=place.stochastic_depth,
            **kernel,
            activate_input=not (place.first and place.stage == 0),
            name=place.name,
        )(x)
    return keras.Model(images, head(_last_activation(x), num_classes, kernel, config.dropout), name="resnet_v2")


def resnet_v2_keras(config: ResNetV2Config, *, input_shape: tuple[int | None, ...], num_classes: int) -> keras.Model:
    """Build the pre-activation network that keras.applications calls ResNet50V2 and so on, for its published weights.

    Paper: He, Zhang, Ren, Sun, Identity mappings in deep residual networks, 2016, figure 4e. https://arxiv.org/abs/1603.05027

    **Differs from the paper:**
    1. The stride is in the last block of conv2, conv3 and conv4, on its 3 x 3 convolution; its shortcut takes every second
       pixel. The paper strides in the first block of conv3, conv4 and conv5.
    2. conv1 has a bias and no normalisation: the first activation stands behind the max pooling, which pads with zeros.
    3. The last convolution of a block and the projection have biases.

    Trainable parameters of ResNet-50: 25,568,360.

    Shape walk (ResNet-50):
        images (B, 224, 224, 3)
        conv1  (B, 112, 112, 64)
        conv2  (B, 28, 28, 256)
        conv3  (B, 14, 14, 512)
        conv4  (B, 7, 7, 1024)
        conv5  (B, 7, 7, 2048)
        pool   (B, 2048)
        logits (B, num_classes)

    Features: conv1 (stride 2), conv2 (8), conv3 (16), conv4 (32), conv5 (32); each stage ends at the stride of the next.

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
    bare = {"normalization": None, "activation": None, **kernel}
    x = ConvNormActivation(config.widths[0], 7, strides=2, padding="symmetric", name="conv1", **bare)(images)
    # zeros, not minus infinity: the map is not activated yet, so the border can win
    x = SymmetricPadding2D(3, name="conv2_pad")(x)
    x = keras.layers.MaxPooling2D(3, strides=2, data_format="channels_last", name="conv2_pool")(x)
    for place in places(config.blocks_per_stage, config.stochastic_depth):
        narrows = place.last and place.stage < len(config.widths) - 1
        between = "zero_padding" if narrows else "identity"
        x = PreActivationBottleneckBlock(
            config.widths[place.stage],
            strides=2 if narrows else 1,
            shortcut="projection" if place.first else between,
            stride_on="3x3",
            padding="symmetric",
            stochastic_depth=place.stochastic_depth,
            **kernel,
            use_bias=True,
            name=place.name,
        )(x)
    return keras.Model(images, head(_last_activation(x), num_classes, kernel, config.dropout), name="resnet_v2_keras")


def _last_activation(x):
    x = keras.layers.BatchNormalization(momentum=0.9, epsilon=1e-5, name="conv5_norm")(x)
    return keras.layers.ReLU(name="conv5_relu")(x)
