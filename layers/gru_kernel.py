"""The arithmetic of `GRU` over a sequence, and its derivative by hand.

Gates lie in the order z, r, n (Keras's; cuDNN and torch have r, z, n). With x_t W + b cut into (x_z, x_r, x_n), and
h_{t-1} U + b' cut into (s_z, s_r, s_n):

    z = sigmoid(x_z + s_z)    r = sigmoid(x_r + s_r)    n = tanh(x_n + r s_n)    h_t = z h_{t-1} + (1 - z) n

and, going backwards with dh the gradient at h_t and a = (1 - z)(1 - n^2):

    ds = dh ((h_{t-1} - n) z (1 - z),  a s_n r (1 - r),  a r)    dh_{t-1} = ds U^T + dh z

and dx equals ds but for its last third, dh a. Every factor of dh is known after the forward pass, so one product over all steps
prepares them. A masked step is one with z = 1: it repeats the state, and all its other gradients vanish.
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


def gru_kernel(kernel, recurrent_kernel, bias, recurrent_bias) -> Kernel:
    """Return the parts of a GRU that resets after the product: kernel (F, 3U), recurrent kernel (U, 3U), two biases (3U)."""

    def step(inputs, hidden):
        to_update, to_reset, to_candidate = keras.ops.split(keras.ops.matmul(inputs, kernel) + bias, 3, axis=1)
        # Both cut into three: TensorFlow then runs the two gates side by side, 8 % faster at 256 units than both in one.
        from_update, from_reset, summed = keras.ops.split(keras.ops.matmul(hidden, recurrent_kernel) + recurrent_bias, 3, axis=1)
        update, reset = keras.ops.sigmoid(to_update + from_update), keras.ops.sigmoid(to_reset + from_reset)
        candidate = keras.ops.tanh(to_candidate + reset * summed)
        return (candidate + update * (hidden - candidate),)

    weights = (kernel, recurrent_kernel, bias, recurrent_bias)
    return Kernel(step, lambda *arguments: _trainable(weights, *arguments), lambda: _cudnn_parameters(*weights))


def gru_reset_before_kernel(kernel, recurrent_kernel, bias) -> Kernel:
    """Return the parts of a GRU that resets before the product, n = tanh(x_n + (r h_{t-1}) U_n), with one bias: a plain loop only."""
    units = recurrent_kernel.shape[0]
    gate_kernel, candidate_kernel = recurrent_kernel[:, : 2 * units], recurrent_kernel[:, 2 * units :]

    def step(inputs, hidden):
        projected = keras.ops.matmul(inputs, kernel) + bias
        gates = keras.ops.sigmoid(projected[:, : 2 * units] + keras.ops.matmul(hidden, gate_kernel))
        update, reset = keras.ops.split(gates, 2, axis=1)
        candidate = keras.ops.tanh(projected[:, 2 * units :] + keras.ops.matmul(reset * hidden, candidate_kernel))
        return (candidate + update * (hidden - candidate),)

    return Kernel(step)


def _trainable(weights, inputs, states, keep):
    keep = pad(keep)

    @differentiated
    def _run(inputs, kernel, recurrent_kernel, bias, recurrent_bias, hidden):
        length = length_of(inputs)
        projected = project(pad(inputs), kernel)
        gates, padded_outputs, final = _forward(projected, recurrent_kernel, bias, recurrent_bias, hidden, keep, length)
        outputs = cut(padded_outputs, inputs)

        def gradient(to_outputs, to_hidden):
            upstream = (pad(to_outputs), to_hidden)
            at_state, at_inputs, to_hidden = _backward(upstream, recurrent_kernel, gates, padded_outputs, hidden, length)
            at_state, at_inputs = cut(at_state, inputs), cut(at_inputs, inputs)
            to_recurrent = weight_gradient(states_before(hidden, outputs), at_state)
            to_biases = [keras.ops.sum(item, axis=(0, 1)) for item in (at_inputs, at_state)]
            to_inputs, to_kernel = input_gradient(inputs, kernel, at_inputs), weight_gradient(inputs, at_inputs)
            return to_inputs, to_kernel, to_recurrent, *to_biases, to_hidden

        return (outputs, final), gradient

    return _run(inputs, *weights, *states)


@compiled
def _forward(projected, recurrent_kernel, bias, recurrent_bias, hidden, keep, length):
    """Return z, r, n and s_n side by side (B, T, 4U), outputs (B, T, U) and the final h; of x W (B, T, 3U)."""
    units = hidden.shape[-1]

    def _body(time, hidden, gates, outputs):
        recurrent = keras.ops.matmul(hidden, recurrent_kernel) + recurrent_bias
        projected_now, summed = projected[:, time] + bias, recurrent[:, 2 * units :]
        both = keras.ops.sigmoid(projected_now[:, : 2 * units] + recurrent[:, : 2 * units])
        update, reset = keras.ops.split(both, 2, axis=1)
        candidate = keras.ops.tanh(projected_now[:, 2 * units :] + reset * summed)
        if keep is not None:
            update = keras.ops.where(keep[:, time], update, keras.ops.ones_like(update))
        # Written and read back, so that XLA does not compute the activations again for each of their uses.
        gates = put(gates, time, keras.ops.concatenate([update, reset, candidate, summed], axis=1))
        update, _, candidate, _ = keras.ops.split(gates[:, time], 4, axis=1)
        hidden = candidate + update * (hidden - candidate)
        return hidden, gates, put(outputs, time, hidden)

    state = (hidden, room(projected, 4 * units), room(projected, units))
    hidden, gates, outputs = forwards(length, keras.ops.shape(projected)[1], _body, state)
    return gates, outputs, hidden


@compiled
def _backward(upstream, recurrent_kernel, gates, outputs, initial, length):
    """Return the gradients at s and at x W + b (B, T, 3U), of no meaning beyond `length`, and at h_0."""
    to_outputs, to_hidden = upstream
    update, reset, candidate, summed = keras.ops.split(gates, 4, axis=2)
    before = states_before(initial, outputs)
    into_candidate = (1 - update) * (1 - candidate * candidate)
    factors = [(before - candidate) * update * (1 - update), into_candidate * summed * reset * (1 - reset), into_candidate * reset]
    factors = keras.ops.concatenate(factors, axis=2)
    transposed = keras.ops.transpose(recurrent_kernel)

    def _body(time, to_hidden, through, kept):
        to_hidden = to_hidden + to_outputs[:, time]
        through = put(through, time, through[:, time] * keras.ops.concatenate([to_hidden, to_hidden, to_hidden], axis=1))
        to_previous = keras.ops.matmul(through[:, time], transposed) + to_hidden * update[:, time]
        return to_previous, through, put(kept, time, to_hidden)

    state = (to_hidden, factors, room(outputs))
    to_hidden, through, kept = backwards(length, keras.ops.shape(gates)[1], _body, state)
    at_inputs = keras.ops.concatenate([through[:, :, : 2 * initial.shape[-1]], kept * into_candidate], axis=2)
    return through, at_inputs, to_hidden


def _cudnn_parameters(kernel, recurrent_kernel, bias, recurrent_bias):
    parts = [keras.ops.split(item, 3, axis=-1) for item in (kernel, recurrent_kernel, bias, recurrent_bias)]
    parts = [[reset, update, candidate] for update, reset, candidate in parts]
    return flat_parameters(parts[0] + parts[1], parts[2] + parts[3])
