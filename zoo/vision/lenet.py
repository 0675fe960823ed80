"""LeNet-5, as printed in 1998 and as usually re-implemented."""

from dataclasses import dataclass
from typing import Literal

import keras

from ...layers import (
    LENET5_C3_TABLE,
    ConnectionTableConv2D,
    LeCunFanInUniform,
    RBFOutput,
    TrainableSubsampling2D,
    scaled_tanh,
)
from .lenet_codes import lenet_codes

_FIELD = 32


@dataclass(frozen=True)
class LeNet5Config:
    """LeNet-5 of 1998.

    Args:
        c3_table: for each map of C3, the maps of S2 that it sees (Table I).
        trainable_codes: True to train the RBF codes; the paper keeps them fixed.
    """

    c3_table: tuple[tuple[int, ...], ...] = LENET5_C3_TABLE
    trainable_codes: bool = False


@dataclass(frozen=True)
class LeNet5ModernConfig:
    """LeNet-5 as commonly re-implemented.

    Args:
        widths: maps of C1 and C3.
        units: of C5 and F6.
        activation: after each convolution and dense layer.
        normalization: "batch" puts batch normalisation between each of these layers and its activation; None for none.
        dropout: rate before the output layer.
    """

    widths: tuple[int, int] = (6, 16)
    units: tuple[int, int] = (120, 84)
    activation: str = "relu"
    normalization: Literal["batch"] | None = None
    dropout: float = 0.0


def lenet5(config: LeNet5Config, *, input_shape: tuple[int, ...], num_classes: int) -> keras.Model:
    """Build LeNet-5 as LeCun, Bottou, Bengio and Haffner printed it.

    Paper: Gradient-based learning applied to document recognition, 1998, section II.B, Fig. 2, Table I, equations 5 to 7.
    https://doi.org/10.1109/5.726791

    **Differs from the paper:**
    1. The RBF codes of the digits are drawn anew, since Fig. 3 is not legible to the pixel; codes beyond ten classes are random signs.
    2. The output is minus the RBF penalties, so that the largest logit is the best class; the loss of equation 9 is
       `training.losses.RBFMaximumAPosteriori`.
    3. The 36 missing connections of C3 are multiplied as zeros, so the counted multiply-adds are more than the paper's
       340,908 connections; they are no parameters and never change.

    Trainable parameters by layer, as printed: C1 156, S2 12, C3 1,516, S4 32, C5 48,120, F6 10,164: 60,000 in all.

    Shape walk:
        images (B, 32, 32, 1)
        c1     (B, 28, 28, 6)
        s2     (B, 14, 14, 6)
        c3     (B, 10, 10, 16)
        s4     (B, 5, 5, 16)
        c5     (B, 120)
        f6     (B, 84)
        logits (B, num_classes)

    Features: c1 (stride 1), s2 (2), c3 (2), s4 (4).

    Args:
        config: the sizes.
        input_shape: (32, 32, channels).
        num_classes: number of classes; 0 leaves out the RBF layer and returns f6.

    Raises:
        ValueError: when the field is not 32 x 32.
    """
    images = _images(input_shape)
    x = _paper_convolution(6, "c1")(images)
    x = _paper_subsampling("s2")(x)
    x = ConnectionTableConv2D(
        config.c3_table,
        kernel_size=5,
        activation=scaled_tanh,
        kernel_initializer=LeCunFanInUniform(),
        name="c3",
    )(x)
    x = _paper_subsampling("s4")(x)
    x = _paper_convolution(120, "c5")(x)
    x = keras.layers.Flatten(name="c5_units", data_format="channels_last")(x)
    x = keras.layers.Dense(84, activation=scaled_tanh, kernel_initializer=LeCunFanInUniform(), name="f6")(x)
    if num_classes:
        codes = lenet_codes(num_classes)
        x = RBFOutput(num_classes, codes=codes.tolist(), trainable_codes=config.trainable_codes, as_logits=True, name="logits")(x)
    return keras.Model(images, x, name="lenet5")


