"""Leaky-integrator recurrent cell."""

import keras

from .recurrent_cell import RecurrentCell, share


@keras.saving.register_keras_serializable(package="keras_canon")
class LeakyIntegratorCell(RecurrentCell):
    """Recurrent cell whose units keep a share of their last value, the Euler step of a neuron that leaks.

    h_t = (1 - alpha) h_{t-1} + alpha a(x_t W + h_{t-1} U + b)        (1)

    alpha is the step over the time constant; alpha = 1 is Elman's cell. Jaeger et al. write it for a fixed reservoir (their
    equation (2), with the gain and the leak of one unit each folded into alpha); here W, U and b are trained.

    Args:
        units: width of h.
        leak: alpha, in (0, 1].
        activation: a.
        use_bias: whether there is b.
        kernel_initializer: initialiser of W (features, units).
        recurrent_initializer: initialiser of U (units, units).
        bias_initializer: initialiser of b.
        kernel_regularizer: regulariser of W.
        recurrent_regularizer: regulariser of U.

    Input shape:
        inputs (batch, features); states, a list of h (batch, units).

    Output shape:
        outputs (batch, units); states, a list of h (batch, units).

    Raises:
        ValueError: `units` below 1, `leak` outside (0, 1], or inputs that have not 2 axes.

    Reference:
        Jaeger, Lukosevicius, Popovici, Siewert, 2007, "Optimization and applications of echo state networks with leaky-integrator
        neurons", section 2, Neural Networks 20(3).

    Example:
        >>> import keras
        >>> from keras_canon.layers import LeakyIntegratorCell
        >>> print(tuple(keras.layers.RNN(LeakyIntegratorCell(5, leak=0.3))(keras.ops.ones((2, 7, 4))).shape))
        (2, 5)
    """

    def __init__(
        self,
        units,
        leak=0.5,
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
        self.leak = share("leak", leak)
        self.activation = keras.activations.get(activation)

    def call(self, inputs, states):
        summed = keras.ops.matmul(inputs, self.kernel) + keras.ops.matmul(states[0], self.recurrent_kernel)
        hidden = (1 - self.leak) * states[0] + self.leak * self.activation(self.add_bias(summed))
        return hidden, [hidden]

    def get_config(self):
        return {**super().get_config(), "leak": self.leak, "activation": keras.activations.serialize(self.activation)}
