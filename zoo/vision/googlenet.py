"""GoogLeNet: as printed in 2014, with its two auxiliary classifiers, and the batch-norm form in common use."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from string import ascii_lowercase
from typing import Any

import keras

from ...layers import AuxiliaryHead, ConvNormActivation, InceptionModule, LocalResponseNormalization, SpatialPooling2D
from .image_input import image_input

Row = tuple[int, int, int, int, int, int]
# Table 1, columns #1x1, #3x3 reduce, #3x3, #5x5 reduce, #5x5, pool proj, for 3a to 3b, 4a to 4e, 5a to 5b
_TABLE_1: tuple[tuple[Row, ...], ...] = (
    ((64, 96, 128, 16, 32, 32), (128, 128, 192, 32, 96, 64)),
    (
        (192, 96, 208, 16, 48, 64),
        (160, 112, 224, 24, 64, 64),
        (128, 128, 256, 24, 64, 64),
        (112, 144, 288, 32, 64, 64),
        (256, 160, 320, 32, 128, 128),
    ),
    ((256, 160, 320, 32, 128, 128), (384, 192, 384, 48, 128, 128)),
)


@dataclass(frozen=True)
class GoogLeNetConfig:
    """GoogLeNet with one output.

    Args:
        stem: filters of the 7 x 7, the reducing 1 x 1 and the 3 x 3 convolution before the modules.
        modules: for stages 3, 4 and 5, a row for each module: filters of the 1 x 1, 3 x 3 reduction, 3 x 3, 5 x 5 reduction,
            5 x 5 and pooling branch.
        dropout: rate before the output layer.
    """

    stem: tuple[int, int, int] = (64, 64, 192)
    modules: tuple[tuple[Row, ...], ...] = _TABLE_1
    dropout: float = 0.4

    def __post_init__(self):
        _check_modules(self.modules)


@dataclass(frozen=True)
class GoogLeNetAuxiliaryConfig:
    """GoogLeNet with two auxiliary classifiers.

    Args:
        stem, modules, dropout: as in `GoogLeNetConfig`.
        auxiliary_filters: of the 1 x 1 convolution in each auxiliary classifier.
        auxiliary_units: of its hidden layer.
        auxiliary_dropout: rate before its output.
    """

    stem: tuple[int, int, int] = (64, 64, 192)
    modules: tuple[tuple[Row, ...], ...] = _TABLE_1
    dropout: float = 0.4
    auxiliary_filters: int = 128
    auxiliary_units: int = 1024
    auxiliary_dropout: float = 0.7

    def __post_init__(self):
        _check_modules(self.modules)


def googlenet(config: GoogLeNetConfig, *, input_shape: tuple[int | None, ...], num_classes: int) -> keras.Model:
    """Build GoogLeNet with 5 x 5 branches, response normalisation and one output.

    Paper: Szegedy, Liu, Jia, Sermanet, Reed, Anguelov, Erhan, Vanhoucke, Rabinovich, Going deeper with convolutions, 2014, section 5,
    table 1, figure 3. https://arxiv.org/abs/1409.4842

    **Differs from the paper:**
    1. The auxiliary classifiers are left out, as the paper does at inference; `googlenet_auxiliary` has them.
    2. Figure 3 gives the response normalisations no constants; they are those of AlexNet (n = 5, alpha = 1e-4, beta = 0.75, k = 2).
    3. The paper names no starting weights; kernels start as He et al. have it.

    Trainable parameters: 6,998,552. Table 1 prints them by row in units of 1,024, and the architecture agrees within 2 %, but for three
    rows: the first convolution has 9,472 (printed: 2.7 K), 4c has 498 K (463 K) and 5a 1019 K (1072 K). The multiply-adds of table 1
    add up to 1.50 G, those of the architecture to 1.58 G.

    Shape walk:
        images     (B, 224, 224, 3)
        conv1      (B, 112, 112, 64)
        pool1      (B, 56, 56, 64)
        conv2      (B, 56, 56, 192)
        pool2      (B, 28, 28, 192)
        inception3 (B, 28, 28, 480)
        inception4 (B, 14, 14, 832)
        inception5 (B, 7, 7, 1024)
        pool5      (B, 1024)
        logits     (B, num_classes)

    Features: conv1 (stride 2), conv2 (4), inception3 (8), inception4 (16), inception5 (32).

    Args:
        config: the sizes.
        input_shape: (height, width, channels), any height and width, also None.
        num_classes: number of classes; 0 leaves out the output layer and returns the pooled features.

    Raises:
        ValueError: for an input shape without three axes, or a size of the config that is out of range.
    """
    images = image_input(input_shape)
    stages = _plain_stages(config.stem, config.modules, images)
    return keras.Model(images, _head(stages[5][-1], config.dropout, num_classes), name="googlenet")


def googlenet_auxiliary(config: GoogLeNetAuxiliaryConfig, *, input_shape: tuple[int | None, ...], num_classes: int) -> keras.Model:
    """Build GoogLeNet with its two auxiliary classifiers as further outputs, as it is trained.

    Paper: Szegedy et al., Going deeper with convolutions, 2014, section 5 (the auxiliary classifiers), figure 3.
    https://arxiv.org/abs/1409.4842

    The model returns a dict with `logits`, `auxiliary1` (on the output of 4a) and `auxiliary2` (on that of 4d, the last but
    one of its stage). The losses of the auxiliary outputs
    join the main one with a weight of 0.3. Everything else is `googlenet`, weight for weight.

    **Differs from the paper:** points 2 and 3 of `googlenet`.

    Shape walk:
        images      (B, 224, 224, 3)
        ...         as in `googlenet`
        inception4_a (B, 14, 14, 512), then auxiliary1 (B, num_classes)
        inception4_d (B, 14, 14, 528), then auxiliary2 (B, num_classes)
        logits      (B, num_classes)

    Features: conv1 (stride 2), conv2 (4), inception3 (8), inception4 (16), inception5 (32).

    Args:
        config: the sizes.
        input_shape: (height, width, channels), at least 65 x 65, since the auxiliary classifiers average over 5 x 5 at stride 16.
        num_classes: number of classes; 0 leaves out all three output layers and returns the pooled features.

    Raises:
        ValueError: for an unknown or smaller height or width, or a size of the config that is out of range.
    """
    if len(config.modules[1]) < 2:
        raise ValueError(f"modules must have two rows at least for stage 4, which bears two auxiliary classifiers, got {config.modules[1]}")
    if len(input_shape) == 3 and any(size is None or size < 65 for size in input_shape[:2]):
        raise ValueError(f"input_shape must name a height and width of at least 65 for the auxiliary classifiers, got {input_shape}")
    images = image_input(input_shape)
    stages = _plain_stages(config.stem, config.modules, images)
    outputs = _head(stages[5][-1], config.dropout, num_classes)
    if num_classes:
        outputs = {"logits": outputs}
        for name, module in (("auxiliary1", 0), ("auxiliary2", -2)):  # 4a and 4d
            outputs[name] = AuxiliaryHead(
                num_classes,
                filters=config.auxiliary_filters,
                hidden_units=config.auxiliary_units,
                dropout=config.auxiliary_dropout,
                name=name,
            )(stages[4][module])
    return keras.Model(images, outputs, name="googlenet_auxiliary")


def googlenet_bn(config: GoogLeNetConfig, *, input_shape: tuple[int | None, ...], num_classes: int) -> keras.Model:
    """Build the form of GoogLeNet that torchvision distributes: batch normalisation, and 3 x 3 in place of 5 x 5.

    Paper: Szegedy et al., Going deeper with convolutions, 2014, table 1. https://arxiv.org/abs/1409.4842

    **Differs from the paper:**
    1. Batch normalisation (epsilon 1e-3) after every convolution, which then has no bias; no response normalisation.
    2. The 5 x 5 branches have 3 x 3 kernels.
    3. Convolutions pad both sides alike, poolings between stages round up; the last of them is 2 x 2.
    4. Dropout is 0.2 instead of 0.4.
    5. No auxiliary classifiers.

    Shape walk: that of `googlenet`.

    Features: conv1 (stride 2), conv2 (4), inception3 (8), inception4 (16), inception5 (32).

    Args:
        config: the sizes.
        input_shape: (height, width, channels), any height and width, also None.
        num_classes: number of classes; 0 leaves out the output layer and returns the pooled features.

    Raises:
        ValueError: for an input shape without three axes, or a size of the config that is out of range.
    """
    images = image_input(input_shape)
    wide, reduced, narrow = config.stem
    norm: dict[str, Any] = {"momentum": 0.9, "epsilon": 1e-3}
    x = ConvNormActivation(wide, 7, strides=2, padding="symmetric", name="conv1", **norm)(images)
    x = SpatialPooling2D("max", 3, strides=2, ceil_mode=True, name="pool1")(x)
    x = ConvNormActivation(reduced, 1, name="conv2_reduce", **norm)(x)
    x = ConvNormActivation(narrow, 3, name="conv2", **norm)(x)
    x = SpatialPooling2D("max", 3, strides=2, ceil_mode=True, name="pool2")(x)

    def module(filters, name):
        return InceptionModule(filters, large_kernel_size=3, normalization="batch", name=name, **norm)

    def pool(name):
        return SpatialPooling2D("max", 2 if name == "pool4" else 3, strides=2, ceil_mode=True, name=name)

    stages = _stages(config.modules, x, module, pool)
    return keras.Model(images, _head(stages[5][-1], config.dropout, num_classes), name="googlenet_bn")


def _check_modules(modules: Sequence) -> None:
    if len(modules) != 3 or not all(modules):
        raise ValueError(f"modules must have one row at least for each of the stages 3, 4 and 5, got {modules}")


def _plain_stages(stem: tuple[int, int, int], modules: Sequence, images) -> dict[int, list]:
    """Figure 3 up to the last module; returns the outputs of the modules by stage."""
    wide, reduced, narrow = stem
    x = ConvNormActivation(wide, 7, strides=2, normalization=None, name="conv1")(images)
    x = SpatialPooling2D("max", 3, strides=2, padding="same", name="pool1")(x)
    x = LocalResponseNormalization(name="norm1")(x)
    x = ConvNormActivation(reduced, 1, normalization=None, name="conv2_reduce")(x)
    x = ConvNormActivation(narrow, 3, normalization=None, name="conv2")(x)
    x = LocalResponseNormalization(name="norm2")(x)
    x = SpatialPooling2D("max", 3, strides=2, padding="same", name="pool2")(x)
    return _stages(
        modules,
        x,
        lambda filters, name: InceptionModule(filters, name=name),
        lambda name: SpatialPooling2D("max", 3, strides=2, padding="same", name=name),
    )


def _stages(modules: Sequence, x, module: Callable, pool: Callable) -> dict[int, list]:
    """Stages 3 to 5 with a pooling between each two; returns the outputs of the modules by stage."""
    stages = {}
    for stage, rows in enumerate(modules, start=3):
        if stage > 3:
            x = pool(f"pool{stage - 1}")(x)
        stages[stage] = []
        for letter, filters in zip(ascii_lowercase, rows, strict=False):
            x = module(filters, f"inception{stage}_{letter}")(x)
            stages[stage].append(x)
    return stages


def _head(x, dropout: float, num_classes: int):
    x = keras.layers.GlobalAveragePooling2D(data_format="channels_last", name="pool5")(x)
    if num_classes:
        x = keras.layers.Dropout(dropout, name="dropout")(x)
        x = keras.layers.Dense(num_classes, name="logits")(x)
    return x
