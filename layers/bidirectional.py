"""Two recurrent layers over one sequence, in both directions."""

import keras

from . import arguments
from .layer_copy import layer_from_record, layer_record

MERGES = {
    "concat": lambda forward, backward: keras.ops.concatenate([forward, backward], axis=-1),
    "sum": lambda forward, backward: forward + backward,
    "mul": lambda forward, backward: forward * backward,
    "ave": lambda forward, backward: (forward + backward) / 2,
}


@keras.saving.register_keras_serializable(package="keras_canon")
class Bidirectional(keras.layers.Layer):
    """Run a recurrent layer forwards and a second one backwards, and merge their outputs step by step.

    y_t = merge(h_t forwards, h_t backwards)        (1)

    With a mask the backward direction starts at the last real step, wherever the padding lies, and outputs at masked steps are zero,
    as is the whole row of a sequence without real steps.

    What it adds to `keras.layers.Bidirectional`, with which our layers work as well: outputs at masked steps are zero whatever layer
    is wrapped, the wrapper's dtype policy reaches both directions, and a wrapped layer of any kind that takes `go_backwards` will do.

    Args:
        layer: the forward layer (`LSTM`, `GRU`, or one of Keras's); a copy of it is used, and a second one for the backward direction.
        merge_mode: "concat", "sum", "mul" or "ave"; None returns the two apart.
        backward_layer: another layer for the backward direction, whose `go_backwards` differs from that of `layer`.

    Input shape:
        (batch, time, features); `initial_state`, a list of the forward layer's states, then the backward layer's.

    Output shape:
        that of `layer`, with twice the width for "concat"; for None a tuple of two. With `return_state` of the layers a tuple of
        this, the forward states and the backward states.

    Raises:
        ValueError: `layer` that is no layer or has no `go_backwards`, an unknown `merge_mode`, or a `backward_layer` that goes the
            same way or returns something else.

    Reference:
        Schuster, Paliwal, 1997, "Bidirectional recurrent neural networks", figure 3, IEEE Transactions on Signal Processing 45(11).

    Example:
        >>> import keras
        >>> from keras_canon.layers import LSTM, Bidirectional
        >>> print(tuple(Bidirectional(LSTM(5, return_sequences=True))(keras.ops.ones((2, 7, 4))).shape))
        (2, 7, 10)
    """

    def __init__(self, layer, merge_mode="concat", backward_layer=None, **kwargs):
        record = layer_record("layer", layer)
        kwargs.setdefault("dtype", layer.dtype_policy)
        super().__init__(**kwargs)
        self.supports_masking = True
        self.merge_mode = arguments.one_of("merge_mode", merge_mode, (*MERGES, None))
        if "go_backwards" not in record["config"]:
            raise ValueError(f"layer must be a recurrent layer with go_backwards, got {layer!r}.")
        backward = record if backward_layer is None else layer_record("backward_layer", backward_layer)
        self.records = (record, None if backward_layer is None else backward)
        turned = backward["config"].get("go_backwards") if backward_layer is not None else not layer.go_backwards
        policy = self.dtype_policy
        self.forward_layer = layer_from_record(record, {"name": "forward", "dtype": policy})
        self.backward_layer = layer_from_record(backward, {"name": "backward", "dtype": policy, "go_backwards": turned})
        self._compare("go_backwards", differ=True)
        for name in ("return_sequences", "return_state", "stateful"):
            self._compare(name, differ=False)
        self.return_sequences, self.return_state = layer.return_sequences, layer.return_state

    def _compare(self, name, differ):
        forward, backward = getattr(self.forward_layer, name), getattr(self.backward_layer, name, None)
        if (forward == backward) == differ:
            wanted = "differ from" if differ else "equal"
            raise ValueError(f"backward_layer's {name} must {wanted} layer's, got {backward!r} and {forward!r}.")

    def build(self, sequences_shape):
        arguments.input_rank("Bidirectional", sequences_shape, 3, "(batch, time, features)")
        for layer in (self.forward_layer, self.backward_layer):
            layer.build(sequences_shape)

    def reset_state(self):
        """Make stateful layers forget."""
        self.forward_layer.reset_state()
        self.backward_layer.reset_state()

    def call(self, sequences, initial_state=None, mask=None, training=None, sequences_mask=None):
        # next to states Keras fills in the mask of the sequences under this name only
        mask = sequences_mask if mask is None else mask
        states = (None, None)
        if initial_state is not None:
            half = len(initial_state) // 2
            states = (initial_state[:half], initial_state[half:])
        outputs, final = [], []
        for layer, initial in zip((self.forward_layer, self.backward_layer), states, strict=True):
            result = layer(sequences, initial_state=initial, mask=mask, training=training)
            output, *state = result if self.return_state else (result,)
            if self.return_sequences and layer.go_backwards:
                output = keras.ops.flip(output, axis=1)
            if self.return_sequences and mask is not None:
                output = keras.ops.where(keras.ops.cast(mask, "bool")[:, :, None], output, keras.ops.zeros_like(output))
            outputs.append(output)
            final += state
        merged = tuple(outputs) if self.merge_mode is None else (MERGES[self.merge_mode](*outputs),)
        result = [*merged, *final]
        return tuple(result) if len(result) > 1 else result[0]

    def compute_mask(self, sequences, mask=None):
        merged = [mask if self.return_sequences else None] * (2 if self.merge_mode is None else 1)
        states = self.compute_output_shape(tuple(sequences.shape))[len(merged) :] if self.return_state else ()
        return [*merged, *(None for _ in states)] if len(merged) + len(states) > 1 else merged[0]

    def compute_output_shape(self, sequences_shape):
        shape, states = self.forward_layer.compute_output_shape(sequences_shape), ()
        if self.return_state:
            backward = self.backward_layer.compute_output_shape(sequences_shape)
            shape, states = shape[0], (*shape[1:], *backward[1:])
        if self.merge_mode == "concat":
            shape = (*shape[:-1], 2 * shape[-1])
        merged = (shape, shape) if self.merge_mode is None else (shape,)
        result = [*merged, *states]
        return tuple(result) if len(result) > 1 else result[0]

    def get_config(self):
        layer, backward_layer = self.records
        return {**super().get_config(), "layer": layer, "merge_mode": self.merge_mode, "backward_layer": backward_layer}

    @classmethod
    def from_config(cls, config):
        given = {name: config[name] and keras.saving.deserialize_keras_object(config[name]) for name in ("layer", "backward_layer")}
        return cls(**{**config, **given})
