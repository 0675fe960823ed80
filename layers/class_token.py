"""The class token of BERT and the Vision Transformer."""

import keras

from .arguments import input_rank


@keras.saving.register_keras_serializable(package="keras_canon")
class ClassToken(keras.layers.Layer):
    """Put a learned step before a sequence, whose final state stands for the whole.

    z = [x_class; x_1; ...; x_N]        (1)

    A mask gets True for the new step.

    Args:
        initializer: initialiser of x_class.

    Input shape:
        (B, N, width)

    Output shape:
        (B, N + 1, width)

    Raises:
        ValueError: at build, an input that has not three axes or no known width.

    Reference:
        Dosovitskiy et al., 2021, "An Image Is Worth 16x16 Words", section 3.1, equation 1, arXiv:2010.11929.

    Example:
        >>> import keras
        >>> from keras_canon.layers import ClassToken
        >>> print(ClassToken()(keras.ops.zeros((2, 196, 8))).shape)
        (2, 197, 8)
    """

    def __init__(self, initializer="zeros", **kwargs):
        super().__init__(**kwargs)
        self.initializer = keras.initializers.get(initializer)
        self.supports_masking = True

    def build(self, input_shape):
        input_rank("ClassToken", input_shape, 3, "(batch, steps, width)")
        self.token = self.add_weight(name="token", shape=(1, 1, input_shape[-1]), initializer=self.initializer)

    def call(self, inputs):
        token = keras.ops.broadcast_to(keras.ops.cast(self.token, inputs.dtype), (keras.ops.shape(inputs)[0], 1, inputs.shape[-1]))
        return keras.ops.concatenate([token, inputs], axis=1)

    def compute_mask(self, inputs, mask=None):
        """Return the mask with True before it."""
        return None if mask is None else keras.ops.concatenate([keras.ops.ones_like(mask[:, :1]), mask], axis=1)

    def compute_output_shape(self, input_shape):
        return (input_shape[0], None if input_shape[1] is None else input_shape[1] + 1, input_shape[2])

    def get_config(self):
        return {**super().get_config(), "initializer": keras.initializers.serialize(self.initializer)}
