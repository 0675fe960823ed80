"""Models with auxiliary outputs: their loss in training, the main output everywhere else."""

import json

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_canon import training, zoo
from keras_canon.cli.predict import predict
from keras_canon.training.auxiliary import auxiliary_outputs, main_output
from keras_canon.training.building import build
from keras_canon.training.cross_entropy import accuracy
from keras_canon.training.loop import train
from keras_canon.training.losses import ClassWeighted, CrossEntropy, WithAuxiliary
from keras_canon.training.pipeline import load_data
from keras_canon.training.steps import per_example
from keras_canon.zoo.errors import CanonError

LOGITS = {"logits": [[2.0, 0.0], [0.0, 1.0]], "auxiliary1": [[0.0, 0.0], [0.0, 3.0]], "auxiliary2": [[1.0, 0.0], [5.0, 0.0]]}
LABELS = np.array([0, 1])


def by_hand(outputs, labels):
    outputs = np.asarray(outputs, "float64")
    return np.log(np.exp(outputs).sum(axis=1)) - outputs[np.arange(2), labels]


def three_outputs(rate=0.1):
    keras.utils.set_random_seed(2)
    inputs = keras.Input((4,))
    hidden = keras.layers.Dense(6, activation="tanh")(inputs)
    outputs = {name: keras.layers.Dense(2, name=name)(hidden) for name in LOGITS}
    model = keras.Model(inputs, outputs)
    model.compile(keras.optimizers.SGD(rate), WithAuxiliary(CrossEntropy(), 0.3))
    return model


def examples():
    random = np.random.default_rng(0)
    return random.normal(size=(10, 4)).astype("float32"), random.integers(0, 2, 10)


def test_each_auxiliary_loss_counts_with_its_weight():
    expected = by_hand(LOGITS["logits"], LABELS) + 0.3 * sum(by_hand(LOGITS[name], LABELS) for name in ("auxiliary1", "auxiliary2"))
    for labels in (LABELS, np.eye(2)[LABELS]):
        np.testing.assert_allclose(per_example(WithAuxiliary(CrossEntropy(), 0.3))(labels, LOGITS), expected, rtol=1e-6)
    np.testing.assert_allclose(float(WithAuxiliary(CrossEntropy(), 0.3)(LABELS, LOGITS)), expected.mean(), rtol=1e-6)
    # of one output alone it is that output's loss
    found = per_example(WithAuxiliary(CrossEntropy(), 0.3))(LABELS, np.asarray(LOGITS["logits"]))
    np.testing.assert_allclose(found, by_hand(LOGITS["logits"], LABELS), rtol=1e-6)
    with pytest.raises(ValueError, match="weight must be at least 0"):
        WithAuxiliary(CrossEntropy(), -0.1)


def test_weights_of_classes_and_labels_beyond_half_precision():
    loss = WithAuxiliary(ClassWeighted(CrossEntropy(label_smoothing=0.1), [2.0, 1.0]), 0.5)
    again = keras.losses.deserialize(keras.losses.serialize(loss))
    np.testing.assert_array_equal(per_example(loss)(LABELS, LOGITS), per_example(again)(LABELS, LOGITS))
    wide = tf.one_hot([300], 301, on_value=9.0)
    assert float(WithAuxiliary(CrossEntropy(), 0.3)([300], {"logits": wide, "auxiliary1": wide})) < 0.1


def test_the_main_output():
    assert main_output(LOGITS) is LOGITS["logits"]
    for other in (LOGITS["logits"], [1, 2], {"a": 1}):
        assert main_output(other) is other
    assert auxiliary_outputs(three_outputs()) == ("auxiliary1", "auxiliary2")
    inputs = keras.Input((2,))
    assert auxiliary_outputs(keras.Model(inputs, keras.layers.Dense(2)(inputs))) == ()


def test_training_counts_all_outputs_and_validation_the_main_one():
    inputs, labels = examples()
    data = tf.data.Dataset.from_tensor_slices((inputs, labels)).batch(10)
    model = three_outputs()
    twin = three_outputs()
    history = train(model, lambda epoch: data, epochs=1, validation=data)
    with tf.GradientTape() as tape:
        outputs = twin(inputs, training=True)
        losses = {name: tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, outputs[name])) for name in outputs}
        total = losses["logits"] + 0.3 * (losses["auxiliary1"] + losses["auxiliary2"])
    np.testing.assert_allclose(history["loss"], [float(total)], rtol=1e-6)
    np.testing.assert_allclose(history["accuracy"], [np.mean(accuracy(labels, outputs["logits"]))], rtol=1e-6)
    twin.optimizer.apply(tape.gradient(total, [weight.value for weight in twin.trainable_weights]), twin.trainable_weights)
    for one, other in zip(model.get_weights(), twin.get_weights(), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-7)
    logits = model(inputs, training=False)["logits"]
    expected = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))
    np.testing.assert_allclose(history["val_loss"], [float(expected)], rtol=1e-6)


GOOGLENET = {
    "model.name": "googlenet_auxiliary",
    "model.input_shape": [65, 65, 1],
    "model.overrides": {
        "stem": [8, 8, 8],
        "modules": [[[4, 4, 4, 4, 4, 4]], [[4, 4, 4, 4, 4, 4]] * 2, [[4, 4, 4, 4, 4, 4]]],
        "auxiliary_filters": 4,
        "auxiliary_units": 8,
    },
    "data.name": "synthetic:classes=3,size=8,channels=1,examples=30",
    "train.epochs": 1,
    "train.batch_size": 8,
}


@pytest.mark.slow
def test_a_recipe_trains_evaluates_and_keeps_a_model_with_auxiliary_outputs(tmp_path, capsys):
    changes = {**GOOGLENET, "train.auxiliary_weight": 0.3, "augment.mixup": 0.2}
    result = training.run("lenet5_modern_fashion_mnist", tmp_path / "run", overrides=changes, smoke=True, verbose=False)
    again = training.evaluate(tmp_path / "run")
    assert again.metrics() == result.test_metrics
    assert list(zoo.load_model(tmp_path / "run" / "model.keras").output) == ["logits", "auxiliary1", "auxiliary2"]
    keras.utils.save_img(tmp_path / "one.png", np.full((9, 9, 1), 80.0), scale=False)
    predict(tmp_path / "run", [tmp_path / "one.png"], top=3, as_json=True)
    assert len(json.loads(capsys.readouterr().out)[0]["classes"]) == 3


def test_a_weight_and_auxiliary_outputs_go_together():
    for changes, message in (
        (GOOGLENET, r"has the auxiliary outputs auxiliary1, auxiliary2: set train\.auxiliary_weight"),
        ({"train.auxiliary_weight": 0.3}, r"auxiliary_weight does nothing to 'lenet5_modern', which has one output"),
    ):
        recipe = training.load_recipe("lenet5_modern_fashion_mnist", changes, smoke=True)
        with pytest.raises(CanonError, match=message):
            build(recipe, load_data(recipe.data))
    with pytest.raises(CanonError, match="auxiliary_weight must be at least 0"):
        training.load_recipe("lenet5_modern_fashion_mnist", {"train.auxiliary_weight": -1.0})
