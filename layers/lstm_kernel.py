"""The arithmetic of `LSTM` over a sequence, and its derivative by hand.

Gates lie in the order i, f, c, o (Keras's and cuDNN's). With z_t = x_t W + h_{t-1} U + b cut into four:

    i, f, o = sigmoid(z_i, z_f, z_o)    g = tanh(z_c)    c_t = f c_{t-1} + i g    h_t = o tanh(c_t)

and, going backwards with dh and dc the gradients at h_t and c_t:

    dc += dh o (1 - tanh(c_t)^2)
    dz = (dc g i (1 - i),  dc c_{t-1} f (1 - f),  dc i (1 - g^2),  dh tanh(c_t) o (1 - o))
    dh_{t-1} = dz U^T    dc_{t-1} = dc f

All factors beside dh and dc are known in the forward pass, which keeps them in place of the gates; the backward loop is left with
multiplications and dz U^T.
"""

import keras

from .recurrent_kernel import (
    Kernel,
    backwards,
    compiled,
    cut,
    differentiated,
    flat_parameters,
    forwards,
    input_gradient,
    length_of,
    pad,
    project,
    put,
    room,
    states_before,
    weight_gradient,
)


def lstm_kernel(kernel, recurrent_kernel, bias) -> Kernel:
    """Return the parts of an LSTM of kernel (F, 4U), recurrent kernel (U, 4U) and bias (4U); its states are h and c."""

    def step(inputs, hidden, cell):
        summed = keras.ops.matmul(inputs, kernel) + keras.ops.matmul(hidden, recurrent_kernel) + bias
        update, forget, candidate, output = keras.ops.split(summed, 4, axis=1)
        cell = keras.ops.sigmoid(forget) * cell + keras.ops.sigmoid(update) * keras.ops.tanh(candidate)
        return keras.ops.sigmoid(output) * keras.ops.tanh(cell), cell

    weights = (kernel, recurrent_kernel, bias)
    return Kernel(step, lambda *arguments: _trainable(weights, *arguments), lambda: _cudnn_parameters(*weights))


def _trainable(weights, inputs, states, keep):
    keep = pad(keep)

    @differentiated
    def _run(inputs, kernel, recurrent_kernel, bias, hidden, cell):
        length = length_of(inputs)
        factors, pairs, outputs, *final = _forward(pad(inputs), kernel, recurrent_kernel, bias, hidden, cell, keep, length)
        outputs = cut(outputs, inputs)

        def gradient(to_outputs, to_hidden, to_cell):
            upstream = (pad(to_outputs), to_hidden, to_cell)
            through, to_bias, to_hidden, to_cell = _backward(upstream, recurrent_kernel, factors, pairs, keep, length)
            through = cut(through, inputs)
            to_weights = weight_gradient(keras.ops.concatenate([inputs, states_before(hidden, outputs)], axis=2), through)
            to_kernel, to_recurrent = to_weights[: inputs.shape[-1]], to_weights[inputs.shape[-1] :]
            return input_gradient(inputs, kernel, through), to_kernel, to_recurrent, to_bias, to_hidden, to_cell

        return (outputs, *final), gradient

    return _run(inputs, *weights, *states)


@compiled
def _forward(inputs, kernel, recurrent_kernel, bias, hidden, cell, keep, length):
    """Return what the gradient needs, outputs (B, T, U), final h and c.

    The gradient needs the factors of dz (B, T, 4U), and those of dc side by side: o (1 - tanh(c_t)^2) and f (B, T, 2U).
    """
    units = hidden.shape[-1]
    # One tanh serves all four gates, as sigmoid(x) = tanh(x / 2) / 2 + 1 / 2.
    scale = keras.ops.convert_to_tensor([0.5] * (2 * units) + [1.0] * units + [0.5] * units, inputs.dtype)
    projected = project(inputs, kernel * scale)
    recurrent_kernel, bias = recurrent_kernel * scale, bias * scale

    def _body(time, hidden, cell, factors, pairs, outputs, scratch):
        summed = factors[:, time] + bias + keras.ops.matmul(hidden, recurrent_kernel)
        # Written and read back, so that XLA does not compute the activations again for each of their uses; into one of two places,
        # for it would see through one.
        scratch = put(scratch, time % 2, keras.ops.tanh(summed) * scale + (1.0 - scale))
        update, forget, candidate, output = keras.ops.split(scratch[:, time % 2], 4, axis=1)
        new_cell = forget * cell + update * candidate
        squashed = keras.ops.tanh(new_cell)
        new_hidden = output * squashed
        to_gates = [candidate * update * (1 - update), cell * forget * (1 - forget), update * (1 - candidate * candidate)]
        to_gates = keras.ops.concatenate([*to_gates, squashed * output * (1 - output)], axis=1)
        to_cells = keras.ops.concatenate([output * (1 - squashed * squashed), forget], axis=1)
        if keep is not None:
            real = keep[:, time]
            new_cell, new_hidden = keras.ops.where(real, new_cell, cell), keras.ops.where(real, new_hidden, hidden)
            to_gates = keras.ops.where(real, to_gates, 0.0)
            to_cells = keras.ops.where(real, to_cells, masked_cells)
        factors, pairs = put(factors, time, to_gates), put(pairs, time, to_cells)
        return new_hidden, new_cell, factors, pairs, put(outputs, time, new_hidden), scratch

    masked_cells = keras.ops.convert_to_tensor([0.0] * units + [1.0] * units, inputs.dtype)
    # `projected` gives its place to the factors, step by step.
    state = (hidden, cell, projected, room(projected, 2 * units), room(projected, units), room(projected[:, :2]))
    hidden, cell, factors, pairs, outputs, _ = forwards(length, keras.ops.shape(projected)[1], _body, state)
    return factors, pairs, outputs, hidden, cell


@compiled
def _backward(upstream, recurrent_kernel, factors, pairs, keep, length):
    """Return the gradients at z (B, T, 4U), of no meaning beyond `length`, at b, at h_0 and at c_0."""
    to_outputs, to_hidden, to_cell = upstream
    transposed = keras.ops.transpose(recurrent_kernel)

    def _body(time, to_hidden, to_cell, through, summed):
        to_hidden = to_hidden + to_outputs[:, time]
        into_cell, forget = keras.ops.split(pairs[:, time], 2, axis=1)
        to_cell = to_cell + to_hidden * into_cell
        upstream = keras.ops.concatenate([to_cell, to_cell, to_cell, to_hidden], axis=1)
        through = put(through, time, through[:, time] * upstream)
        to_gates = through[:, time]
        to_previous = keras.ops.matmul(to_gates, transposed)
        if keep is not None:
            to_previous = keras.ops.where(keep[:, time], to_previous, to_hidden)
        return to_previous, to_cell * forget, through, summed + to_gates

    state = (to_hidden, to_cell, factors, keras.ops.zeros_like(factors[:, 0]))
    to_hidden, to_cell, through, summed = backwards(length, keras.ops.shape(factors)[1], _body, state)
    return through, keras.ops.sum(summed, axis=0), to_hidden, to_cell


def _cudnn_parameters(kernel, recurrent_kernel, bias):
    # cuDNN has a bias for the inputs and one for the state: the first is zero here.
    kernels = [*keras.ops.split(kernel, 4, axis=1), *keras.ops.split(recurrent_kernel, 4, axis=1)]
    return flat_parameters(kernels, [keras.ops.zeros_like(bias), bias])
