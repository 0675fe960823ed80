"""AlexNet's local response normalisation."""

import keras

from .arguments import input_rank, positive_integer, real


@keras.saving.register_keras_serializable(package="keras_canon")
class LocalResponseNormalization(keras.layers.Layer):
    """Divide each channel by a power of the energy in the channels around it.

    b_i = a_i / (k + alpha sum over j of a_j^2)^beta,   i - n // 2 <= j <= i + (n - 1) // 2        (section 3.3)

    alpha multiplies the *sum*, as in the paper; torch.nn.LocalResponseNorm and Caffe multiply the mean, so their alpha is
    n times this one. Channels beyond the first or last count as zero. Squares are taken in float32 under a half-precision
    policy (float16 overflows from 256).

    Args:
        size: n, number of neighbouring channels, the channel itself included.
        alpha: alpha.
        beta: beta.
        bias: k.

    Input shape:
        (batch, height, width, channels)

    Output shape:
        that of the input.

    Raises:
        ValueError: `size` below 1, a negative `alpha` or `beta`, a `bias` not above 0, an input that has not 4 axes.

    Reference:
        Krizhevsky, Sutskever, Hinton, 2012, "ImageNet Classification with Deep Convolutional Neural Networks",
        section 3.3 (k = 2, n = 5, alpha = 1e-4, beta = 0.75).

    Example:
        >>> import keras
        >>> from keras_canon.layers import LocalResponseNormalization
        >>> print(tuple(LocalResponseNormalization()(keras.ops.ones((1, 55, 55, 96))).shape))
        (1, 55, 55, 96)
    """

    def __init__(self, size=5, alpha=1e-4, beta=0.75, bias=2.0, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.size = positive_integer("size", size)
        self.alpha = real("alpha", alpha, 0.0)
        self.beta = real("beta", beta, 0.0)
        self.bias = real("bias", bias, 0.0)
        if not self.bias:
            raise ValueError(f"bias must be above 0, got {bias!r}.")

    def build(self, input_shape):
        input_rank(type(self).__name__, input_shape, 4, "(batch, height, width, channels)")
        self.built = True

    def call(self, inputs):
        values = keras.ops.cast(inputs, keras.backend.result_type(inputs.dtype, "float32"))
        channels = inputs.shape[-1]
        squares = keras.ops.pad(keras.ops.square(values), [(0, 0), (0, 0), (0, 0), (self.size // 2, (self.size - 1) // 2)])
        energy = squares[..., :channels]
        for shift in range(1, self.size):
            energy = energy + squares[..., shift : shift + channels]
        return keras.ops.cast(values * keras.ops.power(self.bias + self.alpha * energy, -self.beta), inputs.dtype)

    def compute_output_shape(self, input_shape):
        return tuple(input_shape)

    def get_config(self):
        return {**super().get_config(), "size": self.size, "alpha": self.alpha, "beta": self.beta, "bias": self.bias}
