"""Gated recurrent unit over whole sequences."""

import keras

from .gru_cell import GRUCell
from .gru_kernel import gru_kernel, gru_reset_before_kernel
from .recurrent_layer import RecurrentLayer


@keras.saving.register_keras_serializable(package="keras_canon")
class GRU(RecurrentLayer):
    """Gated recurrent unit over a sequence, computed by a kernel made for training speed.

    z_t = s(x_t W_z + h_{t-1} U_z + b_z)                                 (1)
    r_t = s(x_t W_r + h_{t-1} U_r + b_r)                                 (2)
    n_t = tanh(x_t W_n + b_n + r_t * (h_{t-1} U_n + b'_n))               (3)  reset after the product
    n_t = tanh(x_t W_n + b_n + (r_t * h_{t-1}) U_n)                      (3') reset before it, as printed
    h_t = z_t * h_{t-1} + (1 - z_t) * n_t                                (4)

    The same arithmetic and the same weights as `keras.layers.RNN(GRUCell(units))` (`layer.cell` is that cell) and as
    `keras.layers.GRU`. In training (3) is computed by a loop compiled by XLA whose gradient is written by hand (first order only), or
    by cuDNN where there is a GPU, which cannot be tested without one. In inference, and so in every export, and for (3'), it is a plain
    loop without compiled parts. For other activations, run the cell in `keras.layers.RNN`.

    A masked step repeats the state, wherever in the sequence it lies, and its output is the repeated state, or zero with
    `zero_output_for_mask`.

    Args:
        units: width of h.
        reset_after: True for (3), False for (3').
        use_bias: whether there are biases.
        kernel_initializer: initialiser of W (features, 3 units).
        recurrent_initializer: initialiser of U (units, 3 units).
        bias_initializer: initialiser of the biases, (2, 3 units) for (3), (3 units) for (3').
        kernel_regularizer: regulariser of W.
        recurrent_regularizer: regulariser of U.
        dropout: rate at which features of x are dropped in training, the same ones at every step of a sequence.
        return_sequences: whether to return h at every step instead of the last.
        return_state: whether to return the final h besides.
        go_backwards: whether to run from the last step to the first; outputs come in the order in which they are computed.
        stateful: whether a batch starts from the state in which the one before it ended; needs a fixed batch size.
        zero_output_for_mask: whether outputs at masked steps are zero.
        implementation: "auto" as described; "loop" for the plain loop in training too, which has gradients of any order;
            "cudnn" for cuDNN in inference too, which exports to machines with a GPU only.
        seed: seed of the dropout.

    Input shape:
        (batch, time, features), both sizes may be unknown, time at least 1; `initial_state`, h (batch, units) or a list of it.

    Output shape:
        (batch, units), or (batch, time, units) with `return_sequences`; with `return_state` a tuple of this and h.

    Raises:
        ValueError: an argument out of range, an input that has not 3 axes, an `initial_state` of another shape, or, when stateful,
            a batch size that is unknown or another than that of the states.

    Reference:
        Cho, van Merrienboer, Gulcehre, Bahdanau, Bougares, Schwenk, Bengio, 2014, "Learning phrase representations using RNN
        encoder-decoder", section 2.3, arXiv:1406.1078; dropout: Gal, Ghahramani, 2016, arXiv:1512.05287.

    Example:
        >>> import keras
        >>> from keras_canon.layers import GRU
        >>> print(tuple(GRU(5, return_sequences=True)(keras.ops.ones((2, 7, 4))).shape))
        (2, 7, 5)
    """

    cell_arguments = (
        "units",
        "reset_after",
        "use_bias",
        "kernel_initializer",
        "recurrent_initializer",
        "bias_initializer",
        "kernel_regularizer",
        "recurrent_regularizer",
    )

    def __init__(
        self,
        units,
        reset_after=True,
        use_bias=True,
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
        self.cell = GRUCell(
            units,
            reset_after=reset_after,
            use_bias=use_bias,
            kernel_initializer=kernel_initializer,
            recurrent_initializer=recurrent_initializer,
            bias_initializer=bias_initializer,
            kernel_regularizer=kernel_regularizer,
            recurrent_regularizer=recurrent_regularizer,
            name="gru_cell",
            dtype=self.dtype_policy,
        )

    @property
    def has_fast_form(self):
        """Whether the recurrence is the one that has a compiled form and that cuDNN offers."""
        return self.cell.reset_after

    def kernel(self, kernel, recurrent_kernel, bias):
        if self.cell.reset_after:
            return gru_kernel(kernel, recurrent_kernel, bias[0], bias[1])
        return gru_reset_before_kernel(kernel, recurrent_kernel, bias)
