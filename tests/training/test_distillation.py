"""Distillation: the loss by hand, and a student that learns from the teacher alone."""

import keras
import numpy as np
import pytest

from keras_canon import training, zoo
from keras_canon.training.data import load
from keras_canon.training.distillation import Distillation, _as_teacher_sees
from keras_canon.zoo import Preprocessing

DATA = "synthetic:classes=4,size=12,channels=1,examples=200"


def softmax(values):
    exponential = np.exp(values - values.max(-1, keepdims=True))
    return exponential / exponential.sum(-1, keepdims=True)


def test_loss_is_the_papers():
    generator = np.random.default_rng(0)
    student, teacher, labels = generator.normal(size=(5, 3)), 3 * generator.normal(size=(5, 3)), np.array([0, 2, 1, 1, 0])
    hard = -np.log(softmax(student))[np.arange(5), labels]
    soft = -(softmax(teacher / 4) * np.log(softmax(student / 4))).sum(-1)
    loss = Distillation(temperature=4.0, share=0.7, reduction="none")
    np.testing.assert_allclose(loss(labels, np.stack([student, teacher], 1)), 0.3 * hard + 0.7 * 16 * soft, rtol=1e-5)
    again = Distillation.from_config(loss.get_config())
    assert (again.temperature, again.share) == (4.0, 0.7)


def test_gradient_at_high_temperature_matches_logits():
    """Section 2.1: the gradient of the soft part tends to (z - v) / classes for logits with mean 0."""
    student, teacher = keras.Variable([[1.0, -1.0, 0.0]]), np.array([[3.0, -1.0, -2.0]], "float32")
    import tensorflow as tf

    with tf.GradientTape() as tape:
        loss = Distillation(temperature=200.0, share=1.0)([0], keras.ops.stack([student.value, teacher], axis=1))
    np.testing.assert_allclose(tape.gradient(loss, student.value), (student.numpy() - teacher) / 3, atol=0.02)


@pytest.fixture(scope="module")
def teacher():
    keras.utils.set_random_seed(1)
    model = zoo.create("lenet5_modern", num_classes=4)
    how = training.ShortTraining(epochs=10, batch_size=16, learning_rate=3e-3)
    training.distil(model, zoo.create("lenet5_modern", num_classes=4), DATA, share=0.0, how=how)
    return model


def test_share_0_is_plain_training(teacher):
    assert training.evaluate(teacher, DATA).accuracy >= 0.95
    assert teacher.record.labels == load(DATA).class_names


def test_a_student_learns_from_the_teacher_alone(teacher):
    """With share=1 no label is looked at, so all that the student knows comes from the teacher."""
    keras.utils.set_random_seed(2)
    student = zoo.create("lenet5_modern", num_classes=4)
    before = [weights.copy() for weights in teacher.get_weights()]
    how = training.ShortTraining(epochs=10, batch_size=16, learning_rate=3e-3)
    history = training.distil(student, teacher, DATA, share=1.0, how=how)
    assert history["loss"][-1] < history["loss"][0]
    assert training.evaluate(student, DATA).accuracy >= 0.9
    assert student.record.weights.startswith("distilled from lenet5_modern")
    for old, new in zip(before, teacher.get_weights(), strict=True):
        np.testing.assert_array_equal(new, old)
    assert teacher.trainable
    assert all(layer.trainable for layer in teacher.layers)


def test_the_teacher_sees_what_it_was_trained_on():
    mine = Preprocessing((6, 6), mean=(0.5,), std=(0.25,))
    other = Preprocessing((6, 6), scale=1.0, mean=(100.0, 110.0, 120.0), std=(1.0, 2.0, 3.0))
    raw = np.random.default_rng(0).integers(0, 256, (1, 6, 6, 3), dtype="uint8")
    images = keras.Input((6, 6, 3))
    convert = keras.Model(images, _as_teacher_sees(images, mine, other))
    np.testing.assert_allclose(convert(zoo.apply_preprocessing(raw, mine)), zoo.apply_preprocessing(raw, other), atol=1e-3)
    same = keras.Input((6, 6, 3))
    assert _as_teacher_sees(same, mine, mine) is same
    assert _as_teacher_sees(same, mine, Preprocessing((9, 12), mean=(0.5,), std=(0.25,))).shape == (None, 9, 12, 3)


def test_what_does_not_fit_is_refused(teacher):
    for student, message in (
        (zoo.create("lenet5_modern", num_classes=5), "5 classes, but .* has 4"),
        (zoo.create("lenet5_modern", num_classes=4, input_shape=(32, 32, 3)), "sees 3 channels .* and the teacher 1"),
    ):
        with pytest.raises(zoo.CanonError, match=message):
            training.distil(student, teacher, DATA)
    for options in ({"temperature": 0.0}, {"share": 1.1}):
        with pytest.raises(ValueError, match=next(iter(options))):
            Distillation(**options)
    for options in ({"epochs": 0}, {"batch_size": 1.5}, {"learning_rate": 0.0}):
        with pytest.raises(zoo.CanonError, match=next(iter(options))):
            training.ShortTraining(**options)
