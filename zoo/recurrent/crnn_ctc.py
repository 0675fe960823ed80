"""Recognition of text lines: convolutions, a recurrent network over columns, and connectionist temporal classification."""

from dataclasses import dataclass

import keras

from ...layers import LSTM, Bidirectional, ConvNormActivation, SpatialPooling2D
from .frames import lengths_of, real_first, whole_windows
from .sequences import head


@dataclass(frozen=True)
class CRNNConfig:
    """A recognizer of text lines.

    Args:
        filters: of the seven convolutions.
        units: of each direction of the two recurrent layers.
        dropout: rate before the logits.
    """

    filters: tuple[int, ...] = (64, 128, 256, 256, 512, 512, 512)
    units: tuple[int, ...] = (256, 256)
    dropout: float = 0.0


# after each of the first six convolutions: height and width of the pooling, and whether it is normalised before
_POOLINGS = ((2, 2), (2, 2), None, (2, 1), None, (2, 1))
_NORMALISED = (False, False, False, False, True, True)
_HEIGHT = 32


def crnn_ctc(config: CRNNConfig, *, input_shape: tuple[int | None, ...], num_classes: int) -> keras.Model:
    """Build the recognizer of text lines.

    Paper: Shi, Bai, Yao, An end-to-end trainable neural network for image-based sequence recognition and its application to scene
    text recognition, 2015, section 2 and table 1. https://arxiv.org/abs/1507.05717

    **Differs from the paper:** 1. Batches of lines of any width: columns whose pixels are all exactly 0 are padding, and are moved
    behind the real ones. Paper that is not 0 (dark on light, or pixels shifted to -1 to 1) has no such columns. 2. Between the recurrent
    layers stands a linear map to the width of one direction, which the paper does not mention and its 8.3 million parameters imply.

    Class 0 is the blank. `lengths` are the frames of each line, for `ctc_loss` and the decoders: a quarter of its width, less one.

    Shape walk:
        images (B, 32, W, 1)
        conv1  (B, 32, W, 64),     pool1 (B, 16, W/2, 64)
        conv2  (B, 16, W/2, 128),  pool2 (B, 8, W/4, 128)
        conv4  (B, 8, W/4, 256),   pool4 (B, 4, W/4, 256)
        conv6  (B, 4, W/4, 512),   pool6 (B, 2, W/4, 512)
        conv7  (B, 1, W/4 - 1, 512)
        recurrent2 (B, W/4 - 1, 2 units)
        logits (B, W/4 - 1, num_classes), lengths (B,)

    Args:
        config: the sizes.
        input_shape: (32, width, channels); the width may be None.
        num_classes: number of characters and one for the blank; 0 leaves out the output layer.

    Raises:
        ValueError: another height, unknown channels, a width below 8, or a config without seven convolutions.
    """
    shape = tuple(input_shape)
    if len(shape) != 3 or shape[0] != _HEIGHT or not shape[2] or (shape[1] is not None and shape[1] < 8):
        raise ValueError(f"input_shape must be ({_HEIGHT}, width of at least 8, channels) with known channels, got {shape}.")
    if len(config.filters) != 7 or not config.units:
        raise ValueError(f"filters must have seven values and units at least one, got {config.filters} and {config.units}.")
    images = keras.Input(shape, name="images")
    x, real = real_first(images, axis=2)
    for number, filters in enumerate(config.filters[:6], start=1):
        x, real = _stage(x, real, filters, number)
    x = ConvNormActivation(config.filters[6], 2, padding="valid", normalization=None, activation="relu", use_bias=True, name="conv7")(x)
    real = whole_windows(real, 2, 1)
    x = keras.layers.Reshape((-1, config.filters[6]), name="columns")(x)  # (B, W/4 - 1, filters)
    mask = real[:, :, 0] > 0.0
    for number, units in enumerate(config.units, start=1):
        layer = LSTM(units, return_sequences=True, name=f"recurrent{number}")
        x = Bidirectional(layer, name=f"recurrent{number}")(x, mask=mask)
        if number < len(config.units):
            x = keras.layers.Dense(units, name=f"projection{number}")(x)
    x = head(x, num_classes, config.dropout)
    return keras.Model(images, {"logits": x, "lengths": lengths_of(real)}, name="crnn_ctc")


def _stage(x, real, filters: int, number: int):
    """Return the map after one convolution and its pooling, and which of its columns are real."""
    normalised, pooling = _NORMALISED[number - 1], _POOLINGS[number - 1]
    x = ConvNormActivation(
        filters,
        3,
        padding="symmetric",
        normalization=None,
        activation=None if normalised else "relu",
        use_bias=not normalised,
        name=f"conv{number}",
    )(x)
    columns = keras.ops.expand_dims(real, 1)  # (B, 1, W, 1)
    if normalised:
        mask = keras.ops.squeeze(columns > 0.0, -1)
        x = keras.layers.BatchNormalization(epsilon=1e-5, momentum=0.9, name=f"norm{number}")(x, mask=mask)
        x = keras.ops.relu(x)  # an operation, which lets go of the mask that the normalisation passes on
    if pooling is not None:
        x = SpatialPooling2D("max", pooling, strides=pooling, padding="valid", name=f"pool{number}")(x)
        real = whole_windows(real, pooling[1], pooling[1])
    # a convolution at the edge of a line must find zeros there
    return x * keras.ops.expand_dims(real, 1), real
