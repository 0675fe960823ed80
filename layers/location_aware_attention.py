"""Hybrid location-aware attention of Chorowski et al."""

import keras

from .arguments import positive_integer, real
from .attention_masks import boolean_mask
from .initializers import fresh_initializer
from .masked_softmax import masked_softmax
from .query_steps import check_query_and_values, context_of, context_shapes


@keras.saving.register_keras_serializable(package="keras_canon")
class LocationAwareAttention(keras.layers.Layer):
    """Compare a decoder state with each encoder state and with where attention lay one step before.

    f_i = F * a_(i-1)  (a convolution along the values)        (8)
    e_ij = w^T tanh(W s_(i-1) + V h_j + U f_ij + b)        (9)
    a_ij = exp(beta e_ij) / sum over k of exp(beta e_ik)        (section 2.3, sharpening by beta)
    a_ij = sigmoid(e_ij) / sum over k of sigmoid(e_ik)        (section 2.3, smoothing)

    One call is one step. The weights it returns are the `state` of the next call.

    Args:
        units: width of the comparison.
        filters: k, number of the filters F.
        kernel_size: r, their length.
        sharpening: beta; 1 is none.
        smoothing: normalise sigmoids instead of exponentials.
        kernel_initializer: initialiser of F, U, V, W and w; each gets one of its own.

    Call arguments:
        query: s_(i-1), the decoder state of one step.
        values: h, encoder states.
        state: a_(i-1), (B, S); None is zeros, before the first step.
        keys: V h + b, from `project_values(values)`, so that a loop over steps computes it once; None computes it.
        values_mask: boolean (B, S), False at padding; Keras fills it.

    Input shape:
        query (B, query width); values (B, S, values width)

    Output shape:
        the context (B, values width) and the weights (B, S).

    Raises:
        ValueError: a size below 1; `sharpening` not positive, or other than 1 with `smoothing`; at build, other axes.

    Reference:
        Chorowski, Bahdanau, Serdyuk, Cho, Bengio, 2015, "Attention-Based Models for Speech Recognition", section 2.2,
        equations 8 and 9, and section 2.3, arXiv:1506.07503.

    Example:
        >>> import keras
        >>> from keras_canon.layers import LocationAwareAttention
        >>> attention = LocationAwareAttention(units=16, filters=4, kernel_size=3)
        >>> context, state = attention(keras.ops.ones((2, 8)), keras.ops.ones((2, 5, 12)))
        >>> print(context.shape, state.shape)
        (2, 12) (2, 5)
    """

    def __init__(self, units, filters, kernel_size, sharpening=1.0, smoothing=False, kernel_initializer="glorot_uniform", **kwargs):
        super().__init__(**kwargs)
        self.units = positive_integer("units", units)
        self.filters = positive_integer("filters", filters)
        self.kernel_size = positive_integer("kernel_size", kernel_size)
        self.sharpening = real("sharpening", sharpening, 0.0)
        self.smoothing = bool(smoothing)
        if not self.sharpening or (self.smoothing and self.sharpening != 1.0):
            raise ValueError(f"sharpening must be above 0, and 1 with smoothing, got {sharpening!r} with smoothing={self.smoothing}.")
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.supports_masking = True
        self.query_projection = self._projection(self.units, False, "query")
        self.values_projection = self._projection(self.units, True, "values")
        self.location_projection = self._projection(self.units, False, "location")
        self.score_projection = self._projection(1, False, "score")
        self.convolution = keras.layers.Conv1D(
            self.filters,
            self.kernel_size,
            padding="same",
            data_format="channels_last",
            use_bias=False,
            kernel_initializer=fresh_initializer(self.kernel_initializer),
            dtype=self.dtype_policy,
            name="convolution",
        )

    def _projection(self, units, use_bias, name):
        initializer = fresh_initializer(self.kernel_initializer)
        return keras.layers.Dense(units, use_bias=use_bias, kernel_initializer=initializer, dtype=self.dtype_policy, name=name)

    def build(self, query_shape, values_shape):
        check_query_and_values("LocationAwareAttention", query_shape, values_shape, ranks=(2,))
        self.query_projection.build(query_shape)
        self.values_projection.build(values_shape)
        self.convolution.build((*values_shape[:2], 1))
        self.location_projection.build((*values_shape[:2], self.filters))
        self.score_projection.build((*values_shape[:2], self.units))

    def initial_state(self, values):
        """Return the weights before the first step, zeros (B, S)."""
        return keras.ops.zeros_like(values[..., 0])

    def project_values(self, values):
        """Return the keys of `values`, V h + b, (B, S, units)."""
        return self.values_projection(values)

    def call(self, query, values, state=None, keys=None, values_mask=None):
        state = self.initial_state(values) if state is None else state
        keys = self.project_values(values) if keys is None else keys
        places = self.location_projection(self.convolution(keras.ops.expand_dims(state, -1)))  # (B, S, units)
        hidden = keras.ops.tanh(keras.ops.expand_dims(self.query_projection(query), 1) + keys + places)
        scores = keras.ops.cast(keras.ops.squeeze(self.score_projection(hidden), -1), "float32")  # (B, S)
        mask = None if values_mask is None else boolean_mask("values_mask", values_mask)
        if self.smoothing:
            parts = keras.ops.sigmoid(scores)
            parts = parts if mask is None else parts * keras.ops.cast(mask, "float32")
            weights = keras.ops.divide_no_nan(parts, keras.ops.sum(parts, axis=-1, keepdims=True))
        else:
            weights = masked_softmax(self.sharpening * scores, mask)
        context, weights = context_of(query, keras.ops.expand_dims(keras.ops.cast(weights, values.dtype), 1), values)
        return context, weights

    def compute_output_shape(self, query_shape, values_shape):
        return context_shapes(query_shape, values_shape)

    def get_config(self):
        return {
            **super().get_config(),
            "units": self.units,
            "filters": self.filters,
            "kernel_size": self.kernel_size,
            "sharpening": self.sharpening,
            "smoothing": self.smoothing,
            "kernel_initializer": keras.initializers.serialize(self.kernel_initializer),
        }
