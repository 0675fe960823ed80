"""The functions of a bundle: from a functional Keras model to TensorFlow functions with named inputs and outputs."""

import re
from collections.abc import Sequence
from typing import Any

import keras
import tensorflow as tf

from ..zoo.errors import CanonError
from ..zoo.preprocessing import apply_preprocessing, decode_image
from ..zoo.records import Preprocessing

IMAGES, IMAGES_BYTES, LOGITS, PROBABILITIES = "images", "images_bytes", "logits", "probabilities"


def build_signatures(model: keras.Model, preprocessing: Preprocessing | None) -> dict[str, Any]:
    """Trace the signatures `serving_default` and, where there is a preprocessing, `bytes`.

    A single image input is called `images`; other inputs keep the names of their tensors. Outputs keep the keys of a dict or the
    names of their layers. A model with `logits` as its one output also gives `probabilities`.

    Args:
        model: a functional model.
        preprocessing: how an encoded image becomes the model's input.

    Returns:
        name -> concrete function.

    Raises:
        CanonError: when the model has no fixed inputs and outputs, or the preprocessing does not fit its input.
    """
    model = _functional(model)
    specs = _input_specs(model)
    output_names = _output_names(model)

    @tf.function(input_signature=specs)
    def forward(*tensors):
        return _forward(model, output_names, tensors)

    signatures = {"serving_default": forward.get_concrete_function()}
    if preprocessing is not None:
        _check_fit(model, specs, preprocessing)
        shape = (*preprocessing.size, preprocessing.channels)

        def from_bytes(encoded):
            images = tf.map_fn(
                lambda item: apply_preprocessing(decode_image(item), preprocessing),
                encoded,
                fn_output_signature=tf.TensorSpec(shape, "float32"),
            )
            return forward(images)  # the same trace: one graph of the model for both

        strings = tf.TensorSpec((None,), "string", name=IMAGES_BYTES)
        signatures["bytes"] = tf.function(from_bytes).get_concrete_function(strings)
    return signatures


def _functional(model: keras.Model) -> keras.Model:
    """Return a model with known inputs and outputs (a Sequential has them, but does not name its outputs)."""
    if isinstance(model, keras.Sequential) and model.built:
        return keras.Model(model.inputs, model.outputs, name=model.name)
    if not getattr(model, "output_names", None):
        raise CanonError(f"Model {model.name!r} cannot be exported: it is not functional, so its inputs and outputs have no fixed shapes.")
    return model


def _input_specs(model: keras.Model) -> list[tf.TensorSpec]:
    """Name the inputs; any floating type becomes float32 at the door."""
    tensors = keras.tree.flatten(model.input)
    names = [_clean(tensor.name) for tensor in tensors]
    if len(tensors) == 1 and len(tensors[0].shape) == 4 and not isinstance(model.input, dict):
        names = [IMAGES]
    return [tf.TensorSpec(t.shape, _door_type(t.dtype), name=name) for t, name in zip(tensors, _distinct(names), strict=True)]


def _output_names(model: keras.Model) -> list[str]:
    """Name the outputs in the order in which keras.tree flattens them."""
    structure = model.output
    if isinstance(structure, dict):
        paths = [path for path, _ in keras.tree.flatten_with_path(structure)]
        return _distinct(["_".join(str(part) for part in path) for path in paths])
    return _distinct(list(model.output_names))


def _distinct(names: list[str]) -> list[str]:
    """Number the names that occur more than once: a layer with three outputs gives lstm, lstm_1, lstm_2."""
    result: list[str] = []
    for name in names:
        candidate, count = name, 0
        while candidate in result:
            count += 1
            candidate = f"{name}_{count}"
        result.append(candidate)
    return result


def _clean(name: str) -> str:
    """Return a name that TensorFlow takes for an argument."""
    cleaned = re.sub(r"\W", "_", name)
    return f"input_{cleaned}" if not cleaned or cleaned[0].isdigit() else cleaned


def _door_type(dtype: str) -> str:
    return "float32" if tf.as_dtype(dtype).is_floating else dtype


def _forward(model: keras.Model, output_names: list[str], tensors: Sequence[tf.Tensor]) -> dict[str, tf.Tensor]:
    """Compute every named output in float32."""
    inputs = keras.tree.flatten(model.input)
    cast = [tf.cast(tensor, known.dtype) for tensor, known in zip(tensors, inputs, strict=True)]
    padded = [_at_least_one_row(tensor) for tensor in cast]
    results = keras.tree.flatten(model(keras.tree.pack_sequence_as(model.input, padded), training=False))
    rows = tf.shape(tensors[0])[0]
    outputs = {name: _door_output(value, rows) for name, value in zip(output_names, results, strict=True)}
    if list(outputs) == [LOGITS]:
        outputs[PROBABILITIES] = tf.nn.softmax(outputs[LOGITS])
    return outputs


def _at_least_one_row(tensor: tf.Tensor) -> tf.Tensor:
    """Append a row to an empty batch: TensorFlow's fused convolutions fail on one."""
    if tensor.shape[0] is not None:
        return tensor
    shape = tf.shape(tensor)
    missing = tf.zeros(tf.concat([tf.maximum(1 - shape[:1], 0), shape[1:]], axis=0), tensor.dtype)
    padded = tf.concat([tensor, missing], axis=0)
    padded.set_shape(tensor.shape)
    return padded


def _door_output(value: tf.Tensor, rows: tf.Tensor) -> tf.Tensor:
    value = tf.cast(value, _door_type(value.dtype.name))
    # an output without a batch axis of open length has no row to take away
    return value[:rows] if value.shape.rank and value.shape[0] is None else value


def _check_fit(model: keras.Model, specs: list[tf.TensorSpec], preprocessing: Preprocessing) -> None:
    if [spec.name for spec in specs] != [IMAGES]:
        raise CanonError(f"Preprocessing of images needs a model with one image input; {model.name!r} has {[s.name for s in specs]}.")
    given = (*preprocessing.size, preprocessing.channels)
    wanted = tuple(specs[0].shape[1:])
    if any(want not in (None, got) for want, got in zip(wanted, given, strict=True)):
        raise CanonError(f"The preprocessing gives images of shape {given}, but model {model.name!r} takes {wanted}.")
