"""`check_model`: what must hold for every model of the registry, as plain functions over one `ModelCase`."""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from keras_canon import zoo

PARTS = ("shapes", "gradient", "overfit", "reload", "features", "head", "channels", "replicas", "saved_model")


@dataclass
class ModelCase:
    """A variant at a size that is cheap to run.

    Args:
        name: the variant.
        input_shape: a small input, None for the row's own.
        overrides: smaller sizes of the config, such as a depth; empty for the row's own.
        num_classes: of the small model.
        rate: learning rate of the overfit check.
        channels: False when the number of input channels is fixed by the task.
        without: part -> reason why it cannot apply.
    """

    name: str
    input_shape: tuple[int, ...] | None = None
    overrides: dict[str, Any] = field(default_factory=dict)
    num_classes: int = 5
    rate: float = 0.01
    channels: bool = True
    without: dict[str, str] = field(default_factory=dict)

    def __post_init__(self):
        assert set(self.without) <= set(PARTS), f"{self.name}: parts are {PARTS}"

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.input_shape or zoo.info(self.name).input_shape)

    def build(self, channels: int | None = None, num_classes: int | None = None) -> zoo.Model:
        keras.utils.set_random_seed(3)
        shape = self.shape if channels is None else (*self.shape[:-1], channels)
        classes = self.num_classes if num_classes is None else num_classes
        return zoo.create(self.name, num_classes=classes, input_shape=shape, overrides=self.overrides)

    def inputs(self, batch: int = 4, channels: int | None = None) -> np.ndarray:
        shape = self.shape if channels is None else (*self.shape[:-1], channels)
        return np.random.RandomState(5).standard_normal((batch, *shape)).astype("float32")

    def targets(self, batch: int = 4) -> np.ndarray:
        return np.arange(batch) % self.num_classes


def logits_of(outputs):
    """The main output of a model with one or several."""
    return outputs["logits"] if isinstance(outputs, dict) else tf.nest.flatten(outputs)[0]


def loss_of(model, inputs, targets, training: bool):
    outputs = [tf.cast(item, "float32") for item in tf.nest.flatten(model(inputs, training=training))]
    losses = [tf.nn.sparse_softmax_cross_entropy_with_logits(targets, item) for item in outputs]
    return tf.reduce_mean(tf.add_n(losses))


def check_shapes(case: ModelCase, model: zoo.Model) -> None:
    assert logits_of(model(case.inputs(), training=False)).shape == (4, case.num_classes)
    assert model.output_names or model.output is not None
    assert "logits" in {layer.name for layer in model.layers[-4:]}
    assert case.build(num_classes=0).output.shape[0] is None


def check_gradient(case: ModelCase, model: zoo.Model) -> None:
    with tf.GradientTape() as tape:
        loss = loss_of(model, case.inputs(), case.targets(), training=True)
    gradients = tape.gradient(loss, [weight.value for weight in model.trainable_weights])
    for weight, gradient in zip(model.trainable_weights, gradients, strict=True):
        assert gradient is not None, f"no gradient reaches {weight.path}"
        assert np.all(np.isfinite(gradient)), f"gradient of {weight.path} is not finite"
        assert np.any(gradient), f"gradient of {weight.path} is zero"


def check_overfit(case: ModelCase, model: zoo.Model) -> None:
    inputs, targets = case.inputs(), case.targets()
    optimizer = keras.optimizers.Adam(case.rate, clipnorm=1.0)
    variables = model.trainable_variables
    optimizer.build(variables)

    @tf.function(autograph=False)
    def step():
        with tf.GradientTape() as tape:
            loss = loss_of(model, inputs, targets, training=True)
        optimizer.apply(tape.gradient(loss, [variable.value for variable in variables]), variables)
        return loss

    first = float(step())
    best = first
    for _ in range(150):
        best = min(best, float(step()))
        if best < 0.1 * first:
            return
    raise AssertionError(f"one batch is not overfitted: loss {first:.3f} at the start, {best:.3f} at best")


def check_reload(case: ModelCase, model: zoo.Model, folder) -> None:
    inputs = case.inputs()
    path = folder / f"{case.name}.keras"
    model.save(path)
    loaded = zoo.load_model(path)
    assert loaded.record == model.record
    for one, other in zip(tf.nest.flatten(model(inputs, training=False)), tf.nest.flatten(loaded(inputs, training=False)), strict=True):
        np.testing.assert_array_equal(one, other)


