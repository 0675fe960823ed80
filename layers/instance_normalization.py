"""Instance normalisation."""

import keras

from .arguments import one_of, real
from .initializers import fresh_initializer
from .moments import group_moments


@keras.saving.register_keras_serializable(package="keras_canon")
class InstanceNormalization(keras.layers.Layer):
    """Normalise each channel of each sample over its own positions, in training and inference alike.

    y_tijk = (x_tijk - mu_ti) / sqrt(sigma_ti^2 + epsilon)        (2)

    mu and sigma^2 run over the positions j, k of sample t and channel i; then y is scaled by gamma_i and shifted by
    beta_i. Statistics are computed in float32 under a half-precision policy, from the inputs as they come. With a mask
    only the real positions count.

    Args:
        epsilon: epsilon.
        center: whether to add beta.
        scale: whether to multiply by gamma.
        beta_initializer: initialiser of beta.
        gamma_initializer: initialiser of gamma.

    Input shape:
        (batch, ..., channels) with at least one axis between; mask over the first axes, as (batch, time).

    Output shape:
        that of the input.

    Raises:
        ValueError: a negative `epsilon`; at build, an input with under 3 axes or unknown channels.

    Reference:
        Ulyanov, Vedaldi, Lempitsky, 2016, "Instance Normalization: The Missing Ingredient for Fast Stylization",
        equation 2, arXiv:1607.08022.

    Example:
        >>> import keras
        >>> from keras_canon.layers import InstanceNormalization
        >>> print(tuple(InstanceNormalization()(keras.ops.ones((2, 7, 5, 6))).shape))
        (2, 7, 5, 6)
    """

    def __init__(self, epsilon=1e-5, center=True, scale=True, beta_initializer="zeros", gamma_initializer="ones", **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.autocast = False
        self.epsilon = real("epsilon", epsilon, 0.0)
        self.center = one_of("center", center, (True, False))
        self.scale = one_of("scale", scale, (True, False))
        self.beta_initializer = keras.initializers.get(beta_initializer)
        self.gamma_initializer = keras.initializers.get(gamma_initializer)
        self.gamma = self.beta = None

    def build(self, input_shape):
        channels = input_shape[-1]
        if len(input_shape) < 3 or channels is None:
            raise ValueError(
                "InstanceNormalization expects input of shape (batch, ..., channels) with at least 3 axes and known channels, "
                f"got {tuple(input_shape)}."
            )
        if self.scale:
            self.gamma = self.add_weight(name="gamma", shape=(channels,), initializer=fresh_initializer(self.gamma_initializer))
        if self.center:
            self.beta = self.add_weight(name="beta", shape=(channels,), initializer=fresh_initializer(self.beta_initializer))
        self.built = True

    def call(self, inputs, mask=None):
        values = keras.ops.cast(inputs, keras.backend.result_type(inputs.dtype, "float32"))
        mean, variance = group_moments(values, inputs.shape[-1], mask)
        factor = keras.ops.rsqrt(variance + self.epsilon)
        if self.gamma is not None:
            factor = factor * keras.ops.cast(self.gamma, values.dtype)
        outputs = (values - mean) * factor
        if self.beta is not None:
            outputs = outputs + keras.ops.cast(self.beta, values.dtype)
        return keras.ops.cast(outputs, self.compute_dtype)

    def compute_output_shape(self, input_shape):
        return tuple(input_shape)

    def get_config(self):
        return {
            **super().get_config(),
            "epsilon": self.epsilon,
            "center": self.center,
            "scale": self.scale,
            "beta_initializer": keras.initializers.serialize(self.beta_initializer),
            "gamma_initializer": keras.initializers.serialize(self.gamma_initializer),
        }
