"""Long short-term memory over whole sequences."""

import keras

from .lstm_cell import LSTMCell
from .lstm_kernel import lstm_kernel
from .recurrent_layer import RecurrentLayer


@keras.saving.register_keras_serializable(package="keras_canon")
class LSTM(RecurrentLayer):
    """Long short-term memory over a sequence, computed by a kernel made for training speed.

    i_t, f_t, o_t = s(x_t W + h_{t-1} U + b), cut into i, f and o      (1)
    g_t = tanh(x_t W_c + h_{t-1} U_c + b_c)                            (2)
    c_t = f_t * c_{t-1} + i_t * g_t                                    (3)
    h_t = o_t * tanh(c_t)                                              (4)

    The same arithmetic and the same weights as `keras.layers.RNN(LSTMCell(units))` (`layer.cell` is that cell) and as
    `keras.layers.LSTM`. In training the sequence is computed by a loop compiled by XLA whose gradient is written by hand (first order
    only), or by cuDNN where there is a GPU, which cannot be tested without one. In inference, and so in every export, it is a plain
    loop without compiled parts. For peepholes or other activations, run the cell in `keras.layers.RNN`.

    A masked step repeats the state, wherever in the sequence it lies, and its output is the repeated state, or zero with
    `zero_output_for_mask`.

    Args:
        units: width of h and c.
        use_bias: whether there is b.
        unit_forget_bias: whether b_f starts at 1.
        kernel_initializer: initialiser of W (features, 4 units).
        recurrent_initializer: initialiser of U (units, 4 units).
        bias_initializer: initialiser of b.
        kernel_regularizer: regulariser of W.
        recurrent_regularizer: regulariser of U.
        dropout: rate at which features of x are dropped in training, the same ones at every step of a sequence.
        return_sequences: whether to return h at every step instead of the last.
        return_state: whether to return the final h and c besides.
        go_backwards: whether to run from the last step to the first; outputs come in the order in which they are computed.
        stateful: whether a batch starts from the states in which the one before it ended; needs a fixed batch size.
        zero_output_for_mask: whether outputs at masked steps are zero.
        implementation: "auto" as described; "loop" for the plain loop in training too, which has gradients of any order;
            "cudnn" for cuDNN in inference too, which exports to machines with a GPU only.
        seed: seed of the dropout.

    Input shape:
        (batch, time, features), both sizes may be unknown, time at least 1; `initial_state`, a list of h and c (batch, units).

    Output shape:
        (batch, units), or (batch, time, units) with `return_sequences`; with `return_state` a tuple of this and h and c.

    Raises:
        ValueError: an argument out of range, an input that has not 3 axes, an `initial_state` of other shapes, or, when stateful,
            a batch size that is unknown or another than that of the states.

    Reference:
        Hochreiter, Schmidhuber, 1997, "Long short-term memory", Neural Computation 9(8); Gers, Schmidhuber, Cummins, 2000, "Learning
        to forget", section 3, Neural Computation 12(10); dropout: Gal, Ghahramani, 2016, arXiv:1512.05287.

    Example:
        >>> import keras
        >>> from keras_canon.layers import LSTM
        >>> print(tuple(LSTM(5, return_sequences=True)(keras.ops.ones((2, 7, 4))).shape))
        (2, 7, 5)
    """

    cell_arguments = (
        "units",
        "use_bias",
        "unit_forget_bias",
        "kernel_initializer",
        "recurrent_initializer",
        "bias_initializer",
        "kernel_regularizer",
        "recurrent_regularizer",
    )
    other_states = " and c"

    def __init__(
        self,
        units,
        use_bias=True,
        unit_forget_bias=True,
        kernel_initializer="glorot_uniform",
        recurrent_initializer="orthogonal",
        bias_initializer="zeros",
        kernel_regularizer=None,
        recurrent_regularizer=None,
        dropout=0.0,
        return_sequences=False,
        return_state=False,
        go_backwards=False,
        stateful=False,
        zero_output_for_mask=False,
        implementation="auto",
        seed=None,
        **kwargs,
    ):
        super().__init__(
            dropout=dropout,
            return_sequences=return_sequences,
            return_state=return_state,
            go_backwards=go_backwards,
            stateful=stateful,
            zero_output_for_mask=zero_output_for_mask,
            implementation=implementation,
            seed=seed,
            **kwargs,
        )
        self.cell = LSTMCell(
            units,
            use_bias=use_bias,
            unit_forget_bias=unit_forget_bias,
            kernel_initializer=kernel_initializer,
            recurrent_initializer=recurrent_initializer,
            bias_initializer=bias_initializer,
            kernel_regularizer=kernel_regularizer,
            recurrent_regularizer=recurrent_regularizer,
            name="lstm_cell",
            dtype=self.dtype_policy,
        )

    def kernel(self, kernel, recurrent_kernel, bias):
        return lstm_kernel(kernel, recurrent_kernel, bias)
