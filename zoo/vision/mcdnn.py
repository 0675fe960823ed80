"""Multi-column deep neural networks for handwritten digits."""

from dataclasses import dataclass

import keras

from ...layers import EnsembleAverage, scaled_tanh
from .image_input import image_input


@dataclass(frozen=True)
class ColumnConfig:
    """One column, 20C4-MP2-40C5-MP3-150N in the paper's notation.

    Args:
        widths: maps of the two convolutional layers.
        kernel_sizes: their kernels.
        pool_sizes: windows of max pooling behind each, side by side.
        hidden_units: units of the dense layer.
        kernel_range: starting weights are uniform between minus and plus this.
    """

    widths: tuple[int, ...] = (20, 40)
    kernel_sizes: tuple[int, ...] = (4, 5)
    pool_sizes: tuple[int, ...] = (2, 3)
    hidden_units: int = 150
    kernel_range: float = 0.05


@dataclass(frozen=True)
class MultiColumnConfig:
    """Several columns of one form.

    Args:
        columns: number of columns.
        column: form of each.
    """

    columns: int = 35
    column: ColumnConfig = ColumnConfig()


def mcdnn_column(config: ColumnConfig, *, input_shape: tuple[int, ...], num_classes: int) -> keras.Model:
    """Build one column of the network for MNIST: 1x29x29-20C4-MP2-40C5-MP3-150N-10N.

    Paper: Ciresan, Meier, Schmidhuber, Multi-column deep neural networks for image classification, 2012, section 3.1 and table 1;
    activation and starting weights section 3. https://arxiv.org/abs/1202.2745

    **Differs from the paper:** nothing.

    Trainable parameters: 340 + 20,040 + 54,150 + 1,510 = 76,040. The paper prints no number.

    Shape walk:
        images (B, 29, 29, 1)
        conv1  (B, 26, 26, 20)    4 x 4; pool1 (B, 13, 13, 20)
        conv2  (B, 9, 9, 40)      5 x 5; pool2 (B, 3, 3, 40)
        fc3    (B, 150)
        logits (B, num_classes)

    Features: conv1 (stride 1), conv2 (2).

    Args:
        config: the sizes.
        input_shape: (height, width, channels), height and width known and at least 17.
        num_classes: number of classes; 0 leaves out the output layer and returns fc3.

    Raises:
        ValueError: when the input is too small or of unknown size.
    """
    return _column(config, input_shape, num_classes, "mcdnn_column", prefix="")


def mcdnn(config: MultiColumnConfig, *, input_shape: tuple[int, ...], num_classes: int) -> keras.Model:
    """Build the multi-column network: columns side by side whose class probabilities are averaged.

    Paper: Ciresan, Meier, Schmidhuber, Multi-column deep neural networks for image classification, 2012, section 2 (figure 1c)
    and section 3.1: 35 columns for MNIST. https://arxiv.org/abs/1202.2745

    **Differs from the paper:**
    1. All columns see one input. The paper's are trained apart, five on each of seven normalisations of the digits' width; give
       each column its training data and put the columns together afterwards, as below.
    2. The output is the logarithm of the averaged probabilities, so that a softmax over it gives the average.

    Each column is a sub-model `column1`, `column2`, ... whose layers carry its name. Trained columns go in by name:

        arrays = {f"column1_{weight.path}": weight for weight in column.weights}
        zoo.load_weights(ensemble, arrays, format="canon", strict=False)

    Trainable parameters: 35 x 76,040 = 2,661,400.

    Shape walk:
        images   (B, 29, 29, 1)
        column_n (B, num_classes)    each as `mcdnn_column`
        logits   (B, num_classes)

    Features: none; those of a column are inside its sub-model.

    Args:
        config: the sizes.
        input_shape: (height, width, channels), height and width known and at least 17.
        num_classes: number of classes; 0 returns the dense layers of all columns side by side, (B, columns x 150).

    Raises:
        ValueError: for fewer than two columns, or an input that is too small or of unknown size.
    """
    if config.columns < 2:
        raise ValueError(f"columns must be at least 2, got {config.columns}.")
    images = image_input(input_shape, smallest=17, known=True)
    names = [f"column{index}" for index in range(1, config.columns + 1)]
    outputs = [_column(config.column, input_shape, num_classes, name, prefix=f"{name}_")(images) for name in names]
    x = EnsembleAverage(name="logits")(outputs) if num_classes else keras.layers.Concatenate(name="units")(outputs)
    return keras.Model(images, x, name="mcdnn")


def _column(config: ColumnConfig, input_shape: tuple[int, ...], num_classes: int, name: str, *, prefix: str) -> keras.Model:
    images = image_input(input_shape, smallest=17, known=True)
    x = images
    for index, (filters, kernel_size, pool_size) in enumerate(zip(config.widths, config.kernel_sizes, config.pool_sizes, strict=True), 1):
        x = keras.layers.Conv2D(
            filters,
            kernel_size,
            activation=scaled_tanh,
            kernel_initializer=_uniform(config),
            data_format="channels_last",
            name=f"{prefix}conv{index}",
        )(x)
        x = keras.layers.MaxPooling2D(pool_size, data_format="channels_last", name=f"{prefix}pool{index}")(x)
    x = keras.layers.Flatten(data_format="channels_last", name=f"{prefix}pool2_units")(x)
    x = keras.layers.Dense(config.hidden_units, activation=scaled_tanh, kernel_initializer=_uniform(config), name=f"{prefix}fc3")(x)
    if num_classes:
        x = keras.layers.Dense(num_classes, kernel_initializer=_uniform(config), name=f"{prefix}logits")(x)
    return keras.Model(images, x, name=name)


def _uniform(config: ColumnConfig) -> keras.initializers.Initializer:
    return keras.initializers.RandomUniform(-config.kernel_range, config.kernel_range)
