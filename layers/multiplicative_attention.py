"""Multiplicative attention of Luong et al., and its concat and location scores."""

import keras

from .arguments import one_of, positive_integer
from .initializers import fresh_initializer
from .masked_softmax import masked_softmax
from .query_steps import check_query_and_values, context_of, context_shapes, values_mask_of, with_step_axis


@keras.saving.register_keras_serializable(package="keras_canon")
class MultiplicativeAttention(keras.layers.Layer):
    """Compare a decoder state with each encoder state by a product.

    a_t(s) = exp(score(h_t, h_s)) / sum over s' of exp(score(h_t, h_s'))        (7)
    score(h_t, h_s) = h_t^T h_s (dot), h_t^T W_a h_s (general), v_a^T tanh(W_a [h_t; h_s]) (concat)        (8)
    a_t = softmax(W_a h_t)  (location)        (9)

    Places of "location" count from the first real value, so that padding on either side changes nothing.

    Args:
        score: "dot", "general", "concat" or "location".
        units: width of the hidden layer of "concat".
        max_length: largest number of values for "location", whose W_a has a row for each place.
        kernel_initializer: initialiser of W_a and v_a; each gets one of its own.

    Call arguments:
        query: h_t, decoder states.
        values: h_s, encoder states.
        values_mask: boolean (B, S), False at padding; Keras fills it.

    Input shape:
        query (B, query width) for one step or (B, T, query width) for many; values (B, S, values width)

    Output shape:
        the context (B, [T,] values width) and the weights (B, [T,] S).

    Raises:
        ValueError: an unknown score; `units` or `max_length` missing where they are needed, or given where they are not; at
            build, other axes, widths that differ with "dot", more values than `max_length`.

    Reference:
        Luong, Pham, Manning, 2015, "Effective Approaches to Attention-based Neural Machine Translation", section 3.1,
        equations 7 to 9, arXiv:1508.04025.

    Example:
        >>> import keras
        >>> from keras_canon.layers import MultiplicativeAttention
        >>> context, weights = MultiplicativeAttention("general")(keras.ops.ones((2, 3, 8)), keras.ops.ones((2, 5, 12)))
        >>> print(context.shape, weights.shape)
        (2, 3, 12) (2, 3, 5)
    """

    def __init__(self, score="dot", units=None, max_length=None, kernel_initializer="glorot_uniform", **kwargs):
        super().__init__(**kwargs)
        self.score = one_of("score", score, ("dot", "general", "concat", "location"))
        for name, value, user in (("units", units, "concat"), ("max_length", max_length, "location")):
            if value is not None and score != user:
                raise ValueError(f'{name} must be None unless score is "{user}", got {value!r} with score={score!r}.')
        self.units = positive_integer("units", units) if score == "concat" else None
        self.max_length = positive_integer("max_length", max_length) if score == "location" else None
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.supports_masking = True

    def build(self, query_shape, values_shape):
        check_query_and_values("MultiplicativeAttention", query_shape, values_shape)
        width, values_width = query_shape[-1], values_shape[-1]
        if self.score == "dot" and width != values_width:
            raise ValueError(f'Query and values must have the same width with score="dot", got {width} and {values_width}.')
        self._check_length(values_shape[1])
        shapes = {
            "dot": [],
            "general": [("kernel", (width, values_width))],
            "concat": [("kernel", (width + values_width, self.units)), ("score_kernel", (self.units, 1))],
            "location": [("kernel", (width, self.max_length))],
        }
        for name, shape in shapes[self.score]:
            setattr(self, name, self.add_weight(name=name, shape=shape, initializer=fresh_initializer(self.kernel_initializer)))

    def _check_length(self, length):
        if self.score == "location" and length is not None and length > self.max_length:
            raise ValueError(f"{length} values are more than max_length={self.max_length}.")

    def _scores(self, query, values, mask):
        """Return the scores (B, T, S)."""
        if self.score == "location":
            self._check_length(values.shape[1])
            scores = keras.ops.matmul(query, self.kernel)  # (B, T, max_length)
            if mask is None:
                return scores[..., : keras.ops.shape(values)[1]]
            places = keras.ops.maximum(keras.ops.cumsum(keras.ops.cast(mask, "int32"), axis=-1) - 1, 0)  # (B, 1, S)
            return keras.ops.take_along_axis(scores, places, axis=-1)
        if self.score == "concat":
            # W_a [h_t; h_s] is the sum of two products, each taken once rather than for every pair.
            width = query.shape[-1]
            queries = keras.ops.expand_dims(keras.ops.matmul(query, self.kernel[:width]), 2)
            hidden = keras.ops.tanh(queries + keras.ops.expand_dims(keras.ops.matmul(values, self.kernel[width:]), 1))
            return keras.ops.squeeze(keras.ops.matmul(hidden, self.score_kernel), -1)  # hidden is (B, T, S, units)
        query = keras.ops.matmul(query, self.kernel) if self.score == "general" else query
        return keras.ops.matmul(query, keras.ops.swapaxes(values, 1, 2))

    def call(self, query, values, values_mask=None):
        mask = values_mask_of(values_mask)
        weights = masked_softmax(self._scores(with_step_axis(query), values, mask), mask)
        return context_of(query, weights, values)

    def compute_output_shape(self, query_shape, values_shape):
        return context_shapes(query_shape, values_shape)

    def get_config(self):
        return {
            **super().get_config(),
            "score": self.score,
            "units": self.units,
            "max_length": self.max_length,
            "kernel_initializer": keras.initializers.serialize(self.kernel_initializer),
        }
