"""Contract cases of positions, embeddings and Transformer blocks."""

import numpy as np
from checks.layers import LayerCase

from keras_canon.layers import (
    ClassToken,
    FeedForward,
    FirstStep,
    LearnedPositionEmbedding,
    MinimumSteps,
    PatchEmbedding,
    RelativePositionBias,
    RotaryEmbedding,
    SegmentEmbedding,
    SinusoidalPositionEncoding,
    TokenEmbedding,
    TransformerDecoderBlock,
    TransformerEncoderBlock,
)

RANDOM = np.random.RandomState(9)
STEPS = RANDOM.standard_normal((2, 6, 8)).astype("float32")
ODD = RANDOM.standard_normal((2, 6, 7)).astype("float32")
MEMORY = RANDOM.standard_normal((2, 5, 12)).astype("float32")
HEADS = RANDOM.standard_normal((2, 2, 6, 4)).astype("float32")
TOKENS = RANDOM.randint(1, 11, (2, 6)).astype("int32")
IMAGES = RANDOM.standard_normal((2, 8, 12, 3)).astype("float32")
ATTENTION = 4 * (8 + 1) * 8  # four projections of width 8
NORM = 2 * 8
FEEDFORWARD = (8 + 1) * 16 + (16 + 1) * 8

CASES = [
    LayerCase(SinusoidalPositionEncoding, {}, (STEPS,), trainable=0, mask=True),
    LayerCase(SinusoidalPositionEncoding, {"base": 100.0}, (ODD,), trainable=0, id="odd"),
    LayerCase(LearnedPositionEmbedding, {"max_length": 9}, (STEPS,), trainable=9 * 8, mask=True),
    LayerCase(SegmentEmbedding, {"num_segments": 3}, (STEPS, TOKENS % 3), trainable=3 * 8),
    LayerCase(RotaryEmbedding, {}, (HEADS,), trainable=0, id="interleaved"),
    LayerCase(RotaryEmbedding, {"pairing": "halves", "base": 100.0}, (STEPS,), trainable=0, mask=True, id="halves"),
    LayerCase(RelativePositionBias, {"num_heads": 3, "num_buckets": 8, "max_distance": 6}, (STEPS,), trainable=8 * 3),
    LayerCase(
        RelativePositionBias,
        {"num_heads": 3, "num_buckets": 6, "max_distance": 5, "bidirectional": False},
        (STEPS, MEMORY),
        trainable=6 * 3,
        id="one_direction",
    ),
    LayerCase(TokenEmbedding, {"vocabulary_size": 11, "model_dim": 8, "scale": True, "mask_zero": True}, (TOKENS,), trainable=11 * 8),
    LayerCase(TokenEmbedding, {"vocabulary_size": 11, "model_dim": 8}, (STEPS,), trainable=11 * 8, call={"reverse": True}, id="reverse"),
    LayerCase(
        TokenEmbedding,
        {"vocabulary_size": 11, "model_dim": 8, "use_output_bias": True},
        (STEPS,),
        trainable=11 * 8 + 11,
        call={"reverse": True},
        id="output_bias",
    ),
    LayerCase(PatchEmbedding, {"patch_size": 4, "model_dim": 5}, (IMAGES,), trainable=(4 * 4 * 3 + 1) * 5),
    LayerCase(
        PatchEmbedding, {"patch_size": [4, 6], "model_dim": 5, "use_bias": False}, (IMAGES,), trainable=4 * 6 * 3 * 5, id="rectangular"
    ),
    LayerCase(ClassToken, {"initializer": "ones"}, (STEPS,), trainable=8, mask=True),
    LayerCase(FirstStep, {}, (STEPS,), trainable=0),
    LayerCase(MinimumSteps, {"steps": 8}, (STEPS,), trainable=0),
    LayerCase(MinimumSteps, {"steps": 3}, (STEPS,), trainable=0, id="long"),
    LayerCase(FeedForward, {"feedforward_dim": 16, "model_dim": 8}, (STEPS,), trainable=FEEDFORWARD, mask=True),
    LayerCase(
        FeedForward,
        {"feedforward_dim": 16, "model_dim": 4, "activation": "silu", "gated": True, "use_bias": False, "dropout": 0.2},
        (STEPS,),
        trainable=2 * 8 * 16 + 16 * 4,
        id="gated",
    ),
    LayerCase(FeedForward, {"feedforward_dim": 16, "model_dim": 8, "activation": "gelu_tanh"}, (STEPS,), trainable=FEEDFORWARD, id="gelu"),
    LayerCase(
        TransformerEncoderBlock,
        {"num_heads": 2, "model_dim": 8, "feedforward_dim": 16},
        (STEPS,),
        trainable=ATTENTION + FEEDFORWARD + 2 * NORM,
        mask=True,
        id="post_norm",
    ),
    LayerCase(
        TransformerEncoderBlock,
        {
            "num_heads": 4,
            "model_dim": 8,
            "feedforward_dim": 16,
            "activation": "silu",
            "gated": True,
            "norm_first": True,
            "use_bias": False,
            "num_key_value_heads": 2,
            "rotary_base": 10000.0,
        },
        (STEPS,),
        trainable=2 * 8 * 8 + 2 * 8 * 4 + 3 * 8 * 16 + 2 * NORM,
        mask=True,
        id="pre_norm",
    ),
    LayerCase(
        TransformerDecoderBlock,
        {"num_heads": 2, "model_dim": 8, "feedforward_dim": 16},
        (STEPS, MEMORY),
        trainable=2 * ATTENTION + 2 * 4 * 8 + FEEDFORWARD + 3 * NORM,
        mask=True,
        id="post_norm",
    ),
    LayerCase(
        TransformerDecoderBlock,
        {"num_heads": 2, "model_dim": 8, "feedforward_dim": 16, "cross_attention": False, "activation": "gelu_tanh", "norm_first": True},
        (STEPS,),
        trainable=ATTENTION + FEEDFORWARD + 2 * NORM,
        mask=True,
        id="pre_norm",
    ),
]
