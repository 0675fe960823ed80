"""Case B24: go on with a training that another process saved.

Run as a script: `save FOLDER` trains five steps and saves; `go-on FOLDER` loads and goes on. Both are fresh processes, because the
process of the tests may have been told to use deterministic kernels, which round differently.
"""

import sys

import keras
import numpy as np

from keras_canon import zoo


def compiled() -> zoo.Model:
    """A model with Adam on a falling rate."""
    keras.utils.set_random_seed(0)
    model = zoo.create("lenet5_modern", num_classes=3)
    rate = keras.optimizers.schedules.CosineDecay(0.1, 100)
    model.compile(keras.optimizers.Adam(rate), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
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


if __name__ == "__main__":
    {"save": save, "go-on": go_on}[sys.argv[1]](sys.argv[2])