def check_features(case: ModelCase, model: zoo.Model) -> None:
    declared = zoo.info(case.name).features
    if not declared:
        return
    maps = zoo.features(model)(case.inputs())
    assert list(maps) == list(declared)
    for name, stride in declared.items():
        assert maps[name].shape[0] == 4
        if len(maps[name].shape) == 4:
            expected = case.shape[0] / stride
            # unpadded convolutions and stems cost a few rows, never a factor
            assert 0.6 * expected - 3 <= maps[name].shape[1] <= expected + 2, f"{name}: {maps[name].shape} at stride {stride}"


def check_head(case: ModelCase, model: zoo.Model) -> None:
    other = zoo.replace_head(model, num_classes=7, dropout=0.1)
    assert other(case.inputs(), training=False).shape == (4, 7)
    assert other.record.num_classes == 7
    kept = {weight.path: np.asarray(weight) for weight in model.weights if not weight.path.startswith("logits/")}
    for weight in other.weights:
        if weight.path in kept:
            np.testing.assert_array_equal(np.asarray(weight), kept.pop(weight.path))
    assert not kept, f"weights lost with the head: {list(kept)}"


def check_channels(case: ModelCase, model: zoo.Model) -> None:
    if not case.channels:
        return
    for channels in (1, 3, 4):
        if channels == case.shape[-1]:
            continue  # the part "shapes" has seen this one
        outputs = case.build(channels=channels)(case.inputs(1, channels), training=False)
        assert logits_of(outputs).shape == (1, case.num_classes)


def check_replicas(case: ModelCase, model: zoo.Model) -> None:
    """Two replicas with half the batch each give the outputs of one replica, of the same weights, with all of it."""
    expected = np.asarray(logits_of(model(case.inputs(), training=False)))
    devices = tf.config.list_logical_devices("CPU")
    assert len(devices) >= 2, "tests/conftest.py makes two virtual devices"
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    with strategy.scope():
        mirrored = case.build()
    inputs = case.inputs()
    halves = strategy.experimental_distribute_values_from_function(
        lambda context: tf.constant(np.split(inputs, 2)[context.replica_id_in_sync_group])
    )
    found = strategy.run(lambda part: logits_of(mirrored(part, training=False)), args=(halves,))
    found = np.concatenate([np.asarray(part) for part in strategy.experimental_local_results(found)])
    np.testing.assert_allclose(found, expected, atol=1e-5 * max(1.0, float(np.abs(expected).max())))


def save_for_serving(case: ModelCase, folder) -> None:
    """Write a SavedModel with its inputs and outputs, for `saved_models.py` in a process without this package."""
    model = case.build()
    inputs = case.inputs()
    function = tf.function(lambda images: model(images, training=False), autograph=False)
    function = function.get_concrete_function(tf.TensorSpec((None, *inputs.shape[1:]), "float32"))
    tf.saved_model.save(model, str(folder / case.name), signatures={"serving_default": function})
    outputs = {f"output_{i}": np.asarray(item) for i, item in enumerate(tf.nest.flatten(function(inputs)))}
    np.savez(folder / f"{case.name}.npz", inputs=inputs, **outputs)


CHECKS = {
    "shapes": check_shapes,
    "reload": check_reload,
    "features": check_features,
    "head": check_head,
    "channels": check_channels,
    "replicas": check_replicas,
    # these two move statistics and weights, and so they come last
    "gradient": check_gradient,
    "overfit": check_overfit,
}


def check_model(case: ModelCase, folder, parts: Collection[str] = tuple(CHECKS)) -> None:
    """Run parts in the order of `CHECKS` on one model; the SavedModel's is run by the sweep, for all models in one process."""
    for name, reason in case.without.items():
        print(f"{case.name}: {name} left out: {reason}")
    model = case.build()
    for name, check in CHECKS.items():
        if name in case.without or name not in parts:
            continue
        try:
            check(case, model, folder) if name == "reload" else check(case, model)
        except AssertionError as error:
            raise AssertionError(f"{case.name}: {name}: {error}") from error
    keras.backend.clear_session(free_memory=False)
