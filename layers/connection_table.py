"""Convolution whose output maps see only the input maps that a table lists (layer C3 of LeNet-5)."""

from collections.abc import Sequence
from numbers import Integral

import keras
import numpy as np

from .arguments import input_rank, integers, one_of
from .initializers import fresh_initializer

# Table I of LeCun et al. 1998, by column: the maps of S2 that each of the 16 maps of C3 combines (60 connections).
LENET5_C3_TABLE = (
    *((0, 1, 2), (1, 2, 3), (2, 3, 4), (3, 4, 5), (0, 4, 5), (0, 1, 5)),
    *((0, 1, 2, 3), (1, 2, 3, 4), (2, 3, 4, 5), (0, 3, 4, 5), (0, 1, 4, 5), (0, 1, 2, 5), (0, 1, 3, 4), (1, 2, 4, 5), (0, 2, 3, 5)),
    (0, 1, 2, 3, 4, 5),
)


def _checked_table(table) -> tuple[tuple[int, ...], ...]:
    if not isinstance(table, Sequence) or isinstance(table, str) or not table:
        raise ValueError(f"table must list, for each output map, the input maps that it sees, got {table!r}.")
    for position, row in enumerate(table):
        if not isinstance(row, Sequence) or isinstance(row, str) or not row:
            raise ValueError(f"table must list at least one input map for each output map, got {row!r} for output map {position}.")
        if any(isinstance(item, bool) or not isinstance(item, Integral) or item < 0 for item in row):
            raise ValueError(f"table must hold integers of at least 0, got {row!r} for output map {position}.")
        if len(set(row)) < len(row):
            raise ValueError(f"table must list an input map only once for each output map, got {row!r} for output map {position}.")
    return tuple(tuple(int(item) for item in row) for row in table)


@keras.saving.register_keras_serializable(package="keras_canon")
class ConnectionTableConv2D(keras.layers.Layer):
    """Convolve with the connections of a table: output map m sees only the input maps in T_m.

    y_m = f(b_m + sum over c in T_m of x_c * K_mc)        (section II.B, layer C3)

    Only existing connections are parameters: one kernel of shape (height, width, connections), ordered by output map and,
    within it, as the table lists the input maps. With Table I of the paper (`LENET5_C3_TABLE`), 25 x 60 + 16 = 1,516
    parameters. In the forward pass they are laid out in a dense kernel with zeros elsewhere, so the speed is that of one
    convolution. Images carry no time axis, so the layer takes no mask.

    Args:
        table: T, for each output map the list of the input maps that it sees, counted from 0. Its length is the number
            of output maps.
        kernel_size: height and width of the kernel; one integer for both.
        strides: steps along height and width; one integer for both.
        padding: "valid" or "same".
        activation: function f, or None.
        use_bias: whether b_m is added.
        kernel_initializer: initialiser of K. It is called with shape (height, width, n, maps) for all output maps with n
            input maps together, so that a rule by fan-in sees the true fan-in of each unit.
        bias_initializer: initialiser of b.

    Input shape:
        (batch, height, width, channels)

    Output shape:
        (batch, new height, new width, len(table))

    Raises:
        ValueError: an empty table or row, an entry that is negative, repeated or (at build) not below the channels; an
            argument out of its range; an input that has not 4 axes or no known channels.

    Reference:
        LeCun, Bottou, Bengio, Haffner, 1998, "Gradient-Based Learning Applied to Document Recognition", section II.B and
        Table I, doi:10.1109/5.726791.

    Example:
        >>> import keras
        >>> from keras_canon.layers import LENET5_C3_TABLE, ConnectionTableConv2D
        >>> layer = ConnectionTableConv2D(LENET5_C3_TABLE, kernel_size=5)
        >>> print(tuple(layer(keras.ops.ones((1, 14, 14, 6))).shape), layer.count_params())
        (1, 10, 10, 16) 1516
    """

    def __init__(
        self,
        table,
        kernel_size,
        strides=1,
        padding="valid",
        activation=None,
        use_bias=True,
        kernel_initializer="glorot_uniform",
        bias_initializer="zeros",
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.table = _checked_table(table)
        self.kernel_size = integers("kernel_size", kernel_size, 2)
        self.strides = integers("strides", strides, 2)
        self.padding = one_of("padding", padding, ("valid", "same"))
        self.activation = keras.activations.get(activation)
        self.use_bias = bool(use_bias)
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.bias_initializer = keras.initializers.get(bias_initializer)

    def build(self, input_shape):
        input_rank(type(self).__name__, input_shape, 4, "(batch, height, width, channels)")
        channels, maps = input_shape[-1], len(self.table)
        for position, row in enumerate(self.table):
            if max(row) >= channels:
                raise ValueError(f"table must hold integers below the {channels} input maps, got {list(row)} for output map {position}.")
        connections = sum(len(row) for row in self.table)
        # Place of each connection in the dense kernel; pairs that do not exist point behind the last one, at a zero.
        places = np.full((channels, maps), connections, dtype="int32")
        outputs = np.repeat(np.arange(maps), [len(row) for row in self.table])
        places[np.concatenate(self.table), outputs] = np.arange(connections)
        self._places = places
        self.kernel = self.add_weight(name="kernel", shape=(*self.kernel_size, connections), initializer=self._draw_kernel)
        self.bias = self.add_weight(name="bias", shape=(maps,), initializer=self.bias_initializer) if self.use_bias else None

    def _draw_kernel(self, shape, dtype=None):
        """Draw the maps with equally many inputs at once, in the layout (height, width, inputs, maps) that fans are counted in."""
        columns = [None] * len(self.table)
        for count in sorted({len(row) for row in self.table}):
            members = [position for position, row in enumerate(self.table) if len(row) == count]
            drawn = fresh_initializer(self.kernel_initializer)((*shape[:2], count, len(members)), dtype=dtype)
            for index, position in enumerate(members):
                columns[position] = drawn[..., index]
        return keras.ops.concatenate(columns, axis=-1)

    def dense_kernel(self):
        """Return the kernel of the equal plain convolution, (height, width, channels, maps), with zeros where the table has none."""
        kernel = keras.ops.convert_to_tensor(self.kernel)
        padded = keras.ops.pad(kernel, [[0, 0], [0, 0], [0, 1]])
        return keras.ops.take(padded, self._places, axis=-1)

    def call(self, inputs):
        outputs = keras.ops.conv(inputs, self.dense_kernel(), strides=self.strides, padding=self.padding, data_format="channels_last")
        if self.bias is not None:
            outputs = outputs + self.bias
        return self.activation(outputs)

    def compute_output_shape(self, input_shape):
        kernel = keras.KerasTensor((*self.kernel_size, input_shape[-1], len(self.table)))
        outputs = keras.ops.conv(
            keras.KerasTensor(input_shape), kernel, strides=self.strides, padding=self.padding, data_format="channels_last"
        )
        return tuple(outputs.shape)

    def get_config(self):
        return {
            **super().get_config(),
            "table": [list(row) for row in self.table],
            "kernel_size": list(self.kernel_size),
            "strides": list(self.strides),
            "padding": self.padding,
            "activation": keras.activations.serialize(self.activation),
            "use_bias": self.use_bias,
            "kernel_initializer": keras.initializers.serialize(self.kernel_initializer),
            "bias_initializer": keras.initializers.serialize(self.bias_initializer),
        }
