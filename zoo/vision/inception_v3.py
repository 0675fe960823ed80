"""Inception v3, in the arithmetic of its authors and in that of torchvision."""

from collections.abc import Sequence
from dataclasses import dataclass
from string import ascii_lowercase
from typing import Any

import keras

from ...layers import ConvNormActivation, InceptionV3A, InceptionV3B, InceptionV3C, InceptionV3D, InceptionV3E, SpatialPooling2D
from .image_input import image_input

_SMALLEST = 75


@dataclass(frozen=True)
class InceptionV3Config:
    """Inception v3.

    Args:
        pool_filters: filters of the pooling branch in each module at 35 x 35.
        widths: filters inside the 7 x 7 branches of each module at 17 x 17.
        last_modules: number of modules at 8 x 8.
        dropout: rate before the output layer (the authors' code has 0.2, torchvision 0.5).
        momentum: share of the old moving statistics that batch normalisation keeps. The paper gives none; the authors' code has 0.9997,
            which needs tens of thousands of steps to forget the starting values, keras.applications 0.99, torchvision 0.9.
    """

    pool_filters: tuple[int, ...] = (32, 64, 64)
    widths: tuple[int, ...] = (128, 160, 160, 192)
    last_modules: int = 2
    dropout: float = 0.2
    momentum: float = 0.99

    def __post_init__(self):
        if self.last_modules < 1:
            raise ValueError(f"last_modules must be at least 1, got {self.last_modules}")


def inception_v3(config: InceptionV3Config, *, input_shape: tuple[int | None, ...], num_classes: int) -> keras.Model:
    """Build Inception v3 as its authors' code has it, which keras.applications follows.

    Paper: Szegedy, Vanhoucke, Ioffe, Shlens, Wojna, Rethinking the Inception architecture for computer vision, 2015, section 6 and table 1.
    https://arxiv.org/abs/1512.00567

    **Differs from the paper** where the authors' code does:
    1. Before the modules: a 1 x 1 convolution to 80 and a 3 x 3 to 192 with a pooling after them, where table 1 has three 3 x 3
       convolutions, the second at stride 2.
    2. Three, four and two modules keep the size and one each halves it, where table 1 counts three, five and two.
    3. The first kind of module keeps a 5 x 5 branch, where figure 5 factorises it.
    4. The side head with batch normalisation, which only training uses, is left out.

    Batch normalisation has no gamma (epsilon 1e-3); averages in the modules divide by the positions inside the map.
    Trainable parameters: 23,817,352; the paper says less than 25 million. Multiply-adds: 5.71 G; the paper says 5.

    Shape walk:
        images  (B, 299, 299, 3)
        conv1_a (B, 149, 149, 32)
        conv2_b (B, 147, 147, 64)
        conv4_a (B, 71, 71, 192)
        mixed5  (B, 35, 35, 288)
        mixed6  (B, 17, 17, 768)
        mixed7  (B, 8, 8, 2048)
        pool    (B, 2048)
        logits  (B, num_classes)

    Features: conv2 (stride 2), conv4 (4), mixed5 (8), mixed6 (16), mixed7 (32).

    Args:
        config: the sizes.
        input_shape: (height, width, channels), at least 75 x 75, also None.
        num_classes: number of classes; 0 leaves out the output layer and returns the pooled features.

    Raises:
        ValueError: for an input shape without three axes or under 75 x 75, or a size of the config that is out of range.
    """
    return _network(config, input_shape, num_classes, count_padding=False, gamma_initializer=None, name="inception_v3")


def inception_v3_torch(config: InceptionV3Config, *, input_shape: tuple[int | None, ...], num_classes: int) -> keras.Model:
    """Build Inception v3 in torchvision's arithmetic.

    Paper: Szegedy et al., Rethinking the Inception architecture for computer vision, 2015, section 6 and table 1.
    https://arxiv.org/abs/1512.00567

    **Differs from the paper:** as `inception_v3` does, and
    5. averages in the modules divide by nine at the border too;
    6. batch normalisation has a gamma, which makes 23,834,568 trainable parameters;
    7. dropout is 0.5.

    Shape walk and features: those of `inception_v3`.

    Args:
        config: the sizes.
        input_shape: (height, width, channels), at least 75 x 75, also None.
        num_classes: number of classes; 0 leaves out the output layer and returns the pooled features.

    Raises:
        ValueError: for an input shape without three axes or under 75 x 75, or a size of the config that is out of range.
    """
    return _network(config, input_shape, num_classes, count_padding=True, gamma_initializer="ones", name="inception_v3_torch")


def _network(
    config: InceptionV3Config, input_shape: tuple[int | None, ...], num_classes: int, *, count_padding: bool, gamma_initializer, name: str
) -> keras.Model:
    norm: dict[str, Any] = {"momentum": config.momentum, "epsilon": 1e-3, "gamma_initializer": gamma_initializer}
    average = {**norm, "count_padding": count_padding}
    images = image_input(input_shape, smallest=_SMALLEST)
    x = ConvNormActivation(32, 3, strides=2, padding="valid", name="conv1_a", **norm)(images)
    x = ConvNormActivation(32, 3, padding="valid", name="conv2_a", **norm)(x)
    x = ConvNormActivation(64, 3, name="conv2_b", **norm)(x)
    x = SpatialPooling2D("max", 3, strides=2, name="pool3_a")(x)
    x = ConvNormActivation(80, 1, name="conv3_b", **norm)(x)
    x = ConvNormActivation(192, 3, padding="valid", name="conv4_a", **norm)(x)
    x = SpatialPooling2D("max", 3, strides=2, name="pool5_a")(x)
    # the letters of the authors' endpoints: Mixed_5b to 5d, 6a to 6e, 7a to 7c
    for letter, filters in _lettered(config.pool_filters):
        x = InceptionV3A(filters, name=f"mixed5_{letter}", **average)(x)
    x = InceptionV3B(name="mixed6_a", **norm)(x)
    for letter, width in _lettered(config.widths):
        x = InceptionV3C(width, name=f"mixed6_{letter}", **average)(x)
    x = InceptionV3D(name="mixed7_a", **norm)(x)
    for letter, _ in _lettered(range(config.last_modules)):
        x = InceptionV3E(name=f"mixed7_{letter}", **average)(x)
    x = keras.layers.GlobalAveragePooling2D(data_format="channels_last", name="pool")(x)
    if num_classes:
        x = keras.layers.Dropout(config.dropout, name="dropout")(x)
        x = keras.layers.Dense(num_classes, name="logits")(x)
    return keras.Model(images, x, name=name)


def _lettered(items: Sequence) -> list[tuple[str, int]]:
    if not 0 < len(items) < len(ascii_lowercase):
        raise ValueError(f"a stage must have 1 to {len(ascii_lowercase) - 1} modules, got {len(items)}")
    return list(zip(ascii_lowercase[1:], items, strict=False))
