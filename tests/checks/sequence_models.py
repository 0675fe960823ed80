"""`check_sequence_model`: what must hold for every model of sequences, as plain functions over one `SequenceCase`."""

from dataclasses import dataclass, field
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from checks.padding_law import SIDES, law_error, pad
from checks.sequence_answers import named_outputs
from keras_canon import zoo

PARTS = ("gradient", "padding", "left", "empty")
TOLERANCE = 1e-6


@dataclass
class SequenceCase:
    """A variant at a size that is cheap to run.

    Args:
        name: the variant.
        overrides: smaller sizes of the config.
        num_classes: of the small model, None for the row's own.
        input_shape: None for the row's own.
        length: number of real steps on each axis of any length.
        vocabulary: ids are drawn from 1 to this number less one.
        lengths: other lengths by input.
        unpadded: inputs that are never padded.
        front: True for models that put real steps first, so that left-padded input gives its outputs at the front.
        still: ends of the paths of weights whose gradient is zero by the arithmetic.
        without: part -> reason why it cannot apply.
    """

    name: str
    overrides: dict[str, Any] = field(default_factory=dict)
    num_classes: int | None = None
    input_shape: tuple[int | None, ...] | None = None
    length: int = 6
    vocabulary: int = 11
    lengths: dict[str, int] = field(default_factory=dict)
    unpadded: tuple[str, ...] = ()
    front: bool = False
    still: tuple[str, ...] = ()
    without: dict[str, str] = field(default_factory=dict)

    def __post_init__(self):
        assert set(self.without) <= set(PARTS), f"{self.name}: parts are {PARTS}"

    def build(self) -> zoo.Model:
        keras.utils.set_random_seed(3)
        return zoo.create(self.name, num_classes=self.num_classes, input_shape=self.input_shape, overrides=self.overrides)

    def inputs(self, model: zoo.Model, batch: int = 2) -> dict[str, np.ndarray]:
        """Return real data for each input by name."""
        random = np.random.RandomState(5)
        found = {}
        for tensor in model.inputs:
            length = self.lengths.get(tensor.name, self.length)
            shape = (batch, *(size or length for size in tensor.shape[1:]))
            if "int" in tensor.dtype:
                found[tensor.name] = random.randint(1, self.vocabulary, shape).astype("int32")
            else:
                found[tensor.name] = random.standard_normal(shape).astype("float32")
        return found

    def padded(self, model: zoo.Model, inputs: dict[str, np.ndarray], side: str) -> dict[str, np.ndarray]:
        """Return inputs with padding on one side of each axis of any length."""
        found = dict(inputs)
        for tensor in model.inputs:
            for axis, size in enumerate(tensor.shape):
                if axis and size is None and tensor.name not in self.unpadded:
                    found[tensor.name] = pad(found[tensor.name], axis, side, 0)
        return found

    @property
    def sides(self) -> tuple[str, ...]:
        """The sides on which padding changes nothing."""
        return tuple(side for side in SIDES if side not in self.without) if "padding" not in self.without else ()

    def output_side(self, side: str) -> str:
        """Return on which side of the outputs the padding is found."""
        return "right" if self.front else side


def run(model, inputs: dict[str, np.ndarray], training: bool = False) -> dict:
    """Return the outputs by name."""
    given = inputs if len(inputs) > 1 or isinstance(model.input, dict) else next(iter(inputs.values()))
    return named_outputs(model(given, training=training))


def arrays(outputs: dict) -> dict[str, np.ndarray]:
    return {name: np.asarray(value) for name, value in outputs.items()}


def check_gradient(case: SequenceCase, model: zoo.Model) -> None:
    """Every trainable weight gets a finite gradient that is not zero."""
    inputs = case.inputs(model)
    random = np.random.RandomState(7)
    with tf.GradientTape() as tape:
        outputs = [tf.cast(value, "float32") for value in run(model, inputs, training=True).values() if value.dtype.is_floating]
        loss = tf.add_n([tf.reduce_sum(value * random.standard_normal(value.shape).astype("float32")) for value in outputs])
    gradients = tape.gradient(loss, [weight.value for weight in model.trainable_weights])
    for weight, gradient in zip(model.trainable_weights, gradients, strict=True):
        assert gradient is not None, f"no gradient reaches {weight.path}"
        assert np.all(np.isfinite(tf.convert_to_tensor(gradient))), f"gradient of {weight.path} is not finite"
        assert np.any(tf.convert_to_tensor(gradient)) or weight.path.endswith(case.still or "-"), f"gradient of {weight.path} is zero"


