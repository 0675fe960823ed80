"""Contract cases of residual, highway, densely connected, maxout and mlpconv layers; trainable counts from the equations."""

import numpy as np
from checks.layers import LayerCase

from keras_canon import layers


def values(*shape):
    return np.random.RandomState(sum(shape)).standard_normal(shape).astype("float32")


IMAGES = values(2, 8, 6, 4)

CASES = [
    LayerCase(layers.ResidualBlock, {"filters": 4}, (IMAGES,), 2 * (9 * 4 * 4 + 2 * 4)),
    LayerCase(
        layers.ResidualBlock,
        {"filters": 6, "strides": 2, "shortcut": "zero_padding", "dropout": 0.2, "stochastic_depth": 0.2},
        (values(2, 7, 6, 4),),
        (9 * 4 * 6 + 2 * 6) + (9 * 6 * 6 + 2 * 6),
        id="option_a",
    ),
    LayerCase(
        layers.ResidualBlock,
        {"filters": 6, "strides": [2, 1], "shortcut": "projection", "padding": "symmetric"},
        (IMAGES,),
        (9 * 4 * 6 + 2 * 6) + (9 * 6 * 6 + 2 * 6) + (4 * 6 + 2 * 6),
        id="option_b",
    ),
    LayerCase(layers.BottleneckResidualBlock, {"filters": 4, "expansion": 1}, (IMAGES,), (16 + 8) + (9 * 16 + 8) + (16 + 8)),
    LayerCase(
        layers.BottleneckResidualBlock,
        {"filters": 4, "strides": 2, "shortcut": "projection", "groups": 2, "base_width": 32, "stride_on": "3x3", "padding": "symmetric"},
        (IMAGES,),
        # width = 4 * 32 / 64 * 2 = 4 channels in 2 groups, 16 out
        (4 * 4 + 8) + (9 * 2 * 4 + 8) + (4 * 16 + 32) + (4 * 16 + 32),
        id="grouped",
    ),
    LayerCase(layers.PreActivationResidualBlock, {"filters": 4, "dilation_rate": 2}, (IMAGES,), 8 + (9 * 16 + 8) + 9 * 16),
    LayerCase(
        layers.PreActivationResidualBlock,
        {"filters": 6, "strides": 2, "shortcut": "projection", "dropout": 0.3, "stochastic_depth": 0.1},
        (IMAGES,),
        8 + (9 * 4 * 6 + 12) + 9 * 6 * 6 + 4 * 6,
        id="wide",
    ),
    LayerCase(
        layers.PreActivationBottleneckBlock,
        {"filters": 4, "strides": 2, "shortcut": "zero_padding", "stride_on": "3x3"},
        (IMAGES,),
        8 + (16 + 8) + (9 * 16 + 8) + 4 * 16,
    ),
    LayerCase(
        layers.PreActivationBottleneckBlock,
        {"filters": 2, "shortcut": "projection", "activate_input": False, "use_bias": True},
        (IMAGES,),
        (4 * 2 + 4) + (9 * 4 + 4) + (2 * 8 + 8) + (4 * 8 + 8),
        id="first",
    ),
    LayerCase(layers.HighwayDense, {"units": 4}, (values(3, 4),), 2 * (4 * 4 + 4)),
    LayerCase(layers.HighwayDense, {"units": 4, "activation": "tanh"}, (values(2, 6, 4),), 2 * (4 * 4 + 4), id="sequence", mask=True),
    LayerCase(layers.HighwayConv2D, {"filters": 4, "kernel_size": [3, 5]}, (IMAGES,), 2 * (15 * 4 * 4 + 4)),
    LayerCase(layers.NormActivationConv, {"filters": 6, "kernel_size": 3, "dropout": 0.2}, (IMAGES,), 2 * 4 + 9 * 4 * 6),
    LayerCase(layers.DenseBlockLayer, {"growth_rate": 3}, (IMAGES,), (2 * 4 + 4 * 12) + (2 * 12 + 9 * 12 * 3)),
    LayerCase(layers.DenseBlockLayer, {"growth_rate": 3, "bottleneck_ratio": None}, (IMAGES,), 2 * 4 + 9 * 4 * 3, id="plain"),
    LayerCase(
        layers.DenseBlock,
        {"num_layers": 2, "growth_rate": 3, "dropout": 0.2},
        (IMAGES,),
        (2 * 4 + 4 * 12) + (2 * 7 + 7 * 12) + 2 * (2 * 12 + 9 * 12 * 3),
    ),
    LayerCase(
        layers.DenseBlock,
        {"num_layers": 3, "growth_rate": 2, "bottleneck_ratio": None},
        (IMAGES,),
        sum(2 * m + 9 * m * 2 for m in (4, 6, 8)),
        id="plain",
    ),
    LayerCase(layers.TransitionBlock, {"filters": 2}, (values(2, 7, 6, 4),), 2 * 4 + 4 * 2),
    LayerCase(layers.MaxoutDense, {"units": 3, "num_pieces": 4}, (values(5, 4),), 4 * 12 + 12),
    LayerCase(layers.MaxoutDense, {"units": 3}, (values(2, 6, 4),), 4 * 6 + 6, id="sequence", mask=True),
    LayerCase(layers.MaxoutConv2D, {"filters": 3, "kernel_size": 3, "num_pieces": 2, "padding": "valid"}, (IMAGES,), 9 * 4 * 6 + 6),
    LayerCase(
        layers.MlpConv2D,
        {"filters": [6, 5, 3], "kernel_size": 3, "strides": 2},
        (IMAGES,),
        (9 * 4 * 6 + 6) + (6 * 5 + 5) + (5 * 3 + 3),
    ),
]
