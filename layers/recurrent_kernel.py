"""What `LSTM` and `GRU` run on: a plain loop that any runtime can read, a compiled loop for training, and cuDNN.

All three compute what the cells write as equations. States are (B, U).

- `loop`: a `while` loop of the cell's plain operations. It is differentiable to any order and holds only operations that every
  SavedModel runtime has, so inference and exports use it. Taking the input product of all steps out of the loop gains nothing here:
  measured on two CPU cores it is as fast at 128 units and, for the memory it writes, slower at 256.
- `xla`: for training. The loop is differentiated by hand (`lstm_kernel.py`, `gru_kernel.py`): the input product of all steps comes
  first, the forward loop keeps what the gradient needs, the backward loop runs only the product that the recursion needs, and each
  weight gradient is one product over all steps. Both loops are compiled by XLA, and two halves of the batch run side by side. The
  compiled size is the number of steps rounded up (`bucket`), while the loop stops at the true number, so that ever new lengths need
  few compilations. First-order gradients only.
- `cudnn`: NVIDIA's kernel, which wants real steps first; `compact` and `spread` move them there and back, so any mask will do.
  The kernel call cannot be tested without a GPU; everything around it is tested without one.

This is the one file of the layers that imports tensorflow: arrays inside loops, XLA and cuDNN have no `keras.ops` form.
"""

from collections.abc import Callable
from dataclasses import dataclass

import keras
import tensorflow as tf

IMPLEMENTATIONS = ("auto", "loop", "cudnn")
SMALLEST_HALF = 8


@dataclass(frozen=True)
class Kernel:
    """The parts of one recurrent layer, with its weights inside.

    Args:
        step: (inputs of one step (B, F), *states) -> new states, the first of them the output.
        trainable: (inputs (B, T, F), states, keep (B, T, 1) or None) -> outputs (B, T, U) and final states, with their gradient.
            None when there is no compiled form.
        cudnn_parameters: () -> the flat vector of weights that cuDNN reads. None when cuDNN has no such layer.
    """

    step: Callable
    trainable: Callable | None = None
    cudnn_parameters: Callable | None = None


def choose(implementation: str, training: bool | None, has_fast_form: bool) -> str:
    """Return which of "loop", "xla" and "cudnn" runs; "auto" keeps inference exportable and makes training fast."""
    if implementation == "loop":
        return "loop"
    gpu = bool(tf.config.list_logical_devices("GPU"))
    if implementation == "cudnn":
        if gpu and has_fast_form:
            return "cudnn"
        raise ValueError(
            "implementation must be 'auto' or 'loop' here, got 'cudnn', which needs a GPU and a recurrence that cuDNN has "
            "(for GRU, reset_after=True)."
        )
    if not training or not has_fast_form:
        return "loop"
    return "cudnn" if gpu else "xla"


def compiled(function):
    """Compile a function of tensors with XLA, once for each set of shapes."""
    return tf.function(function, jit_compile=True, autograph=False)


