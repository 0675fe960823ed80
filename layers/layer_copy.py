"""Copies of the layers that a wrapper is given, so that the wrapper's children are its own."""

from typing import Any

import keras


def layer_record(name: str, layer) -> dict:
    """Return the serialised form of an unbuilt copy of `layer`, the value of argument `name`."""
    if not isinstance(layer, keras.layers.Layer):
        raise ValueError(f"{name} must hold Keras layers, got {layer!r}.")
    record = _unshared(keras.saving.serialize_keras_object(layer))
    record.pop("build_config", None)
    return record


def _unshared(value) -> Any:
    """Return a copy of a serialised object without the marks of shared ones.

    While Keras loads a model it marks objects of equal `id` as one and the same. A layer that is only copied here does not live long,
    and the next one may well have its `id`.
    """
    if isinstance(value, dict):
        return {key: _unshared(item) for key, item in value.items() if key != "shared_object_id"}
    return type(value)(map(_unshared, value)) if isinstance(value, list | tuple) else value


def next_mask(layer, mask) -> Any:
    """Return the mask of what a recurrent layer gives: one that goes backwards lists its steps from the last to the first."""
    turned = mask is not None and getattr(layer, "return_sequences", False) and getattr(layer, "go_backwards", False)
    return keras.ops.flip(mask, axis=1) if turned else mask


def layer_from_record(record: dict, changes: dict):
    """Return a layer made from a record, with those of `changes` that are arguments of it."""
    config = {**record["config"], **{name: value for name, value in changes.items() if name in record["config"]}}
    return keras.saving.deserialize_keras_object({**record, "config": config})


def sequence_shape(name: str, shape) -> tuple:
    """Return `shape` when it is one (batch, time, features), as every layer of a stack but the last must give."""
    if not isinstance(shape, tuple) or len(shape) != 3 or not isinstance(shape[-1], int):
        raise ValueError(f"{name} must give sequences (batch, time, features) below the top: set return_sequences=True, got {shape}.")
    return shape
