"""Gated recurrent unit."""

import keras

from . import arguments
from .recurrent_cell import RecurrentCell


@keras.saving.register_keras_serializable(package="keras_canon")
class GRUCell(RecurrentCell):
    """Gated recurrent unit, one step of it.

    z_t = s(x_t W_z + h_{t-1} U_z + b_z)                                 (1)
    r_t = s(x_t W_r + h_{t-1} U_r + b_r)                                 (2)
    n_t = a(x_t W_n + b_n + r_t * (h_{t-1} U_n + b'_n))                  (3)  reset after the product
    n_t = a(x_t W_n + b_n + (r_t * h_{t-1}) U_n)                         (3') reset before it, as printed
    h_t = z_t * h_{t-1} + (1 - z_t) * n_t                                (4)

    (3') is the paper's (its equation 8). (3) came with cuDNN, and torch and Keras have it: the products of a step then run at
    once, and a second bias b' = (b'_z, b'_r, b'_n) on the recurrent side is no longer redundant. The two are different functions
    of the same kernels, so weights trained with one are of no use to the other. The gates' columns lie in the order z, r, n, as Keras
    has them; torch has r, z, n (`gru_from_torch`).

    Args:
        units: width of h.
        reset_after: True for (3) with two biases, False for (3') with one.
        activation: a.
        recurrent_activation: s.
        use_bias: whether there are biases.
        kernel_initializer: initialiser of W (features, 3 units).
        recurrent_initializer: initialiser of U (units, 3 units).
        bias_initializer: initialiser of the biases, (2, 3 units) for (3), (3 units) for (3').
        kernel_regularizer: regulariser of W.
        recurrent_regularizer: regulariser of U.

    Input shape:
        inputs (batch, features); states, a list of h (batch, units).

    Output shape:
        outputs h (batch, units); states, a list of h (batch, units).

    Raises:
        ValueError: `units` below 1, or inputs that have not 2 axes.

    Reference:
        Cho, van Merrienboer, Gulcehre, Bahdanau, Bougares, Schwenk, Bengio, 2014, "Learning phrase representations using RNN
        encoder-decoder", section 2.3, arXiv:1406.1078 (whose z is the share that is kept, as here).

    Example:
        >>> import keras
        >>> from keras_canon.layers import GRUCell
        >>> print(tuple(keras.layers.RNN(GRUCell(5))(keras.ops.ones((2, 7, 4))).shape))
        (2, 5)
    """

    blocks = 3

    def __init__(
        self,
        units,
        reset_after=True,
        activation="tanh",
        recurrent_activation="sigmoid",
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
        self.reset_after = arguments.one_of("reset_after", reset_after, (True, False))
        self.activation = keras.activations.get(activation)
        self.recurrent_activation = keras.activations.get(recurrent_activation)

    def bias_shape(self):
        return (2, 3 * self.units) if self.reset_after else (3 * self.units,)

    def call(self, inputs, states):
        hidden, gates = states[0], 2 * self.units
        projected = keras.ops.matmul(inputs, self.kernel)
        if self.bias is not None:
            projected = projected + (self.bias[0] if self.reset_after else self.bias)
        recurrent = keras.ops.matmul(hidden, self.recurrent_kernel if self.reset_after else self.recurrent_kernel[:, :gates])
        if self.bias is not None and self.reset_after:
            recurrent = recurrent + self.bias[1]
        update, reset = keras.ops.split(self.recurrent_activation(projected[:, :gates] + recurrent[:, :gates]), 2, axis=1)
        candidate = self.activation(projected[:, gates:] + self._of_the_past(hidden, reset, recurrent[:, gates:]))
        hidden = update * hidden + (1 - update) * candidate
        return hidden, [hidden]

    def _of_the_past(self, hidden, reset, recurrent):
        """Return what the candidate takes from h_{t-1}: the last term of (3) or of (3')."""
        if self.reset_after:
            return reset * recurrent
        return keras.ops.matmul(reset * hidden, self.recurrent_kernel[:, 2 * self.units :])

    def get_config(self):
        return {
            **super().get_config(),
            "reset_after": self.reset_after,
            "activation": keras.activations.serialize(self.activation),
            "recurrent_activation": keras.activations.serialize(self.recurrent_activation),
        }
