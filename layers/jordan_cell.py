"""Jordan's recurrent cell."""

import keras

from . import arguments
from .initializers import fresh_initializer
from .recurrent_cell import RecurrentCell


@keras.saving.register_keras_serializable(package="keras_canon")
class JordanCell(RecurrentCell):
    """Recurrent cell that feeds back what it put out, where Elman's feeds back its hidden units.

    s_t = d s_{t-1} + y_{t-1}             (1)
    h_t = a(x_t W + s_t U + b)            (2)
    y_t = a_o(h_t V + c)                  (3)

    The report draws the network (figure 3) and gives the state units a fixed connection d to themselves; with d = 0 they hold the
    last output. Equation numbers are ours.

    Args:
        units: width of h.
        output_units: width of y.
        decay: d, in [0, 1).
        activation: a.
        output_activation: a_o.
        use_bias: whether there are b and c.
        kernel_initializer: initialiser of W (features, units) and of V (units, output_units).
        recurrent_initializer: initialiser of U (output_units, units).
        bias_initializer: initialiser of b and c.
        kernel_regularizer: regulariser of W and V.
        recurrent_regularizer: regulariser of U.

    Input shape:
        inputs (batch, features); states, a list of s_t (batch, output_units).

    Output shape:
        outputs y_t (batch, output_units); states, a list of s_{t+1} (batch, output_units).

    Raises:
        ValueError: `units` or `output_units` below 1, `decay` outside [0, 1), or inputs that have not 2 axes.

    Reference:
        Jordan, 1986, "Serial order: a parallel distributed processing approach", figure 3, ICS report 8604, UC San Diego.

    Example:
        >>> import keras
        >>> from keras_canon.layers import JordanCell
        >>> print(tuple(keras.layers.RNN(JordanCell(5, output_units=3))(keras.ops.ones((2, 7, 4))).shape))
        (2, 3)
    """

    def __init__(
        self,
        units,
        output_units,
        decay=0.0,
        activation="tanh",
        output_activation="sigmoid",
        use_bias=True,
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
        self.output_units = arguments.positive_integer("output_units", output_units)
        self.decay = arguments.rate("decay", decay)
        self.activation = keras.activations.get(activation)
        self.output_activation = keras.activations.get(output_activation)
        self.output_bias = None

    @property
    def state_sizes(self):
        return [self.output_units]

    def build(self, input_shape):
        super().build(input_shape)
        self.output_kernel = self.add_weight(
            name="output_kernel",
            shape=(self.units, self.output_units),
            initializer=fresh_initializer(self.kernel_initializer),
            regularizer=self.kernel_regularizer,
        )
        if self.use_bias:
            self.output_bias = self.add_weight(
                name="output_bias", shape=(self.output_units,), initializer=fresh_initializer(self.bias_initializer)
            )

    def call(self, inputs, states):
        summed = keras.ops.matmul(inputs, self.kernel) + keras.ops.matmul(states[0], self.recurrent_kernel)
        hidden = self.activation(self.add_bias(summed))
        summed = keras.ops.matmul(hidden, self.output_kernel)
        output = self.output_activation(summed if self.output_bias is None else summed + self.output_bias)
        return output, [self.decay * states[0] + output]

    def get_config(self):
        return {
            **super().get_config(),
            "output_units": self.output_units,
            "decay": self.decay,
            "activation": keras.activations.serialize(self.activation),
            "output_activation": keras.activations.serialize(self.output_activation),
        }
