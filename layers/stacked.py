"""Recurrent layers one on top of the other."""

import keras

from . import arguments
from .layer_copy import layer_from_record, layer_record, next_mask, sequence_shape


@keras.saving.register_keras_serializable(package="keras_canon")
class StackedRNN(keras.layers.Layer):
    """Recurrent layers one on top of the other, with one mask for all and dropout between them.

    h^l_t = layer_l(D(h^{l-1}_t), h^l_{t-1})        (1)

    D is dropout with a new draw at every step, on the way up only: the recurrence itself is left whole, as Zaremba et al. found
    that it must be.

    Args:
        layers: the layers from the bottom up (`LSTM`, `GRU`, `Bidirectional`, or Keras's); copies of them are used. All but the top
            one return sequences; all or none return their states.
        dropout: rate of D between two layers; none before the first and after the last.
        seed: seed of the dropout.

    Input shape:
        (batch, time, features); `initial_state`, a list of all states from the bottom up.

    Output shape:
        that of the top layer; when the layers return states, a tuple of this and all states from the bottom up.

    Raises:
        ValueError: no layer, something that is no layer, a lower layer that does not return sequences, layers of which some return
            states, `dropout` outside [0, 1), or an `initial_state` of another length than there are states.

    Reference:
        Zaremba, Sutskever, Vinyals, 2014, "Recurrent neural network regularization", equation (7), arXiv:1409.2329.

    Example:
        >>> import keras
        >>> from keras_canon.layers import GRU, StackedRNN
        >>> print(tuple(StackedRNN([GRU(5, return_sequences=True), GRU(3)])(keras.ops.ones((2, 7, 4))).shape))
        (2, 3)
    """

    def __init__(self, layers, dropout=0.0, seed=None, **kwargs):
        layers = list(layers)
        if not layers:
            raise ValueError("layers must hold at least one recurrent layer, got [].")
        records = tuple(layer_record("layers", layer) for layer in layers)
        kwargs.setdefault("dtype", layers[0].dtype_policy)
        super().__init__(**kwargs)
        self.supports_masking = True
        self.records = records
        self.dropout = arguments.rate("dropout", dropout)
        self.seed = seed
        policy = self.dtype_policy
        self.layers = [layer_from_record(record, {"name": f"layer_{i}", "dtype": policy}) for i, record in enumerate(records, 1)]
        self.return_state = bool(getattr(self.layers[-1], "return_state", False))
        found = [bool(getattr(layer, "return_state", False)) for layer in self.layers]
        if len(set(found)) > 1:
            raise ValueError(f"layers must all return their states or none of them, got return_state={found}.")
        count = len(layers) - 1 if self.dropout else 0
        self.dropouts = [
            keras.layers.Dropout(self.dropout, seed=None if seed is None else seed + i, name=f"dropout_{i}", dtype=policy)
            for i in range(1, count + 1)
        ]

    def build(self, sequences_shape):
        arguments.input_rank("StackedRNN", sequences_shape, 3, "(batch, time, features)")
        for layer, shape in zip(self.layers, self._shapes(tuple(sequences_shape)), strict=False):
            layer.build(shape)

    def _shapes(self, shape):
        """Return the input shapes of all layers, then the outputs of the top one."""
        shapes = [shape]
        for layer in self.layers:
            outputs = layer.compute_output_shape(sequence_shape("layers", shapes[-1]))
            shapes.append(outputs[0] if self.return_state and layer is not self.layers[-1] else outputs)
        return shapes

    def _states(self, sequences_shape):
        """Return the shapes of each layer's states."""
        if not self.return_state:
            return [[] for _ in self.layers]
        shapes = self._shapes(sequences_shape)
        return [list(layer.compute_output_shape(shape))[1:] for layer, shape in zip(self.layers, shapes, strict=False)]

    def _cut(self, sequences_shape, initial_state):
        """Return the initial states of each layer."""
        if initial_state is None:
            return [None] * len(self.layers)
        counts = [len(states) for states in self._states(sequences_shape)]
        if len(initial_state) != sum(counts):
            raise ValueError(
                f"initial_state must hold {sum(counts)} states (as many as return_state=True returns), got {len(initial_state)}."
            )
        starts = [sum(counts[:index]) for index in range(len(counts))]
        return [initial_state[start : start + count] for start, count in zip(starts, counts, strict=True)]

    def reset_state(self):
        """Make stateful layers forget."""
        for layer in self.layers:
            layer.reset_state()

    def call(self, sequences, initial_state=None, mask=None, training=None, sequences_mask=None):
        # next to states Keras fills in the mask of the sequences under this name only
        mask = sequences_mask if mask is None else mask
        states = self._cut(tuple(sequences.shape), initial_state)
        outputs, final = sequences, []
        for index, (layer, initial) in enumerate(zip(self.layers, states, strict=True)):
            if index and self.dropouts:
                outputs = self.dropouts[index - 1](outputs, training=training)
            outputs = layer(outputs, initial_state=initial, mask=mask, training=training)
            mask = next_mask(layer, mask)
            if self.return_state:
                outputs, *state = outputs
                final += state
        return (outputs, *final) if self.return_state else outputs

    def compute_mask(self, sequences, mask=None):
        for layer in self.layers:
            mask = next_mask(layer, mask)
        top = mask if getattr(self.layers[-1], "return_sequences", False) else None
        return [top, *(None for states in self._states(tuple(sequences.shape)) for _ in states)] if self.return_state else top

    def compute_output_shape(self, sequences_shape):
        top = self._shapes(tuple(sequences_shape))[-1]
        if not self.return_state:
            return top
        return (top[0], *(shape for states in self._states(tuple(sequences_shape)) for shape in states))

    def get_config(self):
        return {**super().get_config(), "layers": list(self.records), "dropout": self.dropout, "seed": self.seed}

    @classmethod
    def from_config(cls, config):
        return cls(**{**config, "layers": [keras.saving.deserialize_keras_object(record) for record in config["layers"]]})