def check_padding(case: SequenceCase, model: zoo.Model) -> None:
    """Padded = trimmed = left-padded, for all rows alike and for rows of different lengths in one batch."""
    inputs = case.inputs(model)
    trimmed = arrays(run(model, inputs))
    for side in case.sides:
        error = law_error(trimmed, arrays(run(model, case.padded(model, inputs, side))), case.output_side(side))
        assert error < TOLERANCE, f"{side}-padded differs from trimmed by {error:.1e}"
    if "right" not in case.sides:
        return
    # one row padded, one row whole
    padded = case.padded(model, {name: value[:1] for name, value in inputs.items()}, "right")
    random = np.random.RandomState(9)
    whole = {}
    for name, value in padded.items():
        drawn = random.randint(1, case.vocabulary, value.shape) if value.dtype == "int32" else random.standard_normal(value.shape)
        whole[name] = drawn.astype(value.dtype)
    mixed = arrays(run(model, {name: np.concatenate([padded[name], whole[name]]) for name in padded}))
    alone = {name: value[:1] for name, value in trimmed.items()}
    error = law_error(alone, {name: value[:1] for name, value in mixed.items()}, "right")
    assert error < TOLERANCE, f"a row beside a longer one differs by {error:.1e}"


def check_empty(case: SequenceCase, model: zoo.Model) -> None:
    """A row of nothing but padding gives finite outputs, and arrays without steps give those or an error."""
    inputs = {name: value if name in case.unpadded else np.zeros_like(value) for name, value in case.inputs(model).items()}
    for name, value in arrays(run(model, inputs)).items():
        assert np.all(np.isfinite(value)), name
    sizes = {tensor.name: [0 if size is None else size for size in tensor.shape[1:]] for tensor in model.inputs}
    try:
        found = run(model, {name: np.zeros((2, *sizes[name]), value.dtype) for name, value in inputs.items()})
    except (ValueError, tf.errors.InvalidArgumentError):
        return
    for name, value in arrays(found).items():
        assert np.all(np.isfinite(value)), name


def store(case: SequenceCase, folder, kind: str) -> None:
    """Write the model, its inputs with and without padding and its outputs, for `sequence_answers.py` in a fresh process."""
    model = case.build()
    inputs = case.inputs(model)
    parts = {"trimmed": inputs}
    for side in case.sides:
        parts["right-front" if case.front and side == "left" else side] = case.padded(model, inputs, side)
    stored = {f"{part}/{name}": value for part, values in parts.items() for name, value in values.items()}
    stored |= {f"expected/{name}": value for name, value in arrays(run(model, inputs)).items()}
    np.savez(folder / f"{case.name}.npz", **stored)
    if kind == "keras":
        model.save(folder / f"{case.name}.keras")
        return
    specs = {tensor.name: tf.TensorSpec((None, *tensor.shape[1:]), tensor.dtype, tensor.name) for tensor in model.inputs}
    function = tf.function(lambda **given: run(model, given), autograph=False)
    tf.saved_model.save(model, str(folder / case.name), signatures={"serving_default": function.get_concrete_function(**specs)})


def check_sequence_model(case: SequenceCase, folder=None) -> None:
    """Run every part but those of a fresh process, which the sweep does for all models at once, on one model.

    The gradient's comes last, for training moves statistics.
    """
    model = case.build()
    for name, check in {"padding": check_padding, "empty": check_empty, "gradient": check_gradient}.items():
        if name in case.without:
            print(f"{case.name}: {name} left out: {case.without[name]}")
            continue
        try:
            check(case, model)
        except AssertionError as error:
            raise AssertionError(f"{case.name}: {name}: {error}") from error
    keras.backend.clear_session(free_memory=False)
