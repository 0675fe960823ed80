"""Monotonic attention of Raffel et al."""

import keras

from .arguments import positive_integer, real
from .attention_masks import boolean_mask
from .initializers import fresh_initializer
from .query_steps import check_query_and_values, context_of, context_shapes

# log(1 - p) of an entry that is certainly chosen: exp of it is exactly 0, and sums of it stay finite in float32.
CERTAIN = -1e9


@keras.saving.register_keras_serializable(package="keras_canon")
class MonotonicAttention(keras.layers.Layer):
    """Move over the encoder states from left to right and stop at one of them.

    e_ij = g v^T / |v| tanh(W s_(i-1) + V h_j + b) + r        (16)
    p_ij = sigmoid(e_ij + noise)        (training)
    p_ij = 1 where e_ij > 0, else 0        (inference)
    a_ij = p_ij sum over k <= j of a_(i-1)k product over l from k to j - 1 of (1 - p_il)        (9)

    p_ij is the chance to stop at entry j. In training a_ij is the expectation over all paths, with Gaussian noise that
    drives p towards 0 and 1; at inference a is one-hot, and all zeros once a step has stopped nowhere. The paper evaluates
    (9) with divisions by products that vanish (appendix C.1); here the products are differences of sums of logarithms,
    which are stable and take S^2 numbers a step.

    One call is one step. The weights it returns are the `state` of the next call.

    Args:
        units: width of the comparison.
        noise: standard deviation of the noise in training; 1 in the paper.
        score_bias: initial r; negative, so that early in training attention does not stop at once.
        kernel_initializer: initialiser of W, V and v; each gets one of its own. g starts at 1 / sqrt(units).
        seed: seed of the noise.

    Call arguments:
        query: s_(i-1), the decoder state of one step.
        values: h, encoder states.
        state: a_(i-1), (B, S); None is all weight on the first entry, before the first step.
        keys: V h + b, from `project_values(values)`, so that a loop over steps computes it once; None computes it.
        values_mask: boolean (B, S), False at padding, where attention never stops; Keras fills it.
        training: soft and noisy, or hard.

    Input shape:
        query (B, query width); values (B, S, values width)

    Output shape:
        the context (B, values width) and the weights (B, S).

    Raises:
        ValueError: `units` below 1; a negative `noise`; at build, other axes.

    Reference:
        Raffel, Luong, Liu, Weiss, Eck, 2017, "Online and Linear-Time Attention by Enforcing Monotonic Alignments", sections
        2.2 to 2.5, arXiv:1704.00784.

    Example:
        >>> import keras
        >>> from keras_canon.layers import MonotonicAttention
        >>> attention = MonotonicAttention(units=16)
        >>> context, state = attention(keras.ops.ones((2, 8)), keras.ops.ones((2, 5, 12)), training=True)
        >>> print(context.shape, state.shape)
        (2, 12) (2, 5)
    """

    def __init__(self, units, noise=1.0, score_bias=-1.0, kernel_initializer="glorot_uniform", seed=None, **kwargs):
        super().__init__(**kwargs)
        self.units = positive_integer("units", units)
        self.noise = real("noise", noise, 0.0)
        self.score_bias = real("score_bias", score_bias)
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.seed = seed
        self.seed_generator = keras.random.SeedGenerator(seed)
        self.supports_masking = True
        self.query_projection = self._projection(False, "query")
        self.values_projection = self._projection(True, "values")

    def _projection(self, use_bias, name):
        initializer = fresh_initializer(self.kernel_initializer)
        return keras.layers.Dense(self.units, use_bias=use_bias, kernel_initializer=initializer, dtype=self.dtype_policy, name=name)

    def build(self, query_shape, values_shape):
        check_query_and_values("MonotonicAttention", query_shape, values_shape, ranks=(2,))
        self.query_projection.build(query_shape)
        self.values_projection.build(values_shape)
        initializer = fresh_initializer(self.kernel_initializer)
        self.direction = self.add_weight(name="score_direction", shape=(self.units, 1), initializer=initializer)
        self.gain = self.add_weight(name="score_gain", shape=(), initializer=keras.initializers.Constant(self.units**-0.5))
        self.offset = self.add_weight(name="score_bias", shape=(), initializer=keras.initializers.Constant(self.score_bias))

    def initial_state(self, values):
        """Return the weights before the first step, (B, S): 1 at the first entry."""
        first = keras.ops.arange(keras.ops.shape(values)[1]) == 0
        return keras.ops.zeros_like(values[..., 0]) + keras.ops.cast(first, values.dtype)

    def project_values(self, values):
        """Return the keys of `values`, V h + b, (B, S, units)."""
        return self.values_projection(values)

    def _energies(self, query, keys):
        """Return e (B, S) in float32."""
        hidden = keras.ops.tanh(keras.ops.expand_dims(self.query_projection(query), 1) + keys)
        direction = keras.ops.cast(self.direction, "float32")
        direction = direction * keras.ops.rsqrt(keras.ops.sum(keras.ops.square(direction)))
        energies = keras.ops.squeeze(keras.ops.matmul(keras.ops.cast(hidden, "float32"), direction), -1)
        return keras.ops.cast(self.gain, "float32") * energies + keras.ops.cast(self.offset, "float32")

    def call(self, query, values, state=None, keys=None, values_mask=None, training=None):
        state = self.initial_state(values) if state is None else state
        energies = self._energies(query, self.project_values(values) if keys is None else keys)
        if training:
            if self.noise:
                energies += keras.random.normal(keras.ops.shape(energies), stddev=self.noise, seed=self.seed_generator)
            stop, log_pass = keras.ops.sigmoid(energies), keras.ops.log_sigmoid(-energies)
        else:
            stop = keras.ops.cast(energies > 0, "float32")
            log_pass = stop * CERTAIN
        if values_mask is not None:
            real_entry = keras.ops.cast(boolean_mask("values_mask", values_mask), "float32")
            stop, log_pass = stop * real_entry, log_pass * real_entry
        before = keras.ops.cumsum(log_pass, axis=-1) - log_pass  # (B, S), log of the chance to pass all entries before j
        places = keras.ops.arange(keras.ops.shape(values)[1])
        reachable = places[:, None] >= places  # (S, S), j not before k
        # Where j lies before k the difference is positive and could overflow, so it is replaced before exp.
        passing = keras.ops.where(reachable, before[:, :, None] - before[:, None, :], CERTAIN)  # (B, j, k)
        arrived = keras.ops.matmul(keras.ops.exp(passing), keras.ops.cast(state, "float32")[..., None])[..., 0]
        weights = keras.ops.cast(stop * arrived, values.dtype)
        return context_of(query, keras.ops.expand_dims(weights, 1), values)

    def compute_output_shape(self, query_shape, values_shape):
        return context_shapes(query_shape, values_shape)

    def get_config(self):
        return {
            **super().get_config(),
            "units": self.units,
            "noise": self.noise,
            "score_bias": self.score_bias,
            "kernel_initializer": keras.initializers.serialize(self.kernel_initializer),
            "seed": self.seed,
        }