def lenet5_modern(config: LeNet5ModernConfig, *, input_shape: tuple[int, ...], num_classes: int) -> keras.Model:
    """Build LeNet-5 as textbooks and tutorials re-implement it.

    Paper: Gradient-based learning applied to document recognition, 1998, section II.B. https://doi.org/10.1109/5.726791

    **Differs from the paper:**
    1. C3 sees all maps of S2 (2,416 parameters instead of 1,516).
    2. Max pooling without parameters instead of trainable sub-sampling.
    3. ReLU instead of the scaled tanh.
    4. A dense output layer (850 parameters) for softmax and cross-entropy instead of fixed RBF units.
    5. On request other widths, and batch normalisation (Ioffe, Szegedy 2015, section 3.2, arXiv:1502.03167), for which the layers
       in front of it go without a bias.

    Trainable parameters: 156 + 2,416 + 48,120 + 10,164 + 850 = 61,706.

    Shape walk:
        images (B, 32, 32, 1)
        c1     (B, 28, 28, 6)
        s2     (B, 14, 14, 6)
        c3     (B, 10, 10, 16)
        s4     (B, 5, 5, 16)
        c5     (B, 120)
        f6     (B, 84)
        logits (B, num_classes)

    Features: c1 (stride 1), s2 (2), c3 (2), s4 (4).

    Args:
        config: the sizes.
        input_shape: (32, 32, channels).
        num_classes: number of classes; 0 leaves out the output layer and returns f6.

    Raises:
        ValueError: when the field is not 32 x 32.
    """
    images = _images(input_shape)
    x = images
    for filters, convolution, pooling in zip(config.widths, ("c1", "c3"), ("s2", "s4"), strict=True):
        x = _modern_convolution(x, filters, config, convolution)
        x = keras.layers.MaxPooling2D(2, data_format="channels_last", name=pooling)(x)
    x = keras.layers.Flatten(name="s4_units", data_format="channels_last")(x)
    for units, name in zip(config.units, ("c5", "f6"), strict=True):
        x = _modern_dense(x, units, config, name)
    if num_classes:
        if config.dropout:
            x = keras.layers.Dropout(config.dropout, name="dropout")(x)
        x = keras.layers.Dense(num_classes, name="logits")(x)
    return keras.Model(images, x, name="lenet5_modern")


def _modern_convolution(x, filters: int, config: LeNet5ModernConfig, name: str):
    if config.normalization is None:
        return keras.layers.Conv2D(filters, 5, activation=config.activation, data_format="channels_last", name=name)(x)
    sums = keras.layers.Conv2D(filters, 5, use_bias=False, data_format="channels_last", name=f"{name}_sums")(x)
    return _normalised(sums, config, name)


def _modern_dense(x, units: int, config: LeNet5ModernConfig, name: str):
    if config.normalization is None:
        return keras.layers.Dense(units, activation=config.activation, name=name)(x)
    sums = keras.layers.Dense(units, use_bias=False, name=f"{name}_sums")(x)
    return _normalised(sums, config, name)


def _normalised(x, config: LeNet5ModernConfig, name: str):
    x = keras.layers.BatchNormalization(momentum=0.9, epsilon=1e-5, name=f"{name}_norm")(x)
    return keras.layers.Activation(config.activation, name=name)(x)


def _images(input_shape: tuple[int, ...]):
    if len(input_shape) != 3 or tuple(input_shape[:2]) != (_FIELD, _FIELD) or not input_shape[2]:
        raise ValueError(
            f"input_shape must be ({_FIELD}, {_FIELD}, channels), because C5 sees the whole 5 x 5 map of S4, got {input_shape}"
        )
    return keras.Input(input_shape, name="images")


def _paper_convolution(filters: int, name: str) -> keras.layers.Layer:
    """A 5 x 5 convolution with the paper's squashing function and starting weights (section III.A)."""
    return keras.layers.Conv2D(
        filters, 5, activation=scaled_tanh, kernel_initializer=LeCunFanInUniform(), data_format="channels_last", name=name
    )


def _paper_subsampling(name: str) -> keras.layers.Layer:
    """2 x 2 sub-sampling: one coefficient and one bias a map; each unit has four inputs, hence the fan-in."""
    return TrainableSubsampling2D(2, activation=scaled_tanh, coefficient_initializer=LeCunFanInUniform(fan_in=4), name=name)
