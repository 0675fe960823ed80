"""Contract cases of attention layers."""

import numpy as np
from checks.layers import LayerCase

from keras_canon.layers import (
    AdditiveAttention,
    LocalAttention,
    LocationAwareAttention,
    MonotonicAttention,
    MultiHeadAttention,
    MultiplicativeAttention,
)

RANDOM = np.random.RandomState(8)
STEPS = RANDOM.standard_normal((2, 6, 8)).astype("float32")
MEMORY = RANDOM.standard_normal((2, 5, 12)).astype("float32")
SAME_WIDTH = RANDOM.standard_normal((2, 5, 8)).astype("float32")
STATE = RANDOM.dirichlet(np.ones(5), 2).astype("float32")
QUERY = STEPS[:, 0]
# Values as large as 3 in float16 move a sharp softmax by up to a hundredth.
HALF = {"mixed_float16": 2e-2, "mixed_bfloat16": 1e-1}

CASES = [
    LayerCase(
        MultiHeadAttention,
        {"num_heads": 2, "model_dim": 8},
        (STEPS, MEMORY),
        trainable=(8 + 1) * 8 + 2 * (12 + 1) * 8 + (8 + 1) * 8,
        mask=True,
        id="cross",
    ),
    LayerCase(
        MultiHeadAttention,
        {"num_heads": 2, "model_dim": 6, "key_dim": 4, "value_dim": 3, "causal": True, "scale": 1.0, "use_bias": False, "dropout": 0.1},
        (STEPS, STEPS),
        trainable=8 * 2 * 4 + 8 * 2 * 4 + 8 * 2 * 3 + (2 * 3 + 1) * 6,
        call={"return_weights": True},
        id="causal_weights",
    ),
    LayerCase(
        MultiHeadAttention,
        {"num_heads": 4, "model_dim": 8, "num_key_value_heads": 2, "rotary_base": 10000.0, "causal": True, "use_output_bias": False},
        (STEPS, STEPS),
        trainable=(8 + 1) * 8 + 2 * (8 + 1) * 2 * 2 + 8 * 8,
        id="grouped_rotary",
    ),
    LayerCase(AdditiveAttention, {"units": 7}, (STEPS, MEMORY), trainable=8 * 7 + (12 + 1) * 7 + 7, mask=True),
    LayerCase(AdditiveAttention, {"units": 7, "use_bias": False}, (QUERY, MEMORY), trainable=8 * 7 + 12 * 7 + 7, id="one_step"),
    LayerCase(MultiplicativeAttention, {"score": "dot"}, (STEPS, SAME_WIDTH), trainable=0, mask=True, tolerance=HALF, id="dot"),
    LayerCase(MultiplicativeAttention, {"score": "general"}, (QUERY, MEMORY), trainable=8 * 12, tolerance=HALF, id="general"),
    LayerCase(
        MultiplicativeAttention, {"score": "concat", "units": 7}, (STEPS, MEMORY), trainable=(8 + 12) * 7 + 7, mask=True, id="concat"
    ),
    LayerCase(
        MultiplicativeAttention,
        {"score": "location", "max_length": 9},
        (STEPS, MEMORY),
        trainable=8 * 9,
        mask=True,
        id="location",
    ),
    LayerCase(LocalAttention, {"window": 1}, (STEPS, MEMORY), trainable=8 * 12, mask=True, tolerance=HALF, id="monotonic"),
    LayerCase(
        LocalAttention,
        # A wide window: rounding in half precision moves the centre, which at a window's edge switches an entry on or off.
        {"window": 5, "alignment": "predictive", "score": "dot", "units": 3},
        (STEPS, SAME_WIDTH),
        trainable=8 * 3 + 3,
        mask=True,
        tolerance=HALF,
        id="predictive",
    ),
    LayerCase(
        LocationAwareAttention,
        {"units": 7, "filters": 4, "kernel_size": 3, "sharpening": 2.0},
        (QUERY, MEMORY, STATE),
        trainable=8 * 7 + (12 + 1) * 7 + 3 * 4 + 4 * 7 + 7,
    ),
    LayerCase(
        LocationAwareAttention,
        {"units": 7, "filters": 2, "kernel_size": 4, "smoothing": True},
        (QUERY, MEMORY, STATE),
        trainable=8 * 7 + (12 + 1) * 7 + 4 * 2 + 2 * 7 + 7,
        id="smoothing",
    ),
    LayerCase(
        MonotonicAttention,
        {"units": 7, "noise": 0.0},
        (QUERY, MEMORY, STATE),
        trainable=8 * 7 + (12 + 1) * 7 + 7 + 1 + 1,
        call={"training": True},
        id="soft",
    ),
    LayerCase(
        MonotonicAttention,
        {"units": 7, "score_bias": 0.0},
        (QUERY, MEMORY, STATE),
        trainable=8 * 7 + (12 + 1) * 7 + 7 + 1 + 1,
        without={"gradient": "at inference attention is a hard choice, which has no gradient"},
        id="hard",
    ),
]
