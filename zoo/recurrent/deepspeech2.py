"""Recognition of speech: convolutions over the spectrogram, bidirectional recurrent layers, connectionist temporal classification."""

from dataclasses import dataclass

import keras

from ...layers import GRU, Bidirectional, ConvNormActivation
from .frames import lengths_of, real_first
from .sequences import head


@dataclass(frozen=True)
class DeepSpeech2Config:
    """A recognizer of speech.

    Args:
        filters: of the convolutions, of which the first strides over time and all over frequencies.
        units: of each direction of the recurrent layers, whose two directions are summed.
        dense_units: of the layer before the logits.
        dropout: rate before each recurrent layer and the logits.
    """

    filters: tuple[int, ...] = (32, 32, 96)
    units: tuple[int, ...] = (1280, 1280, 1280, 1280, 1280, 1280, 1280)
    dense_units: int = 1280
    dropout: float = 0.0


_STEPS, _FREQUENCIES = 11, (41, 21, 21)


def deepspeech2(config: DeepSpeech2Config, *, input_shape: tuple[int | None, ...], num_classes: int) -> keras.Model:
    """Build the recognizer of speech.

    Paper: Amodei et al., Deep Speech 2: end-to-end speech recognition in English and Mandarin, 2015, section 3 and table 3.
    https://arxiv.org/abs/1512.02595

    **Differs from the paper:** 1. Batch normalisation stands before each recurrent layer instead of between its input product and its
    gates. 2. Frames that are all exactly 0 are padding, and are moved behind the real ones; statistics do not see them. 3. The reset
    gate acts after the recurrent product, which is the form that fast kernels compute.

    Class 0 is the blank. `lengths` are the frames of each utterance after the stride of 2, for `ctc_loss` and the decoders.

    Shape walk:
        sequences (B, T, 161), a spectrogram
        conv1     (B, T/2, 81, 32)
        conv2     (B, T/2, 41, 32)
        conv3     (B, T/2, 21, 96)
        recurrent1 (B, T/2, units), and so on
        dense     (B, T/2, dense_units)
        logits    (B, T/2, num_classes), lengths (B,)

    Args:
        config: the sizes.
        input_shape: (frames, frequencies); frames may be None.
        num_classes: number of characters and one for the blank; 0 leaves out the output layer.

    Raises:
        ValueError: another rank of input, unknown frequencies, or no or too many convolutions or no recurrent layer.
    """
    shape = tuple(input_shape)
    if len(shape) != 2 or not shape[1]:
        raise ValueError(f"input_shape must be (frames, frequencies) with known frequencies, got {shape}.")
    if not 1 <= len(config.filters) <= len(_FREQUENCIES) or not config.units:
        raise ValueError(f"filters must have one to three values and units at least one, got {config.filters} and {config.units}.")
    sequences = keras.Input(shape, name="sequences")
    x, real = real_first(sequences, axis=1)  # real is (B, T, 1)
    x = keras.ops.expand_dims(x, -1)  # (B, T, F, 1)
    for number, filters in enumerate(config.filters, start=1):
        x, real = _convolution(x, real, filters, number)
    x = keras.layers.Reshape((-1, x.shape[2] * x.shape[3]), name="frames")(x)  # (B, T/2, features)
    mask = real[:, :, 0] > 0.0
    for number, units in enumerate(config.units, start=1):
        x = keras.layers.BatchNormalization(name=f"norm{number}")(x, mask=mask)
        if config.dropout:
            x = keras.layers.Dropout(config.dropout, name=f"dropout{number}")(x)
        layer = GRU(units, return_sequences=True, name=f"recurrent{number}")
        x = Bidirectional(layer, merge_mode="sum", name=f"recurrent{number}")(x, mask=mask)
    x = keras.layers.BatchNormalization(name="norm_dense")(x, mask=mask)
    x = keras.layers.Dense(config.dense_units, name="dense")(x)
    x = keras.layers.ReLU(max_value=20.0, name="clip_dense")(x)
    return keras.Model(sequences, {"logits": head(x, num_classes, config.dropout), "lengths": lengths_of(real)}, name="deepspeech2")


def _convolution(x, real, filters: int, number: int):
    """Return the map after one convolution, and which of its frames are real; the first one halves the time."""
    strides = (2 if number == 1 else 1, 2)
    kernel_size = (_STEPS, _FREQUENCIES[number - 1])
    x = ConvNormActivation(
        filters,
        kernel_size,
        strides=strides,
        padding="symmetric",
        normalization=None,
        activation=None,
        use_bias=False,
        name=f"conv{number}",
    )(x)
    real = real[:, :: strides[0]]  # a frame is real when the middle of its window is
    mask = keras.ops.expand_dims(real[:, :, 0] > 0.0, -1)  # (B, T, 1)
    x = keras.layers.BatchNormalization(name=f"conv{number}_norm")(x, mask=mask)
    x = keras.layers.ReLU(max_value=20.0, name=f"conv{number}_clip")(x)
    # a convolution at the end of an utterance must find zeros there
    return x * keras.ops.expand_dims(real, -1), real
