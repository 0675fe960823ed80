"""Contract case of the decoder with attention."""

import numpy as np
from checks.layers import LayerCase

from keras_canon.layers import AttentionDecoder

RANDOM = np.random.RandomState(6)
TARGETS = RANDOM.standard_normal((2, 4, 3)).astype("float32")
VALUES = RANDOM.standard_normal((2, 6, 7)).astype("float32")
STATE = RANDOM.standard_normal((2, 5)).astype("float32")

CASES = [
    LayerCase(
        AttentionDecoder,
        {"units": 5, "attention_units": 4},
        (TARGETS, VALUES, STATE),
        # W_a, U_a and b, v_a; then three gates over [E y; c] and s
        5 * 4 + 7 * 4 + 4 + 4 + 3 * ((3 + 7) * 5 + 5 * 5 + 5),
    ),
]
