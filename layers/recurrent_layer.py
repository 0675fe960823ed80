"""What `LSTM` and `GRU` share: states, masks, directions and the choice of kernel."""

import keras

from . import arguments
from .recurrent_kernel import IMPLEMENTATIONS, choose, scan
from .recurrent_memory import RecurrentMemory

HALF = ("float16", "bfloat16")


class RecurrentLayer(keras.layers.Layer):
    """Abstract layer that runs `self.cell`, set by the subclass, over (batch, time, features) by a kernel instead of step by step.

    A subclass names its cell's arguments in `cell_arguments` and has a method `kernel(W, U, b)` that returns the `Kernel` of the
    weights, where b is zero when the cell has none.
    """

    cell_arguments = ()
    has_fast_form = True
    other_states = ""

    def __init__(
        self,
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
        super().__init__(**kwargs)
        self.supports_masking = True
        self.dropout = arguments.rate("dropout", dropout)
        self.return_sequences = arguments.one_of("return_sequences", return_sequences, (True, False))
        self.return_state = arguments.one_of("return_state", return_state, (True, False))
        self.go_backwards = arguments.one_of("go_backwards", go_backwards, (True, False))
        self.stateful = arguments.one_of("stateful", stateful, (True, False))
        self.zero_output_for_mask = arguments.one_of("zero_output_for_mask", zero_output_for_mask, (True, False))
        self.implementation = arguments.one_of("implementation", implementation, IMPLEMENTATIONS)
        self.seed = seed
        # One draw for all steps of a sequence (Gal and Ghahramani 2016).
        self.input_dropout = None
        if self.dropout:
            self.input_dropout = keras.layers.Dropout(
                self.dropout, noise_shape=(None, 1, None), seed=seed, name="input_dropout", dtype=self.dtype_policy
            )
        self.memory = None

    def build(self, sequences_shape):
        arguments.input_rank(type(self).__name__, sequences_shape, 3, "(batch, time, features)")
        self.cell.build((sequences_shape[0], sequences_shape[2]))
        self.cell.built = True
        if self.stateful:
            self.memory = RecurrentMemory(self.name, self.cell.state_sizes, self.variable_dtype)
            self.memory.states(sequences_shape[0])

    def reset_state(self):
        """Make a stateful layer forget its state and its batch size."""
        if self.memory is not None:
            self.memory.reset()

    def call(self, sequences, initial_state=None, mask=None, training=None, sequences_mask=None):
        # next to states Keras fills in the mask of the sequences under this name only
        mask = sequences_mask if mask is None else mask
        states = self._start(sequences, initial_state)
        if self.input_dropout is not None:
            sequences = self.input_dropout(sequences, training=training)
        if self.go_backwards:
            sequences = keras.ops.flip(sequences, axis=1)
            mask = None if mask is None else keras.ops.flip(mask, axis=1)
        mode = choose(self.implementation, training, self.has_fast_form)
        # A long recurrence adds up its rounding, so a half policy runs it in single precision; cuDNN has a mixed form of its own.
        dtype = "float32" if self.compute_dtype in HALF and mode != "cudnn" else self.compute_dtype
        bias = keras.ops.zeros(self.cell.bias_shape()) if self.cell.bias is None else self.cell.bias
        weights = [keras.ops.cast(item, dtype) for item in (self.cell.kernel, self.cell.recurrent_kernel, bias)]
        states = [keras.ops.cast(item, dtype) for item in states]
        sequences = keras.ops.cast(sequences, dtype)
        outputs, states = scan(mode, self.kernel(*weights), sequences, states, mask, self.return_sequences)
        if outputs is not None:
            outputs.set_shape((*sequences.shape[:2], self.cell.units))  # a loop forgets how many steps it ran
        return self._finish(outputs, states, mask)

    def _start(self, sequences, initial_state):
        """Return the list of states to begin with."""
        if initial_state is None and self.memory is not None:
            return self.memory.states(sequences.shape[0])
        if initial_state is None:
            return self.cell.get_initial_state(keras.ops.shape(sequences)[0])
        states = list(initial_state) if isinstance(initial_state, list | tuple) else [initial_state]
        if [item.shape[-1] for item in states] != self.cell.state_sizes:
            found = [tuple(item.shape) for item in states]
            raise ValueError(f"initial_state must hold one (batch, {self.cell.units}) for each of h{self.other_states}, got {found}.")
        return states

    def _finish(self, outputs, states, mask):
        """Return what `call` returns; (B, T, U) or None, and the final states."""
        if self.memory is not None:
            batch = states[0].shape[0]
            for variable, state in zip(self.memory.states(batch), states, strict=True):
                variable.assign(keras.ops.cast(state, self.variable_dtype))
        states = [keras.ops.cast(item, self.compute_dtype) for item in states]
        result = states[0]
        if self.return_sequences:
            result = keras.ops.cast(outputs, self.compute_dtype)
            if mask is not None and self.zero_output_for_mask:
                result = keras.ops.where(keras.ops.cast(mask, "bool")[:, :, None], result, keras.ops.zeros_like(result))
        return (result, *states) if self.return_state else result

    def compute_mask(self, sequences, mask=None):
        if mask is not None and self.return_sequences and self.go_backwards:
            mask = keras.ops.flip(mask, axis=1)
        mask = mask if self.return_sequences else None
        return [mask, *(None for _ in self.cell.state_sizes)] if self.return_state else mask

    def compute_output_shape(self, sequences_shape):
        batch, steps = sequences_shape[:2]
        result = (batch, steps, self.cell.units) if self.return_sequences else (batch, self.cell.units)
        return (result, *((batch, size) for size in self.cell.state_sizes)) if self.return_state else result

    def get_config(self):
        cell = self.cell.get_config()
        return {
            **super().get_config(),
            **{name: cell[name] for name in self.cell_arguments},
            "dropout": self.dropout,
            "return_sequences": self.return_sequences,
            "return_state": self.return_state,
            "go_backwards": self.go_backwards,
            "stateful": self.stateful,
            "zero_output_for_mask": self.zero_output_for_mask,
            "implementation": self.implementation,
            "seed": self.seed,
        }
