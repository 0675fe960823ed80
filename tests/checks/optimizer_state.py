"""Case B24: go on with a training that another process saved.

Run as a script with a folder: one process trains five steps and saves, another loads and goes on. Both are fresh ones, because the
process of the tests may have been told to use deterministic kernels, which round differently; the first is forked from the second
before TensorFlow has started anything, which spares an import.
"""

import os
import sys

import keras
import numpy as np

from keras_canon import zoo


def compiled() -> zoo.Model:
    """A model with Adam on a falling rate."""
    keras.utils.set_random_seed(0)
    model = zoo.create("lenet5_modern", num_classes=3)
    rate = keras.optimizers.schedules.CosineDecay(0.1, 100)
    model.compile(keras.optimizers.Adam(rate), keras.losses.SparseCategoricalCrossentropy(from_logits=True), jit_compile=False)
    return model


def train(model: zoo.Model, first: int, last: int) -> None:
    """Train on the batches first .. last - 1."""
    for step in range(first, last):
        images = np.random.RandomState(step).standard_normal((4, 32, 32, 1)).astype("float32")
        model.train_on_batch(images, np.arange(4) % 3)


def save(folder: str) -> None:
    """Train five steps and save the model, and its weights alone."""
    model = compiled()
    train(model, 0, 5)
    model.save(f"{folder}/five.keras")
    model.save_weights(f"{folder}/five.weights.h5")


def go_on(folder: str) -> None:
    """Print: steps and rate after loading; largest difference from eight unbroken steps; what a weights file alone gives."""
    loaded = zoo.load_model(f"{folder}/five.keras")
    print(int(loaded.optimizer.iterations), float(loaded.optimizer.learning_rate))
    train(loaded, 5, 8)
    straight = compiled()
    train(straight, 0, 8)
    print(max(float(np.abs(np.asarray(a) - np.asarray(b)).max()) for a, b in zip(loaded.weights, straight.weights, strict=True)))
    fresh = compiled()
    report = zoo.load_weights(fresh, f"{folder}/five.weights.h5")
    print(int(fresh.optimizer.iterations), *report.notes)


def main(folder: str) -> None:
    """Save in one process, go on in another."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            save(folder)
            status = 0
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    go_on(folder)


if __name__ == "__main__":
    main(sys.argv[1])
