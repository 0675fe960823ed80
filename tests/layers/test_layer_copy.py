"""Copies of layers: fresh weights, changed arguments, nothing carried over from a built layer."""

import keras
import numpy as np
import pytest

from keras_canon.layers import LSTM, Bidirectional
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


def test_a_record_has_no_marks_of_shared_objects(monkeypatch):
    serialize = keras.saving.serialize_keras_object
    made = []

    def marked(layer):
        record = serialize(layer)
        # what Keras does while it loads a model, at once or later, when it meets an object of the same id
        record["shared_object_id"] = record["config"]["kernel_initializer"]["shared_object_id"] = 7
        made.append(record)
        return record

    monkeypatch.setattr(keras.saving, "serialize_keras_object", marked)
    layer = Bidirectional(LSTM(3))
    assert layer.forward_layer is not layer.backward_layer
    made[0]["shared_object_id"] = 8
    record = layer.records[0]
    assert "shared_object_id" not in record
    assert "shared_object_id" not in record["config"]["kernel_initializer"]
