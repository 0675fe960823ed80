"""The functions of a bundle: from a functional Keras model to TensorFlow functions with named inputs and outputs."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import keras
import tensorflow as tf

from ..zoo.errors import CanonError
from ..zoo.feature_maps import features as feature_maps
from ..zoo.model import Model
from ..zoo.preprocessing import apply_preprocessing, decode_image
from ..zoo.records import Preprocessing
from .bundle import IMAGES_BYTES

IMAGES, LOGITS, PROBABILITIES = "images", "logits", "probabilities"


@dataclass(frozen=True)
class Plan:
    """What a bundle will compute: the model in float32, and the names and types at its door.

    Args:
        model: functional model; its outputs are followed by the features that are not outputs themselves.
        specs: type, shape and name of each input.
        outputs: names of the model's own outputs.
        features: name of the feature -> position among the outputs of `model`.
        preprocessing: how an encoded image becomes the model's input.
        smallest: name of an image input whose size is open -> the rows and columns that the network needs.
    """

    model: keras.Model
    specs: tuple[tf.TensorSpec, ...]
    outputs: tuple[str, ...]
    features: dict[str, int]
    preprocessing: Preprocessing | None
    smallest: Mapping[str, tuple[int, int]] = field(default_factory=dict)


def plan_signatures(model: keras.Model, preprocessing: Preprocessing | None) -> Plan:
    """Name the inputs and outputs of a model.

    A single image input is called `images`; other inputs keep the names of their tensors. Outputs keep the keys of a dict or the
    names of their layers. A model with `logits` of two classes or more as its one output also gives `probabilities`.

    Args:
        model: a functional model.
        preprocessing: how an encoded image becomes the model's input.

    Raises:
        CanonError: when the model has no fixed inputs and outputs, or the preprocessing does not fit its input.
    """
    functional = _functional(model)
    specs = tuple(_input_specs(functional))
    if preprocessing is not None:
        _check_fit(functional, specs, preprocessing)
    outputs = tuple(_output_names(functional))
    tensors = keras.tree.flatten(functional.output)
    features = {}
    for name, tensor in _feature_tensors(functional).items():
        known = next((index for index, other in enumerate(tensors) if other is tensor), None)
        if known is None:
            known = len(tensors)
            tensors.append(tensor)
        features[name] = known
    whole = in_float32(keras.Model(functional.input, tensors, name=functional.name))
    return Plan(whole, specs, outputs, features, preprocessing)


def trace_core(plan: Plan) -> Any:
    """Trace the model: a concrete function from its inputs to the list of its outputs and features."""
    known = keras.tree.flatten(plan.model.input)
    specs = [tf.TensorSpec(spec.shape, tensor.dtype, spec.name) for spec, tensor in zip(plan.specs, known, strict=True)]

    @tf.function(autograph=False)
    def core(*tensors):
        return keras.tree.flatten(plan.model(keras.tree.pack_sequence_as(plan.model.input, list(tensors)), training=False))

    return core.get_concrete_function(*specs)


def build_signatures(plan: Plan, core: Callable[..., list[tf.Tensor]]) -> dict[str, Any]:
    """Trace the signatures `serving_default` and, where they apply, `bytes` and `features`; each calls the core.

    Args:
        plan: names and types.
        core: a function from the model's inputs to the list of its outputs and features.

    Returns:
        name -> concrete function.
    """

    @tf.function(autograph=False, input_signature=plan.specs)
    def forward(*tensors):
        values = at_door(plan, core, tensors)
        return name_outputs(plan, values)

    signatures = {"serving_default": forward.get_concrete_function()}
    preprocessing = plan.preprocessing
    if preprocessing is not None:

        def from_bytes(encoded):
            return forward(read_images(encoded, preprocessing))

        strings = tf.TensorSpec((None,), "string", name=IMAGES_BYTES)
        signatures["bytes"] = tf.function(from_bytes, autograph=False).get_concrete_function(strings)
    if plan.features:

        @tf.function(autograph=False, input_signature=plan.specs)
        def features(*tensors):
            values = at_door(plan, core, tensors)
            return {name: values[position] for name, position in plan.features.items()}

        signatures["features"] = features.get_concrete_function()
    return signatures


def read_images(encoded: tf.Tensor, preprocessing: Preprocessing) -> tf.Tensor:
    """Return encoded images (B,) as the model's input (B, H, W, C)."""
    shape = (*preprocessing.size, preprocessing.channels)
    return tf.map_fn(
        lambda item: apply_preprocessing(decode_image(item), preprocessing),
        encoded,
        fn_output_signature=tf.TensorSpec(shape, "float32"),
    )


