"""Comparison of a vision network with the same architecture in keras.applications, at random weights."""

from collections.abc import Callable

import keras
import numpy as np

from keras_canon import zoo

CLASSES = 7


def randomize(model: keras.Model) -> None:
    """Give every weight a value of its own: kernels that keep the scale of the signal, statistics and biases off their start."""
    random = np.random.RandomState(11)
    for weight in model.weights:
        draw, leaf = random.standard_normal(weight.shape), weight.path.split("/")[-1]
        if leaf == "moving_variance":
            value = 1.0 + 0.1 * np.abs(draw)
        elif leaf == "gamma":
            value = 1.0 + 0.1 * draw
        elif leaf.endswith("kernel"):
            # a depthwise kernel (height, width, channels, 1) sums over its window only
            value = draw * np.sqrt(2.5 / np.prod(weight.shape[:-2] if leaf.startswith("depthwise") else weight.shape[:-1]))
        else:
            value = 0.1 * draw
        weight.assign(value)


def check_twin(variant: str, build: Callable[..., keras.Model], size: int) -> float:
    """Convert a randomised model of keras.applications strictly, compare the logits, and return the largest error in deviations."""
    theirs = build(weights=None, classes=CLASSES, input_shape=(size, size, 3), classifier_activation=None)
    randomize(theirs)
    ours = zoo.create(variant, num_classes=CLASSES, input_shape=(size, size, 3))
    report = zoo.load_weights(ours, theirs, format="keras_applications")
    assert len(report.loaded) == len(theirs.weights)
    assert not report.unused
    assert not report.missing
    images = np.random.RandomState(12).standard_normal((2, size, size, 3)).astype("float32")
    expected = np.asarray(theirs(images, training=False))
    error = float((np.abs(np.asarray(ours(images, training=False)) - expected).max(-1) / expected.std(-1)).max())
    assert error < 1e-4, f"{variant} is {error:.1e} standard deviations from keras.applications"
    return error
