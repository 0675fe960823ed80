"""Long short-term memory cell."""

import keras

from . import arguments
from .initializers import fresh_initializer
from .recurrent_cell import RecurrentCell


@keras.saving.register_keras_serializable(package="keras_canon")
class LSTMCell(RecurrentCell):
    """Long short-term memory with a forget gate, one step of it.

    i_t = s(x_t W_i + h_{t-1} U_i + p_i * c_{t-1} + b_i)        (1)
    f_t = s(x_t W_f + h_{t-1} U_f + p_f * c_{t-1} + b_f)        (2)
    g_t = a(x_t W_c + h_{t-1} U_c + b_c)                        (3)
    c_t = f_t * c_{t-1} + i_t * g_t                             (4)
    o_t = s(x_t W_o + h_{t-1} U_o + p_o * c_t + b_o)            (5)
    h_t = o_t * a(c_t)                                          (6)

    The gates' columns lie in the order i, f, c, o, as Keras has them, so weights move both ways without a change. The terms in p
    are the peepholes of Gers and Schmidhuber, off by default. Over whole sequences, `LSTM` computes the same without peepholes, faster.

    Args:
        units: width of h and c.
        peepholes: whether the gates see the cell, through p_i, p_f and p_o.
        activation: a.
        recurrent_activation: s.
        use_bias: whether there is b.
        unit_forget_bias: whether b_f starts at 1 (Jozefowicz et al. 2015), so that the cell remembers before it has learned to.
        kernel_initializer: initialiser of W (features, 4 units), and of p.
        recurrent_initializer: initialiser of U (units, 4 units).
        bias_initializer: initialiser of b.
        kernel_regularizer: regulariser of W.
        recurrent_regularizer: regulariser of U.

    Input shape:
        inputs (batch, features); states, a list of h and c (batch, units).

    Output shape:
        outputs h (batch, units); states, a list of h and c (batch, units).

    Raises:
        ValueError: `units` below 1, or inputs that have not 2 axes.

    Reference:
        Hochreiter, Schmidhuber, 1997, "Long short-term memory", Neural Computation 9(8); forget gate: Gers, Schmidhuber, Cummins,
        2000, "Learning to forget", Neural Computation 12(10), section 3; peepholes: Gers, Schmidhuber, 2000, "Recurrent nets that
        time and count", IJCNN; bias of the forget gate: Jozefowicz, Zaremba, Sutskever, 2015, section 2.2, ICML.

    Example:
        >>> import keras
        >>> from keras_canon.layers import LSTMCell
        >>> print(tuple(keras.layers.RNN(LSTMCell(5, peepholes=True))(keras.ops.ones((2, 7, 4))).shape))
        (2, 5)
    """

    blocks = 4

    def __init__(
        self,
        units,
        peepholes=False,
        activation="tanh",
        recurrent_activation="sigmoid",
        use_bias=True,
        unit_forget_bias=True,
        kernel_initializer="glorot_uniform",
        recurrent_initializer="orthogonal",
        bias_initializer="zeros",
        kernel_regularizer=None,
        recurrent_regularizer=None,
        **kwargs,
    ):
        super().__init__(
            units,
            use_bias=use_bias,
            kernel_initializer=kernel_initializer,
            recurrent_initializer=recurrent_initializer,
            bias_initializer=bias_initializer,
            kernel_regularizer=kernel_regularizer,
            recurrent_regularizer=recurrent_regularizer,
            **kwargs,
        )
        self.peepholes = arguments.one_of("peepholes", peepholes, (True, False))
        self.activation = keras.activations.get(activation)
        self.recurrent_activation = keras.activations.get(recurrent_activation)
        self.unit_forget_bias = arguments.one_of("unit_forget_bias", unit_forget_bias, (True, False))

    @property
    def state_sizes(self):
        return [self.units, self.units]

    def initial_bias(self, shape, dtype=None):
        bias = super().initial_bias(shape, dtype=dtype)
        if not self.unit_forget_bias:
            return bias
        return keras.ops.concatenate([bias[: self.units], keras.ops.ones((self.units,), bias.dtype), bias[2 * self.units :]])

    def build(self, input_shape):
        super().build(input_shape)
        if self.peepholes:
            self.peephole_kernel = self.add_weight(
                name="peephole_kernel", shape=(3, self.units), initializer=fresh_initializer(self.kernel_initializer)
            )

    def call(self, inputs, states):
        hidden, cell = states
        summed = keras.ops.matmul(inputs, self.kernel) + keras.ops.matmul(hidden, self.recurrent_kernel)
        update, forget, candidate, output = keras.ops.split(self.add_bias(summed), 4, axis=1)
        if self.peepholes:
            update = update + self.peephole_kernel[0] * cell
            forget = forget + self.peephole_kernel[1] * cell
        cell = self.recurrent_activation(forget) * cell + self.recurrent_activation(update) * self.activation(candidate)
        if self.peepholes:
            output = output + self.peephole_kernel[2] * cell
        hidden = self.recurrent_activation(output) * self.activation(cell)
        return hidden, [hidden, cell]

    def get_config(self):
        return {
            **super().get_config(),
            "peepholes": self.peepholes,
            "activation": keras.activations.serialize(self.activation),
            "recurrent_activation": keras.activations.serialize(self.recurrent_activation),
            "unit_forget_bias": self.unit_forget_bias,
        }
