"""Recurrent layers that each shorten the sequence."""

import keras

from . import arguments
from .layer_copy import layer_from_record, layer_record, next_mask, sequence_shape


@keras.saving.register_keras_serializable(package="keras_canon")
class PyramidalRNN(keras.layers.Layer):
    """Stack of recurrent layers in which each reads pairs of steps of the one below, so that each halves the time.

    h^j_i = layer_j(h^j_{i-1}, [h^{j-1}_{2i}, h^{j-1}_{2i+1}])        (5)

    The paper's listener is one bidirectional layer and, on top of it, this with three of them: an eighth of the steps is left for
    attention to look at. A last odd step is paired with a zero step. Masked steps are set to zero, and a pair is masked when both of
    its steps are.

    Args:
        layers: the layers from the bottom up (`Bidirectional`, `LSTM`, `GRU`, or Keras's); copies of them are used. All but the top
            one return sequences; none returns states.
        factor: number of steps that are read as one; 2 in the paper.

    Input shape:
        (batch, time, features)

    Output shape:
        that of the top layer, over time / factor^layers steps, rounded up at each layer.

    Raises:
        ValueError: no layer, something that is no layer, a lower layer that does not return sequences, a layer that returns states, or
            a `factor` below 1.

    Reference:
        Chan, Jaitly, Le, Vinyals, 2015, "Listen, attend and spell", section 3.1, equation (5), arXiv:1508.01211 (ICASSP 2016).

    Example:
        >>> import keras
        >>> from keras_canon.layers import GRU, PyramidalRNN
        >>> print(tuple(PyramidalRNN([GRU(5, return_sequences=True)] * 2)(keras.ops.ones((2, 7, 4))).shape))
        (2, 2, 5)
    """

    def __init__(self, layers, factor=2, **kwargs):
        layers = list(layers)
        if not layers:
            raise ValueError("layers must hold at least one recurrent layer, got [].")
        records = tuple(layer_record("layers", layer) for layer in layers)
        kwargs.setdefault("dtype", layers[0].dtype_policy)
        super().__init__(**kwargs)
        self.supports_masking = True
        self.records = records
        self.factor = arguments.positive_integer("factor", factor)
        self.layers = [layer_from_record(record, {"name": f"layer_{i}", "dtype": self.dtype_policy}) for i, record in enumerate(records, 1)]
        if any(getattr(layer, "return_state", False) for layer in self.layers):
            raise ValueError("layers must not return states, got a layer with return_state=True.")

    def build(self, sequences_shape):
        arguments.input_rank("PyramidalRNN", sequences_shape, 3, "(batch, time, features)")
        shape = tuple(sequences_shape)
        for layer in self.layers:
            shape = self._paired(shape)
            layer.build(shape)
            shape = layer.compute_output_shape(shape)

    def _paired(self, shape):
        batch, steps, features = sequence_shape("layers", shape)
        return batch, None if steps is None else -(-steps // self.factor), self.factor * features

    def call(self, sequences, mask=None, training=None):
        mask = None if mask is None else keras.ops.cast(mask, "bool")
        for layer in self.layers:
            if mask is not None:
                sequences = keras.ops.where(mask[:, :, None], sequences, keras.ops.zeros_like(sequences))
                mask = keras.ops.any(self._pair(mask[:, :, None]), axis=-1)
            sequences = layer(self._pair(sequences), mask=mask, training=training)
            mask = next_mask(layer, mask)
        return sequences

    def _pair(self, sequences):
        """Lay `factor` steps side by side, zeros after the last: (B, T, F) to (B, ceil(T / factor), factor F)."""
        batch, steps, features = keras.ops.shape(sequences)
        pairs = (steps + self.factor - 1) // self.factor
        padded = keras.ops.pad(sequences, [[0, 0], [0, self.factor - 1], [0, 0]])[:, : pairs * self.factor]
        return keras.ops.reshape(padded, (batch, pairs, self.factor * features))

    def compute_mask(self, sequences, mask=None):
        if mask is None or not getattr(self.layers[-1], "return_sequences", False):
            return None
        mask = keras.ops.cast(mask, "bool")
        for layer in self.layers:
            mask = next_mask(layer, keras.ops.any(self._pair(mask[:, :, None]), axis=-1))
        return mask

    def compute_output_shape(self, sequences_shape):
        shape = tuple(sequences_shape)
        for layer in self.layers:
            shape = layer.compute_output_shape(self._paired(shape))
        return shape

    def get_config(self):
        return {**super().get_config(), "layers": list(self.records), "factor": self.factor}

    @classmethod
    def from_config(cls, config):
        return cls(**{**config, "layers": [keras.saving.deserialize_keras_object(record) for record in config["layers"]]})
