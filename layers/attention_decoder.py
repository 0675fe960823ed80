"""The decoder of Bahdanau et al.: a gated recurrent unit that looks at the source before each step."""

import keras

from .additive_attention import AdditiveAttention
from .arguments import positive_integer
from .gru_cell import GRUCell
from .recurrent_kernel import Kernel, scan


@keras.saving.register_keras_serializable(package="keras_canon")
class AttentionDecoder(keras.layers.Layer):
    """Run a gated recurrent unit over target steps, each with a context that its last state picks out of the source.

    c_i = sum over j of a_ij h_j,  a_i = attention(s_(i-1), h)        (section A.1.2)
    s_i = GRU(s_(i-1), [E y_(i-1); c_i])                              (section A.2.2, the reset gate before the product)

    A masked target step repeats the state. Masked source steps get no attention.

    Args:
        units: n, width of s.
        attention_units: n', width of the comparison.

    Call arguments:
        inputs: E y, the embedded target steps, each to be followed by the next.
        values: h, the source states.
        initial_state: s_0.
        inputs_mask: booleans (B, T), False at target steps that are padding; Keras fills it.
        values_mask: booleans (B, S), False at source steps that are padding; Keras fills it.

    Input shape:
        inputs (B, T, features), values (B, S, values width), initial_state (B, units)

    Output shape:
        the states s_(i-1) that each step looked with (B, T, units), the contexts (B, T, values width), the attention (B, T, S), and the
        last state (B, units).

    Raises:
        ValueError: a size below 1; at build, inputs or values that have not three axes, or a state of another width.

    Reference:
        Bahdanau, Cho, Bengio, 2015, "Neural machine translation by jointly learning to align and translate", sections A.1 and A.2,
        arXiv:1409.0473.

    Example:
        >>> import keras
        >>> from keras_canon.layers import AttentionDecoder
        >>> outputs = AttentionDecoder(8, 4)(keras.ops.ones((2, 3, 5)), keras.ops.ones((2, 6, 7)), keras.ops.ones((2, 8)))
        >>> print([tuple(item.shape) for item in outputs])
        [(2, 3, 8), (2, 3, 7), (2, 3, 6), (2, 8)]
    """

    def __init__(self, units, attention_units, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.units = positive_integer("units", units)
        self.attention_units = positive_integer("attention_units", attention_units)
        self.attention = AdditiveAttention(self.attention_units, dtype=self.dtype_policy, name="attention")
        self.cell = GRUCell(self.units, reset_after=False, dtype=self.dtype_policy, name="cell")

    def build(self, inputs_shape, values_shape, initial_state_shape):
        for name, shape in (("inputs", inputs_shape), ("values", values_shape)):
            if len(shape) != 3 or shape[-1] is None:
                raise ValueError(f"AttentionDecoder expects {name} of shape (batch, steps, width) with a known width, got {tuple(shape)}.")
        if tuple(initial_state_shape)[1:] != (self.units,):
            raise ValueError(f"initial_state must have shape (batch, units) with units={self.units}, got {tuple(initial_state_shape)}.")
        self.attention.build((inputs_shape[0], self.units), values_shape)
        self.cell.build((inputs_shape[0], inputs_shape[-1] + values_shape[-1]))

    def call(self, inputs, values, initial_state, inputs_mask=None, values_mask=None):
        keys = self.attention.project_values(values)
        initial_state = keras.ops.cast(initial_state, self.compute_dtype)
        sizes = (*keras.ops.shape(inputs)[:2], keras.ops.shape(values)[1])  # B, T, S

        def step(embedded, carried):
            state = keras.ops.reshape(carried[:, : self.units], (-1, self.units))
            context, weights = self.attention(state, values, keys, values_mask=values_mask)
            new, _ = self.cell(keras.ops.concatenate([embedded, context], axis=-1), [state])
            return [keras.ops.concatenate([new, context, weights], axis=-1)]

        # the loop collects what it carries, so context and weights are carried beside the state, (B, units + values width + S)
        nothing = keras.ops.zeros_like(values)
        start = keras.ops.concatenate([initial_state, keras.ops.sum(nothing, axis=1), keras.ops.sum(nothing, axis=-1)], axis=-1)
        collected, (last,) = scan("loop", Kernel(step), inputs, [start], inputs_mask)
        states = self._part(collected, 0, self.units, sizes)
        contexts = self._part(collected, self.units, values.shape[-1], sizes)
        weights = self._part(collected, self.units + values.shape[-1], sizes[2], sizes)
        before = keras.ops.concatenate([initial_state[:, None], states], axis=1)[:, : sizes[1]]
        return before, contexts, weights, keras.ops.reshape(last[:, : self.units], (-1, self.units))

    def _part(self, collected, start, width, sizes):
        """Return `width` of what was collected, whose last axis has a size that only running tells."""
        return keras.ops.reshape(collected[:, :, start : start + width], (*sizes[:2], width))

    def compute_mask(self, inputs, mask=None):
        mask = mask[0] if isinstance(mask, list | tuple) else mask
        return [mask, mask, mask, None]

    def compute_output_shape(self, inputs_shape, values_shape, initial_state_shape):
        batch, steps = inputs_shape[:2]
        return (batch, steps, self.units), (batch, steps, values_shape[-1]), (batch, steps, values_shape[1]), (batch, self.units)

    def get_config(self):
        return {**super().get_config(), "units": self.units, "attention_units": self.attention_units}
