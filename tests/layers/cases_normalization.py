"""Contract cases of the normalisation layers."""

import keras
import numpy as np
from checks.layers import LayerCase

from keras_canon.layers import GroupNormalization, InstanceNormalization, LocalResponseNormalization, WeightNormalization

MAP = np.random.RandomState(1).standard_normal((2, 7, 5, 6)).astype("float32")
SEQUENCE = np.random.RandomState(2).standard_normal((2, 6, 4)).astype("float32")
DENSE = keras.saving.serialize_keras_object(keras.layers.Dense(3, activation="tanh", name="dense"))
CONVOLUTION = keras.saving.serialize_keras_object(keras.layers.Conv2D(4, 3, padding="same", name="convolution"))

CASES = [
    LayerCase(LocalResponseNormalization, {"alpha": 0.1}, (MAP,), 0),
    LayerCase(LocalResponseNormalization, {"size": 4, "alpha": 0.5, "beta": 0.5, "bias": 1.0}, (30 * MAP,), 0, id="even"),
    LayerCase(GroupNormalization, {"groups": 3}, (MAP,), 6 + 6),
    LayerCase(GroupNormalization, {"groups": 2, "center": False}, (SEQUENCE,), 4, id="sequence", mask=True),
    LayerCase(InstanceNormalization, {}, (MAP,), 6 + 6),
    LayerCase(InstanceNormalization, {"scale": False, "epsilon": 1e-3}, (SEQUENCE,), 4, id="sequence", mask=True),
    # v, b, g
    LayerCase(WeightNormalization, {"layer": DENSE}, (SEQUENCE,), 4 * 3 + 3 + 3, id="dense", mask=True),
    LayerCase(WeightNormalization, {"layer": CONVOLUTION}, (MAP,), 3 * 3 * 6 * 4 + 4 + 4, id="convolution"),
]
