"""`check_layer`: the contract of DESIGN section 5, as plain functions over one `LayerCase`.

A part of the contract that cannot apply to a layer is left out only by naming it in `LayerCase.without` with the reason,
which the sweep prints.
"""

import inspect
import json
import random
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

import keras
import numpy as np
import tensorflow as tf

PARTS = ("config", "shape", "weights", "compiled", "xla", "half", "gradient", "initializer", "mask", "reload")
BASE_CONFIG = {"name", "trainable", "dtype"}


@dataclass
class LayerCase:
    """One layer with arguments and inputs on which the whole contract is checked.

    Args:
        cls: the layer class.
        init: constructor arguments (all plain values).
        inputs: positional arguments of `call`: arrays or nested lists of arrays.
        trainable: number of trainable parameters, worked out by hand from the equation.
        id: name of the case, when a class has several.
        mask: True when the first input is a sequence (B, T, ...) and a mask (B, T) must act as trimming.
        call: further keyword arguments of `call`.
        tolerance: largest error over largest absolute output, by policy.
        without: part of the contract -> reason why it cannot apply.
    """

    cls: type
    init: dict[str, Any]
    inputs: tuple
    trainable: int
    id: str = ""
    mask: bool = False
    call: dict[str, Any] = field(default_factory=dict)
    tolerance: dict[str, float] = field(default_factory=lambda: {"mixed_float16": 1e-2, "mixed_bfloat16": 8e-2})
    without: dict[str, str] = field(default_factory=dict)

    def __post_init__(self):
        self.id = self.cls.__name__ + (f"-{self.id}" if self.id else "")
        unknown = set(self.without) - set(PARTS)
        assert not unknown, f"{self.id}: unknown parts {unknown}, allowed {PARTS}"

    def build(self, dtype: str = "float32", **changes) -> keras.layers.Layer:
        seed(7)
        return self.cls(**{**self.init, **changes}, dtype=dtype)

    def run(self, layer, **extra):
        return layer(*self.inputs, **self.call, **extra)


def seed(number: int) -> None:
    """Seed what Keras's layers draw from; `keras.utils.set_random_seed` also throws away TensorFlow's kernels, half of the time here."""
    random.seed(number)


def arrays(outputs) -> list[np.ndarray]:
    return [np.asarray(tf.cast(item, "float32") if item.dtype.is_floating else item) for item in tf.nest.flatten(outputs)]


def assert_close(found, expected, tolerance: float, what: str) -> None:
    found, expected = arrays(found), arrays(expected)
    assert len(found) == len(expected), f"{what}: {len(found)} outputs, expected {len(expected)}"
    for one, other in zip(found, expected, strict=True):
        assert one.shape == other.shape, f"{what}: shape {one.shape}, expected {other.shape}"
        assert np.all(np.isfinite(one)), f"{what}: not finite"
        if one.size:
            scale = max(float(np.max(np.abs(other))), 1e-3)
            error = float(np.max(np.abs(one.astype("float64") - other))) / scale
            assert error <= tolerance, f"{what}: error {error:.2e} of the largest value, allowed {tolerance:.0e}"


def check_config(case: LayerCase) -> tuple[keras.layers.Layer, Any]:
    """Return the layer, built, and its outputs: the parts that change nothing share them."""
    parameters = inspect.signature(case.cls.__init__).parameters.values()
    named = {p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)} - {"self"}
    layer = case.build()
    before = layer.get_config()
    assert set(before) - BASE_CONFIG == named - BASE_CONFIG, "get_config and __init__ name different arguments"
    for name, value in case.init.items():
        if isinstance(value, str | int | float | bool | type(None)) and isinstance(before[name], type(value)):
            assert before[name] == value, f"get_config changes {name}"
    outputs = case.run(layer)
    after = layer.get_config()
    assert json.dumps(after, sort_keys=True) == json.dumps(before, sort_keys=True), "the config changes in build"
    again = case.cls.from_config(json.loads(json.dumps(after)))
    assert json.dumps(again.get_config(), sort_keys=True) == json.dumps(before, sort_keys=True), "the config changes through JSON"
    registered = keras.saving.get_registered_name(case.cls)
    assert registered == f"keras_canon>{case.cls.__name__}", f"registered as {registered}"
    return layer, outputs


def symbolic_inputs(case: LayerCase, batch=None):
    def placeholder(item):
        item = np.asarray(item)
        return keras.Input(batch_shape=(batch, *item.shape[1:]), dtype=str(item.dtype))

    return keras.tree.map_structure(placeholder, case.inputs)


def check_shape(case: LayerCase, layer, expected) -> None:
    outputs = case.build()(*symbolic_inputs(case), **case.call)
    symbolic = [tuple(item.shape) for item in keras.tree.flatten(outputs)]
    found = [tuple(item.shape) for item in keras.tree.flatten(expected)]
    for one, other in zip(symbolic, found, strict=True):
        assert len(one) == len(other), f"symbolic {one}, eager {other}"
        assert all(a is None or a == b for a, b in zip(one, other, strict=True)), f"symbolic {one}, eager {other}"


def check_weights(case: LayerCase, layer, expected) -> None:
    found = sum(int(np.prod(w.shape)) for w in layer.trainable_weights)
    assert found == case.trainable, f"{found} trainable parameters, expected {case.trainable}"


def check_compiled(case: LayerCase, layer, expected) -> None:
    assert_close(tf.function(lambda: case.run(layer), autograph=False)(), expected, 1e-5, "tf.function")


