"""Contract cases of classifying heads."""

import numpy as np
from checks.layers import LayerCase

from keras_canon.layers import ClassMaps2D, EnsembleAverage

MAP = np.random.RandomState(1).standard_normal((2, 5, 4, 6)).astype("float32")
LOGITS = [np.random.RandomState(seed).standard_normal((3, 4)).astype("float32") for seed in (2, 3, 4)]

CASES = [
    LayerCase(ClassMaps2D, {"num_classes": 3}, (MAP,), 6 * 3 + 3),
    LayerCase(ClassMaps2D, {"num_classes": 3, "activation": None}, (MAP,), 6 * 3 + 3, id="linear"),
    LayerCase(EnsembleAverage, {}, (LOGITS,), 0),
]
