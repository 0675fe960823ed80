"""SqueezeNet: AlexNet's accuracy with fifty times fewer parameters."""

from dataclasses import dataclass

import keras

from ...layers import ClassMaps2D, FireModule, SpatialPooling2D
from .image_input import image_input


@dataclass(frozen=True)
class SqueezeNetConfig:
    """A SqueezeNet.

    Args:
        stem_filters: kernels of conv1.
        stem_kernel_size: size of conv1's kernels, whose stride is 2.
        squeeze_filters: s_1x1 of fire2 to fire9; each expands to four times as many maps of 1 x 1 and of 3 x 3.
        pooled: layers behind which the map is pooled: 1 for conv1, 2 to 9 for the fire modules.
        bypassed: fire modules whose input is added to their output, the simple bypass; these keep the number of maps.
        dropout: rate behind fire9.
        kernel_initializer: name of the starting weights of all layers but the last, such as "he_normal", from which small pictures are
            learned sooner.
    """

    stem_filters: int = 96
    stem_kernel_size: int = 7
    squeeze_filters: tuple[int, ...] = (16, 16, 32, 32, 48, 48, 64, 64)
    pooled: tuple[int, ...] = (1, 4, 8)
    bypassed: tuple[int, ...] = ()
    dropout: float = 0.5
    kernel_initializer: str = "glorot_uniform"


def squeezenet(config: SqueezeNetConfig, *, input_shape: tuple[int | None, ...], num_classes: int) -> keras.Model:
    """Build a SqueezeNet: a convolution, eight fire modules, and averaged class maps in place of dense layers.

    Paper: Iandola, Han, Moskewicz, Ashraf, Dally, Keutzer, SqueezeNet: AlexNet-level accuracy with 50x fewer parameters and
    < 0.5MB model size, 2016, table 1, sections 3.2 and 3.3; section 6, figure 2 and table 3 (bypass). https://arxiv.org/abs/1602.07360

    **Differs from the paper:**
    1. Table 1 names an input of 224 x 224 and maps of 111, 55, 27, 13, which are those of 227 x 227 under the authors' unpadded
       conv1 and pooling that rounds up. Given 224 x 224, as in torchvision, the maps are 109, 54, 27, 13.
    2. `squeezenet1_1` is the authors' later release, with a smaller conv1 and earlier pooling; it has no table in the paper.
    3. The paper prints no starting weights; they are those of the authors' files, Glorot's and, before the logits, a deviation of 0.01.
    4. Of the two bypasses of figure 2 only the simple one is given: the size that table 3 prints for the complex one, 7.7 MB, does not
       follow from its four 1 x 1 convolutions.

    Table 1 prints 1,248,424 parameters for SqueezeNet 1.0, and so it is, with the simple bypass as well. SqueezeNet 1.1 has
    1,235,496.

    Shape walk (1.0; 1.1 pools behind conv1, fire3 and fire5):
        images (B, 224, 224, 3)
        conv1  (B, 109, 109, 96)    7 x 7, stride 2; pool1 (B, 54, 54, 96)
        fire2  (B, 54, 54, 128)     fire3 alike
        fire4  (B, 54, 54, 256)     pool4 (B, 27, 27, 256)
        fire5  (B, 27, 27, 256)
        fire6  (B, 27, 27, 384)     fire7 alike
        fire8  (B, 27, 27, 512)     pool8 (B, 13, 13, 512)
        fire9  (B, 13, 13, 512)
        logits (B, num_classes)     conv10 of table 1: 1 x 1 with ReLU, one map a class, averaged

    Features: 1.0: conv1 (stride 2), fire4 (4), fire8 (8), fire9 (16), or bypass9 if added. 1.1: conv1 (2), fire3 (4), fire5 (8), fire9.

    Args:
        config: the sizes.
        input_shape: (height, width, channels), height and width at least 21 (1.0) or 17 (1.1), also None.
        num_classes: number of classes; 0 leaves out the class maps and returns the average of fire9.

    Raises:
        ValueError: when the input is too small, or a bypass leads around what is no fire module or changes the number of maps.
    """
    images = image_input(input_shape, smallest=config.stem_kernel_size + 14)
    _check_bypasses(config)
    x = keras.layers.Conv2D(
        config.stem_filters,
        config.stem_kernel_size,
        strides=2,
        activation="relu",
        kernel_initializer=config.kernel_initializer,
        data_format="channels_last",
        name="conv1",
    )(images)
    for index, squeezed in enumerate((0, *config.squeeze_filters), start=1):
        if squeezed:
            given = x
            x = FireModule(squeezed, 4 * squeezed, 4 * squeezed, kernel_initializer=config.kernel_initializer, name=f"fire{index}")(x)
            if index in config.bypassed:
                x = keras.layers.Add(name=f"bypass{index}")([given, x])
        if index in config.pooled:
            x = SpatialPooling2D("max", 3, strides=2, ceil_mode=True, name=f"pool{index}")(x)
    if num_classes:
        x = keras.layers.Dropout(config.dropout, name="head_dropout")(x)
        x = ClassMaps2D(num_classes, kernel_initializer=keras.initializers.RandomNormal(stddev=0.01), name="logits")(x)
    else:
        x = keras.layers.GlobalAveragePooling2D(data_format="channels_last", name="pool")(x)
    return keras.Model(images, x, name="squeezenet")


def _check_bypasses(config: SqueezeNetConfig) -> None:
    maps = dict(enumerate((config.stem_filters, *(8 * squeezed for squeezed in config.squeeze_filters)), start=1))
    for index in config.bypassed:
        if index not in maps or index == 1:
            raise ValueError(f"bypassed names fire modules, 2 to {len(maps)}, got {index}.")
        if maps[index - 1] != maps[index]:
            raise ValueError(f"fire{index} makes {maps[index]} maps of {maps[index - 1]}: a simple bypass needs as many.")
