"""Copies of layers: fresh weights, changed arguments, nothing carried over from a built layer."""

import keras
import numpy as np
import pytest

from keras_canon.layers import LSTM
from keras_canon.layers.layer_copy import layer_from_record, layer_record, sequence_shape


def test_copy_of_a_built_layer_is_unbuilt_and_changed():
    layer = LSTM(3)
    layer(np.ones((1, 2, 4), "float32"))
    copy = layer_from_record(layer_record("layer", layer), {"name": "other", "go_backwards": True, "colour": "red"})
    assert (copy.name, copy.go_backwards, copy.built) == ("other", True, False)
    copy(np.ones((1, 2, 4), "float32"))
    assert not np.array_equal(copy.cell.kernel, layer.cell.kernel)


def test_what_is_no_layer():
    with pytest.raises(ValueError, match="layers must hold Keras layers, got <class"):
        layer_record("layers", keras.layers.Dense)


def test_sequence_shape():
    assert sequence_shape("layers", (2, None, 4)) == (2, None, 4)
    with pytest.raises(ValueError, match=r"set return_sequences=True, got \(2, 4\)"):
        sequence_shape("layers", (2, 4))
