"""Group normalisation."""

import keras

from .arguments import divisible, one_of, positive_integer, real
from .initializers import fresh_initializer
from .moments import group_moments


@keras.saving.register_keras_serializable(package="keras_canon")
class GroupNormalization(keras.layers.Layer):
    """Normalise each sample within groups of channels; needs no batch statistics.

    x_hat = (x - mu) / sqrt(sigma^2 + epsilon)        (1)
    y = gamma x_hat + beta                            (6)

    mu and sigma^2 run over all positions and the channels / G channels of a group. They are computed in float32 under a
    half-precision policy, from the inputs as they come (the layer does not cast them first: float16 ends at 65504). With
    a mask only the real positions count, so padding does not change the statistics; keras.layers.GroupNormalization
    counts it.

    Args:
        groups: G; a divisor of the channels. As many groups as channels is instance normalisation, one group is layer
            normalisation over positions and channels.
        epsilon: epsilon.
        center: whether to add beta.
        scale: whether to multiply by gamma.
        beta_initializer: initialiser of beta.
        gamma_initializer: initialiser of gamma.

    Input shape:
        (batch, ..., channels); mask over the first axes, as (batch, time).

    Output shape:
        that of the input.

    Raises:
        ValueError: `groups` below 1, a negative `epsilon`; at build, channels unknown or not a multiple of `groups`.

    Reference:
        Wu, He, 2018, "Group Normalization", section 3.1, arXiv:1803.08494.

    Example:
        >>> import keras
        >>> from keras_canon.layers import GroupNormalization
        >>> print(tuple(GroupNormalization(groups=3)(keras.ops.ones((2, 7, 5, 6))).shape))
        (2, 7, 5, 6)
    """

    def __init__(self, groups=32, epsilon=1e-5, center=True, scale=True, beta_initializer="zeros", gamma_initializer="ones", **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.autocast = False
        self.groups = positive_integer("groups", groups)
        self.epsilon = real("epsilon", epsilon, 0.0)
        self.center = one_of("center", center, (True, False))
        self.scale = one_of("scale", scale, (True, False))
        self.beta_initializer = keras.initializers.get(beta_initializer)
        self.gamma_initializer = keras.initializers.get(gamma_initializer)
        self.gamma = self.beta = None

    def build(self, input_shape):
        channels = input_shape[-1]
        if len(input_shape) < 2 or channels is None:
            raise ValueError(
                f"GroupNormalization expects input of shape (batch, ..., channels) with known channels, got {tuple(input_shape)}."
            )
        divisible("channels", channels, "groups", self.groups)
        if self.scale:
            self.gamma = self.add_weight(name="gamma", shape=(channels,), initializer=fresh_initializer(self.gamma_initializer))
        if self.center:
            self.beta = self.add_weight(name="beta", shape=(channels,), initializer=fresh_initializer(self.beta_initializer))
        self.built = True

    def call(self, inputs, mask=None):
        values = keras.ops.cast(inputs, keras.backend.result_type(inputs.dtype, "float32"))
        mean, variance = group_moments(values, self.groups, mask)
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
            "groups": self.groups,
            "epsilon": self.epsilon,
            "center": self.center,
            "scale": self.scale,
            "beta_initializer": keras.initializers.serialize(self.beta_initializer),
            "gamma_initializer": keras.initializers.serialize(self.gamma_initializer),
        }
