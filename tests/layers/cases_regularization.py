"""Contract cases of the layers that act in training only."""

import numpy as np
from checks.layers import LayerCase

from keras_canon.layers import DropConnectDense, ScheduledDropout

SEQUENCE = np.random.RandomState(2).standard_normal((2, 6, 4)).astype("float32")

CASES = [
    LayerCase(DropConnectDense, {"units": 3, "rate": 0.5, "activation": "relu"}, (SEQUENCE,), 4 * 3 + 3, mask=True),
    LayerCase(DropConnectDense, {"units": 3, "use_bias": False, "mask_per_example": False}, (SEQUENCE[:, 0],), 4 * 3, id="one_mask"),
    LayerCase(ScheduledDropout, {"rate": 0.5, "steps": 100}, (SEQUENCE,), 0, mask=True),
]
