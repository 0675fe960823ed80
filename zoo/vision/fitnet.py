"""FitNets: thin and deep maxout networks, students of a wider and shallower teacher."""

from dataclasses import dataclass

import keras

from ...layers import MaxoutConv2D, MaxoutDense
from .image_input import image_input


@dataclass(frozen=True)
class FitNetConfig:
    """A FitNet.

    Args:
        widths: maps of each 3 x 3 convolution, one list for each of the three stages.
        hidden_units: units of the dense maxout layer.
        num_pieces: linear pieces of a convolutional maxout unit.
        hidden_pieces: linear pieces of a dense maxout unit.
        kernel_range: starting weights are uniform between minus and plus this; 0 starts from He's weights, from which the
            deeper ones also learn without a teacher.
    """

    widths: tuple[tuple[int, ...], ...] = ((16, 16, 16), (32, 32, 32), (48, 48, 64))
    hidden_units: int = 500
    num_pieces: int = 2
    hidden_pieces: int = 2
    kernel_range: float = 0.005


def fitnet(config: FitNetConfig, *, input_shape: tuple[int | None, ...], num_classes: int) -> keras.Model:
    """Build a student network of table 7: maxout convolutions in three stages, a dense maxout layer, an output layer.

    Paper: Romero, Ballas, Kahou, Chassang, Gatta, Bengio, FitNets: hints for thin deep nets, 2015, appendix A.1.2, table 7;
    parameters and multiplications table 5. https://arxiv.org/abs/1412.6550

    **Differs from the paper:**
    1. Appendix A.1.2 says that the dense layer is the teachers', which has 500 units of five pieces. The parameters printed in
       table 5 come out with two pieces, which are the default here (`hidden_pieces`).
    2. The paper bounds the norm of each kernel in training; that is left to the recipe.

    Table 5 prints 250K, 862K, 1.6M and 2.5M parameters, without biases, and 30M, 108M, 392M and 382M multiplications. Table 7
    gives 249,576, 861,928, 1,503,304 and 2,544,712 kernel weights (with biases 251,194, 864,122, 1,506,138 and 2,548,602) and
    30M, 108M, 324M and 382M. Only FitNet 3 disagrees: the figures of table 5 are those of 64 maps in all four layers of its first
    stage, where table 7 prints 32, 48, 64, 64. `fitnet3` follows table 7.

    The small starting weights vanish through the layers, which is the paper's point: without hints from a teacher
    the deeper students hardly learn.

    Shape walk (fitnet1):
        images (B, 32, 32, 3)
        conv1  (B, 32, 32, 16)    conv1_1 to conv1_3; pool1 (B, 16, 16, 16)
        conv2  (B, 16, 16, 32)    conv2_1 to conv2_3; pool2 (B, 8, 8, 32)
        conv3  (B, 8, 8, 64)      conv3_1 to conv3_3; pool3 (B, 64), the maximum over the map
        fc4    (B, 500)
        logits (B, num_classes)

    Features: conv1 (stride 1), conv2 (2), conv3 (4), each before its pooling.

    Args:
        config: the sizes.
        input_shape: (height, width, channels), height and width at least 4, also None.
        num_classes: number of classes; 0 leaves out the output layer and returns fc4.

    Raises:
        ValueError: when the input is too small or a size of the config is out of range.
    """
    images = image_input(input_shape, smallest=2 ** (len(config.widths) - 1))
    x = images
    for stage, filters in enumerate(config.widths, start=1):
        for step, count in enumerate(filters, start=1):
            x = MaxoutConv2D(count, 3, config.num_pieces, kernel_initializer=_kernel(config), name=f"conv{stage}_{step}")(x)
        if stage < len(config.widths):
            x = keras.layers.MaxPooling2D(2, data_format="channels_last", name=f"pool{stage}")(x)
    x = keras.layers.GlobalMaxPooling2D(data_format="channels_last", name=f"pool{len(config.widths)}")(x)
    x = MaxoutDense(config.hidden_units, config.hidden_pieces, kernel_initializer=_kernel(config), name="fc4")(x)
    if num_classes:
        x = keras.layers.Dense(num_classes, kernel_initializer=_kernel(config), name="logits")(x)
    return keras.Model(images, x, name="fitnet")


def _kernel(config: FitNetConfig) -> keras.initializers.Initializer:
    if config.kernel_range:
        return keras.initializers.RandomUniform(-config.kernel_range, config.kernel_range)
    return keras.initializers.HeNormal()
