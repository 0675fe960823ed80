"""Network In Network, for small images."""

from dataclasses import dataclass

import keras

from ...layers import ClassMaps2D, MlpConv2D, SpatialPooling2D
from .image_input import image_input


@dataclass(frozen=True)
class NetworkInNetworkConfig:
    """Network In Network.

    Args:
        first: outputs of the convolution and the 1 x 1 convolutions of the first mlpconv layer.
        second: the same for the second.
        third: the same for the third, whose last step, the class maps, is the head.
        dropout: rate behind the first and the second mlpconv layer.
    """

    first: tuple[int, ...] = (192, 160, 96)
    second: tuple[int, ...] = (192, 192, 192)
    third: tuple[int, ...] = (192, 192)
    dropout: float = 0.5


def network_in_network(config: NetworkInNetworkConfig, *, input_shape: tuple[int | None, ...], num_classes: int) -> keras.Model:
    """Build the network for CIFAR-10: three mlpconv layers and global average pooling.

    Paper: Lin, Chen, Yan, Network In Network, 2014, sections 3 and 4.1, figure 2, equation 2.
    https://arxiv.org/abs/1312.4400

    **Differs from the paper:**
    1. Widths and kernel sizes are not printed; they are those of the authors' published settings for CIFAR-10.
    2. Starting weights are He's; the authors' settings draw all with a deviation of 0.05.

    Trainable parameters: 966,986 at ten classes. The paper prints no number.

    Shape walk:
        images   (B, 32, 32, 3)
        mlpconv1 (B, 32, 32, 96)     5 x 5 and two of 1 x 1; pool1 (B, 16, 16, 96)
        mlpconv2 (B, 16, 16, 192)    5 x 5 and two of 1 x 1; pool2 (B, 8, 8, 192)
        mlpconv3 (B, 8, 8, 192)      3 x 3 and one of 1 x 1
        logits   (B, num_classes)    the last 1 x 1 step with its ReLU, one map a class, averaged

    Features: mlpconv1 (stride 1), mlpconv2 (2), mlpconv3 (4).

    Args:
        config: the sizes.
        input_shape: (height, width, channels), height and width at least 4, also None.
        num_classes: number of classes; 0 leaves out the class maps and returns the average of mlpconv3.

    Raises:
        ValueError: when the input is too small.
    """
    images = image_input(input_shape, smallest=4)
    x = images
    for index, filters in ((1, config.first), (2, config.second)):
        x = MlpConv2D(filters, 5, name=f"mlpconv{index}")(x)
        # windows of 3 at a distance of 2, rounding up, halve the map
        x = SpatialPooling2D("max", 3, strides=2, ceil_mode=True, name=f"pool{index}")(x)
        x = keras.layers.Dropout(config.dropout, name=f"dropout{index}")(x)
    x = MlpConv2D(config.third, 3, name="mlpconv3")(x)
    if num_classes:
        x = ClassMaps2D(num_classes, name="logits")(x)
    else:
        x = keras.layers.GlobalAveragePooling2D(data_format="channels_last", name="pool")(x)
    return keras.Model(images, x, name="network_in_network")
