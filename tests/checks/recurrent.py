"""What the tests of the recurrent layers share: golden files, masks, and gradients with respect to weights and inputs."""

import json
import sys
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

GOLDEN = Path(__file__).parents[1] / "golden"

# Ten steps each: no padding, on the right, on the left, in the middle, scattered, nothing real.
MASK = np.array(
    [
        [1, 1, 1, 1, 1, 1, 1, 1, 1, 1],
        [1, 1, 1, 1, 1, 0, 0, 0, 0, 0],
        [0, 0, 0, 1, 1, 1, 1, 1, 1, 1],
        [1, 1, 1, 0, 0, 0, 1, 1, 1, 1],
        [0, 1, 0, 1, 1, 0, 0, 1, 1, 0],
        [0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    ],
    dtype=bool,
)


def golden(name):
    """Return the golden file `name` of the sequence folder, its weights and its input."""
    if str(GOLDEN) not in sys.path:
        sys.path.insert(0, str(GOLDEN))
    import rule

    record = json.loads((GOLDEN / "sequence" / f"{name}.json").read_text())
    return record, rule.state(record), np.array(record["inputs"]["x"], "float32")


def expected(record, name):
    return np.array(record["outputs"][name]["values"], "float32")


def randomise(layer, seed=0):
    """Set all weights, biases too, to random values."""
    random = np.random.RandomState(seed)
    layer.set_weights([0.5 * random.standard_normal(item.shape).astype("float32") for item in layer.get_weights()])


def sequence(batch=6, steps=10, features=4, seed=1):
    return np.random.RandomState(seed).standard_normal((batch, steps, features)).astype("float32")


def gradients(layer, inputs, seed=2, **call):
    """Return outputs, and the gradients of a random combination of them at the inputs and all weights."""
    inputs = tf.convert_to_tensor(inputs)
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        outputs = tf.nest.flatten(layer(inputs, **call))
        random = np.random.RandomState(seed)
        loss = tf.add_n([tf.reduce_sum(item * random.standard_normal(item.shape).astype("float32")) for item in outputs])
    weights = [weight.value for weight in layer.trainable_weights]
    return [item.numpy() for item in outputs], [item.numpy() for item in tape.gradient(loss, [inputs, *weights])]


def assert_same(layer, other, inputs, tolerance=1e-5, mine=None, **call):
    """Assert that two layers give the same outputs and gradients, both relative to the largest value where that is above 1."""
    for one, two in zip(gradients(layer, inputs, **call, **(mine or {})), gradients(other, inputs, **call), strict=True):
        for found, wanted in zip(one, two, strict=True):
            error = np.max(np.abs(found - wanted)) / max(1.0, np.max(np.abs(wanted)))
            assert error <= tolerance, f"error {error:.1e}"


def both_ways(layer, other, inputs):
    """Build both layers and copy random weights from the first to the second, then back."""
    layer(inputs), other(inputs)
    randomise(layer)
    other.set_weights(layer.get_weights())
    layer.set_weights(other.get_weights())


def run_cell(cell, **options):
    return keras.layers.RNN(cell, return_sequences=True, **options)