def bucket(length):
    """Return the number of steps that is compiled for `length`: a multiple of 4 up to 128, beyond that 16 sizes for each doubling."""
    if isinstance(length, int):
        doublings = max(0, (length - 1).bit_length() - 7)
        step = 4 << doublings
        return max(1, -(-length // step)) * step
    doublings = tf.reduce_sum(tf.cast(length > [128 << k for k in range(20)], length.dtype))
    step = tf.bitwise.left_shift(tf.constant(4, length.dtype), doublings)
    return tf.maximum(1, -(-length // step)) * step


def cut(padded, sequence):
    """Undo `pad`: return as many steps of `padded` as `sequence` has."""
    if padded.shape[1] is not None and padded.shape[1] == sequence.shape[1]:
        return padded
    return padded[:, : sequence.shape[1] if sequence.shape[1] is not None else tf.shape(sequence)[1]]


def length_of(sequence):
    """Return the number of steps as a tensor: a compiled function given a Python number would be compiled anew for each."""
    return tf.shape(sequence)[1]


def differentiated(function):
    """Make a function of tensors that returns (results, gradient function) differentiable, once.

    A tape must not look inside, where compiled loops hold what it could not keep. A gradient of the gradient is refused: without the
    link from each gradient to what it was computed from, a tape would take it for a constant and give zeros.
    """

    def refuse(*upstream):
        raise ValueError("the training kernel has gradients of first order only: set implementation='loop' for higher ones.")

    # One link for each gradient, so that those that nobody asks for can still be left out of a graph.
    link = tf.custom_gradient(lambda gradient, *sources: (tf.identity(gradient), refuse))

    @tf.custom_gradient
    def outer(*inputs):
        results, gradient = function(*map(tf.stop_gradient, inputs))
        return results, lambda *upstream: [link(item, *inputs, *upstream) for item in gradient(*map(tf.stop_gradient, upstream))]

    return outer


def scan(mode: str, kernel: Kernel, inputs, states, mask=None, return_sequences=True):
    """Run a recurrent layer over (B, T, F).

    Args:
        mode: "loop", "xla" or "cudnn", from `choose`.
        kernel: the layer's parts.
        inputs: (B, T, F).
        states: list of initial states (B, U).
        mask: booleans (B, T), True at real steps, or None. A masked step repeats the state.
        return_sequences: False saves the outputs of the steps where that is possible.

    Returns:
        outputs (B, T, U), or None where they were not asked for, and the list of final states.
    """
    mask = None if mask is None else tf.cast(mask, tf.bool)
    if mode == "cudnn" and kernel.cudnn_parameters:
        return _cudnn(inputs, states, mask, kernel.cudnn_parameters())
    keep = None if mask is None else mask[:, :, None]
    if mode == "xla" and kernel.trainable:
        outputs, *states = _in_halves(kernel.trainable, inputs, states, keep)
    else:
        outputs, *states = _loop(kernel.step, inputs, states, keep, return_sequences)
    return outputs, list(states)


def _in_halves(run, inputs, states, keep):
    """Run two halves of the batch side by side: a compiled loop of small steps keeps one core busy, and most machines have two.

    Two whatever the machine, so that sums have one order everywhere.
    """
    batch = inputs.shape[0]
    if batch is not None and batch < 2 * SMALLEST_HALF:
        return run(inputs, states, keep)
    middle = (tf.shape(inputs)[0] if batch is None else batch) // 2
    halves = [
        run(inputs[rows], [state[rows] for state in states], None if keep is None else keep[rows])
        for rows in (slice(None, middle), slice(middle, None))
    ]
    return [tf.concat(both, axis=0) for both in zip(*halves, strict=True)]


def project(inputs, kernel):
    """Return inputs W for all steps in one product: (B, T, F) to (B, T, gates * U)."""
    batch, steps = tf.unstack(tf.shape(inputs)[:2])
    projected = tf.reshape(tf.matmul(tf.reshape(inputs, [-1, kernel.shape[0]]), kernel), [batch, steps, kernel.shape[1]])
    projected.set_shape([*inputs.shape[:2], kernel.shape[1]])
    return projected


def input_gradient(inputs, kernel, gradient):
    """Return the gradient at the inputs of `project`; outside the compiled part, so that it is left out where nobody asks for it."""
    return tf.reshape(tf.matmul(tf.reshape(gradient, [-1, kernel.shape[1]]), kernel, transpose_b=True), tf.shape(inputs))


def weight_gradient(inputs, gradient):
    """Return the gradient at a matrix that multiplies (B, T, F) at every step: one product over all steps."""
    return tf.matmul(tf.reshape(inputs, [-1, inputs.shape[-1]]), tf.reshape(gradient, [-1, gradient.shape[-1]]), transpose_a=True)


def states_before(initial, sequence):
    """Return the states that each step began with (B, T, U), of those that each ended with."""
    return tf.concat([initial[:, None], sequence[:, :-1]], axis=1)


def room(like, width=None):
    """Return zeros shaped as `like` (B, T, U), or of another width, for a compiled loop to `put` its results in."""
    return tf.zeros([*tf.unstack(tf.shape(like)[:2]), width or like.shape[-1]], like.dtype)


def put(sequence, time, value):
    """Return the sequence (B, T, U) with `value` (B, U) at step `time`; XLA does it in place."""
    return keras.ops.slice_update(sequence, (0, time, 0), value[:, None])


def forwards(length, most, body, state):
    """Run `state = body(time, *state)` for time 0 to length - 1, where length is at most `most`."""

    def step(time, *state):
        return time + 1, *body(time, *state)

    loop = (tf.constant(0), *state)
    # 32 is what Keras gives its loops; with the default of 10 a step of plain operations takes 4 % longer on two CPU cores.
    return tf.while_loop(lambda time, *_: time < length, step, loop, parallel_iterations=32, maximum_iterations=most)[1:]


def backwards(length, most, body, state):
    """Run `state = body(time, *state)` for time length - 1 down to 0.

    The time itself is counted down: computed as length - 1 - count, XLA would take the length for a constant to compile in.
    """
    loop = (length - 1, *state)
    return tf.while_loop(lambda time, *_: time >= 0, lambda time, *state: (time - 1, *body(time, *state)), loop, maximum_iterations=most)[
        1:
    ]


def _loop(step, inputs, states, keep, return_sequences):
    # An array of steps is time-major, (T, B, ...).
    steps, count = tf.shape(inputs)[1], len(states)
    reader = _array(inputs.dtype, steps, inputs.shape[::2]).unstack(tf.transpose(inputs, [1, 0, 2]))
    keep = None if keep is None else tf.transpose(keep, [1, 0, 2])

    def body(time, *state):
        states, collected = state[:count], state[count:]
        new = step(reader.read(time), *states)
        if keep is not None:
            new = [tf.where(keep[time], one, other) for one, other in zip(new, states, strict=True)]
        return *new, *(item.write(time, new[0]) for item in collected)

    if not return_sequences:
        return None, *forwards(steps, steps, body, tuple(states))
    collected = _array(states[0].dtype, steps, states[0].shape)
    if not inputs.shape[1]:  # perhaps no step at all, and an array of none cannot tell the size of the batch
        collected = _array(states[0].dtype, tf.maximum(steps, 1), states[0].shape).write(0, states[0])
    result = forwards(steps, steps, body, (*states, collected))
    return tf.transpose(result[count].stack()[:steps], [1, 0, 2]), *result[:count]


def _array(dtype, steps, shape):
    return tf.TensorArray(dtype, size=steps, element_shape=shape, clear_after_read=False)


def pad(sequence):
    """Append zero steps to (B, T, ...) up to `bucket` of its length."""
    if sequence is None:
        return None
    length = sequence.shape[1]
    if length is not None and bucket(length) == length:
        return sequence
    length = tf.shape(sequence)[1] if length is None else length
    return tf.pad(sequence, tf.convert_to_tensor([[0, 0], [0, bucket(length) - length], [0, 0]]))


def compact(inputs, mask):
    """Move the real steps of (B, T, ...) to the front of each row, in order; return them and their number (B)."""
    order = tf.argsort(tf.cast(tf.logical_not(mask), tf.int32), axis=1, stable=True)
    return tf.gather(inputs, order, batch_dims=1), tf.reduce_sum(tf.cast(mask, tf.int32), axis=1)


def spread(initial, outputs, mask):
    """Undo `compact` on outputs (B, T, U): each real step gets its output back, each masked step repeats the one before it."""
    return tf.gather(tf.concat([initial[:, None], outputs], axis=1), tf.cumsum(tf.cast(mask, tf.int32), axis=1), batch_dims=1)


def _cudnn(inputs, states, mask, parameters):
    initial = states
    lengths = tf.repeat(tf.shape(inputs)[1], tf.shape(inputs)[0])
    if mask is not None:
        inputs, lengths = compact(inputs, mask)
    outputs, hidden, cell, _, _ = tf.raw_ops.CudnnRNNV3(
        input=inputs,
        input_h=states[0][:, None],
        input_c=states[1][:, None] if len(states) == 2 else tf.zeros([], inputs.dtype),
        params=parameters,
        sequence_lengths=tf.maximum(lengths, 1),  # the kernel refuses empty rows; they are put right below
        rnn_mode="lstm" if len(states) == 2 else "gru",
        is_training=True,
        time_major=False,
    )
    states = [tf.squeeze(hidden, 1), tf.squeeze(cell, 1)][: len(states)]
    if mask is not None:
        outputs = spread(initial[0], outputs, mask)
        states = [tf.where(lengths[:, None] > 0, one, other) for one, other in zip(states, initial, strict=True)]
    return outputs, states


def flat_parameters(kernels, biases):
    """Lay weights out as the kernel reads them: each gate's matrix transposed and flattened, then the biases."""
    return tf.concat([tf.reshape(tf.transpose(item), [-1]) for item in kernels] + [tf.reshape(item, [-1]) for item in biases], axis=0)