def check_xla(case: LayerCase, layer, expected) -> None:
    assert_close(tf.function(lambda: case.run(layer), autograph=False, jit_compile=True)(), expected, 1e-5, "XLA")


def check_half(case: LayerCase, reference, expected) -> None:
    for policy, tolerance in case.tolerance.items():
        layer = case.build(policy)
        case.run(layer)
        layer.set_weights(reference.get_weights())
        found = case.run(layer)
        for item in keras.tree.flatten(found):
            dtype = keras.backend.standardize_dtype(item.dtype)
            assert not dtype.startswith(("float", "bfloat")) or dtype == layer.compute_dtype, f"{policy}: output is {dtype}"
        for child in layer._flatten_layers(include_self=False):
            assert child.dtype_policy.name in (policy, "float32"), f"{policy}: child {child.name} has {child.dtype_policy.name}"
        assert_close(found, expected, tolerance, policy)


def check_gradient(case: LayerCase, layer, expected) -> None:
    draws = np.random.RandomState(3)
    weights = [draws.standard_normal(item.shape).astype("float32") for item in tf.nest.flatten(expected) if item.dtype.is_floating]
    with tf.GradientTape() as tape:
        outputs = [item for item in tf.nest.flatten(case.run(layer)) if item.dtype.is_floating]
        loss = tf.add_n([tf.reduce_sum(a * b) for a, b in zip(outputs, weights, strict=True)])
    variables = [w.value for w in layer.trainable_weights]
    for weight, gradient in zip(layer.trainable_weights, tape.gradient(loss, variables), strict=True):
        assert gradient is not None, f"no gradient reaches {weight.path}"
        gradient = tf.convert_to_tensor(gradient).numpy()
        assert np.all(np.isfinite(gradient)), f"gradient of {weight.path} is not finite"
        assert np.any(gradient), f"gradient of {weight.path} is zero"


def check_initializer(case: LayerCase, layer, expected) -> None:
    names = [n for n in inspect.signature(case.cls.__init__).parameters if n.endswith("initializer") and "bias" not in n]
    if not names:
        return
    sharing = case.build(**dict.fromkeys(names, keras.initializers.RandomNormal()))
    case.run(sharing)
    kernels = [w for w in sharing.get_weights() if w.ndim >= 2 and w.size > 3 and np.ptp(w) > 0]
    for index, one in enumerate(kernels):
        for other in kernels[index + 1 :]:
            assert one.shape != other.shape or not np.array_equal(one, other), "two kernels start equal (shared initializer)"


def check_mask(case: LayerCase, layer, expected) -> None:
    if not case.mask:
        return
    sequence = np.asarray(case.inputs[0])
    keep = max(1, sequence.shape[1] // 2)
    garbage = sequence.copy()
    garbage[:, keep:] = 0 if sequence.dtype.kind in "iu" else 9.0
    mask = np.arange(sequence.shape[1])[None] < keep
    mask = np.repeat(mask, sequence.shape[0], axis=0)
    trimmed = layer(sequence[:, :keep], *case.inputs[1:], **case.call)
    padded = tf.convert_to_tensor(garbage)
    if "mask" in inspect.signature(layer.call).parameters:
        masked = layer(padded, *case.inputs[1:], mask=tf.convert_to_tensor(mask), **case.call)
    else:
        padded._keras_mask = tf.convert_to_tensor(mask)
        masked = layer(padded, *case.inputs[1:], **case.call)
    assert layer.supports_masking, "supports_masking is not set"
    for one, other in zip(arrays(masked), arrays(trimmed), strict=True):
        one = one[:, : other.shape[1]] if one.ndim > 1 and one.shape != other.shape else one
        assert_close(tf.constant(one), tf.constant(other), 1e-5, "masked against trimmed")


def save_for_reload(case: LayerCase, folder) -> None:
    """Save the layer inside a functional model with its inputs and outputs, for `reload.py` in a fresh process."""
    seed(11)
    symbolic = symbolic_inputs(case)
    outputs = case.build()(*symbolic, **case.call)
    model = keras.Model(keras.tree.flatten(symbolic), keras.tree.flatten(outputs))
    inputs = [np.asarray(item) for item in keras.tree.flatten(case.inputs)]
    model.save(folder / f"{case.id}.keras")
    found = arrays(model(inputs, training=False))
    np.savez(folder / f"{case.id}.npz", *inputs, **{f"output_{i}": value for i, value in enumerate(found)})


def check_layer(case: LayerCase, chosen: Collection[str] = PARTS) -> None:
    """Run parts of the contract, the config's in any case; the reload is run by the sweep, for all layers in one process."""
    assert "config" not in case.without, f"{case.id}: every layer has a config"
    try:
        built = check_config(case)
    except AssertionError as error:
        raise AssertionError(f"{case.id}: config: {error}") from error
    parts = {
        "shape": check_shape,
        "weights": check_weights,
        "compiled": check_compiled,
        "xla": check_xla,
        "half": check_half,
        "gradient": check_gradient,
        "initializer": check_initializer,
        "mask": check_mask,
    }
    for name, check in parts.items():
        if name not in chosen:
            continue
        if name in case.without:
            print(f"{case.id}: {name} left out: {case.without[name]}")
            continue
        try:
            check(case, *built)
        except AssertionError as error:
            raise AssertionError(f"{case.id}: {name}: {error}") from error
