"""Local attention of Luong et al."""

import keras

from .arguments import one_of, positive_integer
from .attention_masks import combine_masks
from .initializers import fresh_initializer
from .masked_softmax import masked_softmax
from .query_steps import check_query_and_values, context_of, context_shapes, values_mask_of, with_step_axis
from .step_positions import step_positions


@keras.saving.register_keras_serializable(package="keras_canon")
class LocalAttention(keras.layers.Layer):
    """Attend to a window of encoder states around an aligned position.

    p_t = t  (monotonic, local-m)
    p_t = S sigmoid(v_p^T tanh(W_p h_t))  (predictive, local-p)        (9)
    a_t(s) = align(h_t, h_s) within [p_t - D, p_t + D], else 0
    a_t(s) = align(h_t, h_s) exp(-(s - p_t)^2 / (2 (D / 2)^2))  (local-p)        (10)

    align is the softmax of h_t^T W_a h_s ("general") or h_t^T h_s ("dot") over the window. Positions count from 0 and skip
    padding, and S is the number of values that are not padding, so that padding on either side changes nothing.

    Args:
        window: D, half the width of the window.
        alignment: "monotonic" or "predictive".
        score: "general" or "dot".
        units: width of W_p, for "predictive".
        kernel_initializer: initialiser of W_a, W_p and v_p; each gets one of its own.

    Call arguments:
        query: h_t, decoder states.
        values: h_s, encoder states.
        values_mask: boolean (B, S), False at padding; Keras fills it.
        position: t of the first query for "monotonic", an integer or a tensor (B,).

    Input shape:
        query (B, query width) for one step or (B, T, query width) for many; values (B, S, values width)

    Output shape:
        the context (B, [T,] values width) and the weights (B, [T,] S).

    Raises:
        ValueError: a size below 1; an unknown alignment or score; `units` missing with "predictive", or given without; at
            build, other axes, or widths that differ with "dot".

    Reference:
        Luong, Pham, Manning, 2015, "Effective Approaches to Attention-based Neural Machine Translation", section 3.2,
        equations 9 and 10, arXiv:1508.04025.

    Example:
        >>> import keras
        >>> from keras_canon.layers import LocalAttention
        >>> context, weights = LocalAttention(window=1, score="dot")(keras.ops.ones((1, 3, 8)), keras.ops.ones((1, 5, 8)))
        >>> print((weights[0] > 0).numpy().astype(int).tolist())
        [[1, 1, 0, 0, 0], [1, 1, 1, 0, 0], [0, 1, 1, 1, 0]]
    """

    def __init__(self, window, alignment="monotonic", score="general", units=None, kernel_initializer="glorot_uniform", **kwargs):
        super().__init__(**kwargs)
        self.window = positive_integer("window", window)
        self.alignment = one_of("alignment", alignment, ("monotonic", "predictive"))
        self.score = one_of("score", score, ("general", "dot"))
        if units is not None and alignment == "monotonic":
            raise ValueError(f'units must be None unless alignment is "predictive", got {units!r}.')
        self.units = positive_integer("units", units) if alignment == "predictive" else None
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.supports_masking = True

    def build(self, query_shape, values_shape):
        check_query_and_values("LocalAttention", query_shape, values_shape)
        width, values_width = query_shape[-1], values_shape[-1]
        if self.score == "dot" and width != values_width:
            raise ValueError(f'Query and values must have the same width with score="dot", got {width} and {values_width}.')
        if self.score == "general":
            self.kernel = self._weight("kernel", (width, values_width))
        if self.alignment == "predictive":
            self.position_kernel = self._weight("position_kernel", (width, self.units))
            self.position_score = self._weight("position_score", (self.units, 1))

    def _weight(self, name, shape):
        return self.add_weight(name=name, shape=shape, initializer=fresh_initializer(self.kernel_initializer))

    def call(self, query, values, values_mask=None, position=0):
        queries = with_step_axis(query)  # (B, T, query width)
        mask = values_mask_of(values_mask)
        if mask is None:
            places = keras.ops.arange(keras.ops.shape(values)[1], dtype="float32")[None, None]  # (1, 1, S)
            length = keras.ops.cast(keras.ops.shape(values)[1], "float32")
        else:
            count = keras.ops.cumsum(keras.ops.cast(mask, "float32"), axis=-1)
            places, length = count - 1.0, count[..., -1:]
        if self.alignment == "predictive":
            hidden = keras.ops.tanh(keras.ops.matmul(queries, self.position_kernel))
            share = keras.ops.sigmoid(keras.ops.cast(keras.ops.matmul(hidden, self.position_score), "float32"))
            centre = length * share  # (B, T, 1)
        else:
            centre = keras.ops.cast(step_positions(keras.ops.shape(queries)[1], position), "float32")[..., None]
        distance = places - centre  # (B or 1, T, S)
        inside = combine_masks(keras.ops.absolute(distance) <= self.window, mask)
        projected = keras.ops.matmul(queries, self.kernel) if self.score == "general" else queries
        scores = keras.ops.cast(keras.ops.matmul(projected, keras.ops.swapaxes(values, 1, 2)), "float32")
        weights = masked_softmax(scores, inside)
        if self.alignment == "predictive":
            weights = weights * keras.ops.exp(-keras.ops.square(distance) / (2.0 * (self.window / 2.0) ** 2))
        return context_of(query, keras.ops.cast(weights, values.dtype), values)

    def compute_output_shape(self, query_shape, values_shape):
        return context_shapes(query_shape, values_shape)

    def get_config(self):
        return {
            **super().get_config(),
            "window": self.window,
            "alignment": self.alignment,
            "score": self.score,
            "units": self.units,
            "kernel_initializer": keras.initializers.serialize(self.kernel_initializer),
        }
