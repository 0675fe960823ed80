"""The first step of a sequence, which stands for the whole where a class token was put before it."""

import keras

from .arguments import input_rank


@keras.saving.register_keras_serializable(package="keras_canon")
class FirstStep(keras.layers.Layer):
    """Return the first step of each sequence.

    y = z^0        (Dosovitskiy et al. 2021, equation 4, without its normalisation)

    The first step is taken to be real, as a class token is, so a mask is dropped.

    Input shape:
        (B, T, width)

    Output shape:
        (B, width)

    Raises:
        ValueError: at build, an input that has not three axes or no known width.

    Reference:
        Dosovitskiy et al., 2021, "An Image Is Worth 16x16 Words", section 3.1, equation 4, arXiv:2010.11929.

    Example:
        >>> import keras
        >>> from keras_canon.layers import FirstStep
        >>> print(FirstStep()(keras.ops.zeros((2, 197, 8))).shape)
        (2, 8)
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def build(self, input_shape):
        input_rank("FirstStep", input_shape, 3, "(batch, steps, width)")

    def call(self, inputs):
        return inputs[:, 0]

    def compute_mask(self, inputs, mask=None):
        return None

    def compute_output_shape(self, input_shape):
        return (input_shape[0], input_shape[2])