def name_outputs(plan: Plan, values: Sequence[tf.Tensor]) -> dict[str, tf.Tensor]:
    """Return the model's own outputs by name, with probabilities beside logits of classes that are alone."""
    outputs = dict(zip(plan.outputs, values[: len(plan.outputs)], strict=True))
    if list(outputs) == [LOGITS] and outputs[LOGITS].shape[-1] != 1:  # one value is a regression's
        outputs[PROBABILITIES] = tf.nn.softmax(outputs[LOGITS])
    return outputs


def at_door(plan: Plan, core: Callable[..., list[tf.Tensor]], tensors: Sequence[tf.Tensor]) -> list[tf.Tensor]:
    """Call the core with float32 outside, and with a batch of one row where the given batch is empty."""
    inputs = keras.tree.flatten(plan.model.input)
    cast = [tf.cast(tensor, known.dtype) for tensor, known in zip(tensors, inputs, strict=True)]
    with tf.control_dependencies(_checks(plan, tensors)):
        values = core(*(_at_least_one_row(tf.identity(tensor)) for tensor in cast))
    rows = tf.shape(tensors[0])[0]
    shapes = [tensor.shape for tensor in keras.tree.flatten(plan.model.output)]
    return [_door_output(value, shape, rows) for value, shape in zip(values, shapes, strict=True)]


def in_float32(model: keras.Model) -> keras.Model:
    """Return the model with float32 arithmetic: itself, or a copy of one that was built under another policy."""
    if all(layer.compute_dtype == "float32" for layer in model._flatten_layers(include_self=False)):
        return model
    config = _float32_config(keras.saving.serialize_keras_object(model))
    copy = keras.saving.deserialize_keras_object(config)
    copy.set_weights(model.get_weights())
    return copy


def _float32_config(config: Any) -> Any:
    if isinstance(config, dict):
        if config.get("class_name") == "DTypePolicy":
            return {**config, "config": {**config["config"], "name": "float32"}}
        return {key: _float32_config(value) for key, value in config.items()}
    return [_float32_config(value) for value in config] if isinstance(config, list | tuple) else config


def _feature_tensors(model: keras.Model) -> dict[str, Any]:
    """Return the declared feature maps of a model of ours; nothing when it was changed so that they are gone."""
    try:
        return dict(feature_maps(model).output) if isinstance(model, Model) else {}
    except CanonError:
        return {}


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


def _checks(plan: Plan, tensors: Sequence[tf.Tensor]) -> list[tf.Operation]:
    """Return the ops that refuse images which are too small: TensorFlow divides by zero where a map has no elements left to pool."""
    checks = []
    for spec, tensor in zip(plan.specs, tensors, strict=True):
        rows, columns = plan.smallest.get(str(spec.name), (1, 1))
        if (rows, columns) != (1, 1):
            message = f"An image is too small: the network needs at least {rows} rows and {columns} columns."
            checks.append(tf.debugging.Assert(tf.reduce_all(tf.shape(tensor)[1:3] >= (rows, columns)), [message]))
    return checks


def _at_least_one_row(tensor: tf.Tensor) -> tf.Tensor:
    """Append a row to an empty batch: TensorFlow's fused convolutions fail on one."""
    if tensor.shape[0] is not None:
        return tensor
    shape = tf.shape(tensor)
    missing = tf.zeros(tf.concat([tf.maximum(1 - shape[:1], 0), shape[1:]], axis=0), tensor.dtype)
    padded = tf.concat([tensor, missing], axis=0)
    padded.set_shape(tensor.shape)
    return padded


def _door_output(value: tf.Tensor, shape: tuple[int | None, ...], rows: tf.Tensor) -> tf.Tensor:
    value = tf.cast(value, _door_type(value.dtype.name))
    # a frozen graph does not always know its shapes
    value.set_shape(shape)
    # an output without a batch axis of open length has no row to take away
    return value[:rows] if len(shape) and shape[0] is None else value


def _check_fit(model: keras.Model, specs: Sequence[tf.TensorSpec], preprocessing: Preprocessing) -> None:
    if [spec.name for spec in specs] != [IMAGES]:
        raise CanonError(f"Preprocessing of images needs a model with one image input; {model.name!r} has {[s.name for s in specs]}.")
    given = (*preprocessing.size, preprocessing.channels)
    wanted = tuple(specs[0].shape[1:])
    if any(want not in (None, got) for want, got in zip(wanted, given, strict=True)):
        raise CanonError(f"The preprocessing gives images of shape {given}, but model {model.name!r} takes {wanted}.")
