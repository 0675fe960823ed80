"""What the recurrent cells share: their arguments, their weights and their zero initial state."""

import keras

from . import arguments
from .initializers import fresh_initializer


def share(name, value) -> float:
    """Return `value` as a float in (0, 1]."""
    value = arguments.real(name, value, 0.0, 1.0)
    if value == 0.0:
        raise ValueError(f"{name} must be above 0 and at most 1, got {value!r}.")
    return value


class RecurrentCell(keras.layers.Layer):
    """Abstract cell: one step of a recurrence, called as `outputs, states = cell(inputs, states)` by `keras.layers.RNN`.

    A subclass states how many blocks of `units` columns its matrices have (`blocks`) and writes its equation in `call`. The mask of a
    sequence is the business of the layer that runs the cell over it.
    """

    blocks = 1

    def __init__(
        self,
        units,
        use_bias=True,
        kernel_initializer="glorot_uniform",
        recurrent_initializer="orthogonal",
        bias_initializer="zeros",
        kernel_regularizer=None,
        recurrent_regularizer=None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.units = arguments.positive_integer("units", units)
        self.use_bias = arguments.one_of("use_bias", use_bias, (True, False))
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.recurrent_initializer = keras.initializers.get(recurrent_initializer)
        self.bias_initializer = keras.initializers.get(bias_initializer)
        self.kernel_regularizer = keras.regularizers.get(kernel_regularizer)
        self.recurrent_regularizer = keras.regularizers.get(recurrent_regularizer)
        self.bias = None

    @property
    def state_sizes(self) -> list[int]:
        """Widths of the states, the one that the recurrent kernel multiplies first."""
        return [self.units]

    @property
    def state_size(self):
        """Widths of the states as `keras.layers.RNN` asks for them."""
        return self.state_sizes if len(self.state_sizes) > 1 else self.state_sizes[0]

    @property
    def output_size(self) -> int:
        """Width of the output."""
        return self.state_sizes[0]

    def bias_shape(self) -> tuple[int, ...]:
        """Return the shape of the bias."""
        return (self.blocks * self.units,)

    def initial_bias(self, shape, dtype=None):
        """Return the bias at the start."""
        return fresh_initializer(self.bias_initializer)(shape, dtype=dtype)

    def build(self, input_shape):
        arguments.input_rank(type(self).__name__, input_shape, 2, "(batch, features)")
        columns = self.blocks * self.units
        self.kernel = self.add_weight(
            name="kernel",
            shape=(input_shape[-1], columns),
            initializer=fresh_initializer(self.kernel_initializer),
            regularizer=self.kernel_regularizer,
        )
        self.recurrent_kernel = self.add_weight(
            name="recurrent_kernel",
            shape=(self.state_sizes[0], columns),
            initializer=fresh_initializer(self.recurrent_initializer),
            regularizer=self.recurrent_regularizer,
        )
        if self.use_bias:
            self.bias = self.add_weight(name="bias", shape=self.bias_shape(), initializer=self.initial_bias)

    def add_bias(self, summed):
        """Return `summed` plus the bias, if there is one."""
        return summed if self.bias is None else summed + self.bias

    def get_initial_state(self, batch_size=None):
        """Return zero states (batch_size, width) in a list."""
        return [keras.ops.zeros((batch_size, size), dtype=self.compute_dtype) for size in self.state_sizes]

    def compute_output_shape(self, input_shape):
        return (input_shape[0], self.output_size), [(input_shape[0], size) for size in self.state_sizes]

    def get_config(self):
        return {
            **super().get_config(),
            "units": self.units,
            "use_bias": self.use_bias,
            "kernel_initializer": keras.initializers.serialize(self.kernel_initializer),
            "recurrent_initializer": keras.initializers.serialize(self.recurrent_initializer),
            "bias_initializer": keras.initializers.serialize(self.bias_initializer),
            "kernel_regularizer": keras.regularizers.serialize(self.kernel_regularizer),
            "recurrent_regularizer": keras.regularizers.serialize(self.recurrent_regularizer),
        }
