"""Elman's recurrent cell."""

import keras

from .recurrent_cell import RecurrentCell


@keras.saving.register_keras_serializable(package="keras_canon")
class ElmanCell(RecurrentCell):
    """Simple recurrent cell: the hidden units see their own last values, which Elman calls context units.

    h_t = a(x_t W + h_{t-1} U + b)        (1)

    The paper draws the network (figure 2) without numbering an equation. It uses the logistic a; tanh, the default here, is what
    is in use since.

    Args:
        units: width of h.
        activation: a.
        use_bias: whether there is b.
        kernel_initializer: initialiser of W (features, units).
        recurrent_initializer: initialiser of U (units, units).
        bias_initializer: initialiser of b.
        kernel_regularizer: regulariser of W.
        recurrent_regularizer: regulariser of U.

    Input shape:
        inputs (batch, features); states, a list of h (batch, units). For sequences, `keras.layers.RNN(ElmanCell(units))`.

    Output shape:
        outputs (batch, units); states, a list of h (batch, units).

    Raises:
        ValueError: `units` below 1, or inputs that have not 2 axes.

    Reference:
        Elman, 1990, "Finding structure in time", figure 2, Cognitive Science 14, 179-211.

    Example:
        >>> import keras
        >>> from keras_canon.layers import ElmanCell
        >>> print(tuple(keras.layers.RNN(ElmanCell(5))(keras.ops.ones((2, 7, 4))).shape))
        (2, 5)
    """

    def __init__(
        self,
        units,
        activation="tanh",
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
        self.activation = keras.activations.get(activation)

    def call(self, inputs, states):
        summed = keras.ops.matmul(inputs, self.kernel) + keras.ops.matmul(states[0], self.recurrent_kernel)
        hidden = self.activation(self.add_bias(summed))
        return hidden, [hidden]

    def get_config(self):
        return {**super().get_config(), "activation": keras.activations.serialize(self.activation)}
