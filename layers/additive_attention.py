"""Additive attention of Bahdanau et al."""

import keras

from .arguments import positive_integer
from .initializers import fresh_initializer
from .masked_softmax import masked_softmax
from .query_steps import check_query_and_values, context_of, context_shapes, values_mask_of, with_step_axis


@keras.saving.register_keras_serializable(package="keras_canon")
class AdditiveAttention(keras.layers.Layer):
    """Compare a decoder state with each encoder state through a small network.

    c_i = sum over j of a_ij h_j        (5)
    a_ij = exp(e_ij) / sum over k of exp(e_ik)        (6)
    e_ij = v_a^T tanh(W_a s_(i-1) + U_a h_j + b)        (section A.1.2; the paper leaves b out of its formulas)

    Args:
        units: n', the width of the comparison.
        use_bias: b.
        kernel_initializer: initialiser of W_a, U_a and v_a; each gets one of its own.

    Call arguments:
        query: s_(i-1), decoder states.
        values: h, encoder states.
        keys: U_a h + b, from `project_values(values)`, so that a loop over steps computes it once; None computes it.
        values_mask: boolean (B, S), False at padding; Keras fills it.

    Input shape:
        query (B, query width) for one step or (B, T, query width) for many; values (B, S, values width)

    Output shape:
        the context (B, [T,] values width) and the weights (B, [T,] S).

    Raises:
        ValueError: `units` below 1; at build, a query or values with other axes.

    Reference:
        Bahdanau, Cho, Bengio, 2015, "Neural Machine Translation by Jointly Learning to Align and Translate", section 3.1,
        equations 5 and 6, and appendix A.1.2, arXiv:1409.0473.

    Example:
        >>> import keras
        >>> from keras_canon.layers import AdditiveAttention
        >>> context, weights = AdditiveAttention(units=16)(keras.ops.ones((2, 8)), keras.ops.ones((2, 5, 12)))
        >>> print(context.shape, weights.shape)
        (2, 12) (2, 5)
    """

    def __init__(self, units, use_bias=True, kernel_initializer="glorot_uniform", **kwargs):
        super().__init__(**kwargs)
        self.units = positive_integer("units", units)
        self.use_bias = bool(use_bias)
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.supports_masking = True
        self.query_projection = self._projection(self.units, False, "query")
        self.values_projection = self._projection(self.units, self.use_bias, "values")
        self.score_projection = self._projection(1, False, "score")

    def _projection(self, units, use_bias, name):
        initializer = fresh_initializer(self.kernel_initializer)
        return keras.layers.Dense(units, use_bias=use_bias, kernel_initializer=initializer, dtype=self.dtype_policy, name=name)

    def build(self, query_shape, values_shape):
        check_query_and_values("AdditiveAttention", query_shape, values_shape)
        self.query_projection.build((query_shape[0], None, query_shape[-1]))
        self.values_projection.build(values_shape)
        self.score_projection.build((query_shape[0], None, None, self.units))

    def project_values(self, values):
        """Return the keys of `values`, U_a h + b, (B, S, units)."""
        return self.values_projection(values)

    def call(self, query, values, keys=None, values_mask=None):
        keys = self.project_values(values) if keys is None else keys
        states = self.query_projection(with_step_axis(query))  # (B, T, units)
        hidden = keras.ops.tanh(keras.ops.expand_dims(states, 2) + keras.ops.expand_dims(keys, 1))  # (B, T, S, units)
        scores = keras.ops.squeeze(self.score_projection(hidden), -1)
        return context_of(query, masked_softmax(scores, values_mask_of(values_mask)), values)

    def compute_output_shape(self, query_shape, values_shape):
        return context_shapes(query_shape, values_shape)

    def get_config(self):
        return {
            **super().get_config(),
            "units": self.units,
            "use_bias": self.use_bias,
            "kernel_initializer": keras.initializers.serialize(self.kernel_initializer),
        }
