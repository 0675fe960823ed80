"""Contract cases of LeNet-5's layers."""

import numpy as np
from checks.layers import LayerCase

from keras_canon.layers import LENET5_C3_TABLE, ConnectionTableConv2D, RBFOutput, TrainableSubsampling2D

RANDOM = np.random.RandomState(5)
MAPS = RANDOM.standard_normal((2, 9, 8, 6)).astype("float32")
VECTORS = RANDOM.standard_normal((3, 7)).astype("float32")
CODES = np.sign(RANDOM.standard_normal((4, 7))).tolist()

CASES = [
    LayerCase(TrainableSubsampling2D, {}, (MAPS,), trainable=6 + 6),
    LayerCase(
        TrainableSubsampling2D,
        {"pool_size": [3, 2], "activation": "sigmoid", "coefficient_initializer": "ones"},
        (MAPS,),
        trainable=6 + 6,
        id="sigmoid",
    ),
    LayerCase(ConnectionTableConv2D, {"table": LENET5_C3_TABLE, "kernel_size": 5}, (MAPS,), trainable=5 * 5 * 60 + 16, id="lenet5"),
    LayerCase(
        ConnectionTableConv2D,
        {"table": [[0], [5, 2], [1, 2, 3]], "kernel_size": [3, 2], "strides": [2, 1], "padding": "same", "activation": "tanh"},
        (MAPS,),
        trainable=3 * 2 * (1 + 2 + 3) + 3,
        id="same",
    ),
    LayerCase(
        ConnectionTableConv2D, {"table": [[0], [4]], "kernel_size": 2, "use_bias": False}, (MAPS,), trainable=2 * 2 * 2, id="without_bias"
    ),
    LayerCase(RBFOutput, {"units": 4, "codes": CODES}, (VECTORS,), trainable=0, id="fixed"),
    LayerCase(RBFOutput, {"units": 4, "trainable_codes": True, "as_logits": True}, (VECTORS,), trainable=4 * 7, id="trainable"),
    LayerCase(
        RBFOutput,
        {"units": 4, "trainable_codes": True, "codes_initializer": "glorot_uniform"},
        (RANDOM.standard_normal((2, 6, 7)).astype("float32"),),
        trainable=4 * 7,
        mask=True,
        id="sequence",
    ),
]
