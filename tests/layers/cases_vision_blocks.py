"""Contract cases of the blocks of mobile, squeezing, inception and ConvNeXt networks; trainable counts from the equations."""

import numpy as np
from checks.layers import LayerCase

from keras_canon import layers

MAP = np.random.RandomState(1).standard_normal((2, 7, 6, 8)).astype("float32")
SMALL = MAP[:1, :4, :4, :3]


def unit(inputs, filters, *kernel):
    """Parameters of a convolution with batch normalisation: kernel, gamma, beta."""
    return int(np.prod(kernel)) * inputs * filters + 2 * filters


CASES = [
    LayerCase(layers.SqueezeExcite, {"ratio": 4}, (MAP,), 8 * 2 + 2 + 2 * 8 + 8),
    LayerCase(
        layers.SqueezeExcite,
        {"units": 3, "activation": "silu", "gate_activation": "hard_sigmoid"},
        (MAP,),
        8 * 3 + 3 + 3 * 8 + 8,
        id="units",
    ),
    LayerCase(
        layers.FireModule,
        {"squeeze_filters": 2, "expand_1x1_filters": 3, "expand_3x3_filters": 5},
        (MAP,),
        8 * 2 + 2 + 2 * 3 + 3 + 18 * 5 + 5,
    ),
    LayerCase(
        layers.ConvNeXtBlock,
        {"filters": 8, "layer_scale": 0.5, "stochastic_depth": 0.2},
        (MAP,),
        8 + 49 * 8 + 8 + 2 * 8 + 8 * 32 + 32 + 32 * 8 + 8,
    ),
    LayerCase(
        layers.ConvNeXtBlock,
        {"filters": 8, "expansion": 2, "kernel_size": [3, 5], "layer_scale": None},
        (MAP,),
        15 * 8 + 8 + 2 * 8 + 8 * 16 + 16 + 16 * 8 + 8,
        id="bare",
    ),
    LayerCase(layers.InvertedResidual, {"filters": 4}, (MAP,), unit(1, 8, 3, 3) + unit(8, 4)),
    LayerCase(
        layers.InvertedResidual,
        {
            "filters": 8,
            "expanded_filters": 12,
            "kernel_size": 5,
            "squeeze_filters": 3,
            "activation": "hard_silu",
            "stochastic_depth": 0.1,
            "padding": "symmetric",
        },
        (MAP,),
        unit(8, 12) + unit(1, 12, 5, 5) + 12 * 3 + 3 + 3 * 12 + 12 + unit(12, 8),
        id="squeezed",
    ),
    LayerCase(
        layers.InvertedResidual,
        {"filters": 6, "expanded_filters": 12, "strides": 2, "epsilon": 1e-3, "momentum": 0.99},
        (MAP,),
        unit(8, 12) + unit(1, 12, 3, 3) + unit(12, 6),
        id="strided",
    ),
    LayerCase(
        layers.InceptionModule,
        {"filters": [2, 3, 4, 2, 3, 2]},
        (MAP,),
        (8 + 1) * (2 + 3 + 2 + 2) + (27 + 1) * 4 + (50 + 1) * 3,
    ),
    LayerCase(
        layers.InceptionModule,
        {"filters": [2, 3, 4, 2, 3, 2], "large_kernel_size": 3, "normalization": "batch"},
        (MAP,),
        unit(8, 2) + unit(8, 3) + unit(3, 4, 3, 3) + unit(8, 2) + unit(2, 3, 3, 3) + unit(8, 2),
        id="batch",
    ),
    LayerCase(
        layers.InceptionV3A,
        {"pool_filters": 5, "count_padding": True},
        (SMALL,),
        unit(3, 64) + unit(3, 48) + unit(48, 64, 5, 5) + unit(3, 64) + unit(64, 96, 3, 3) + unit(96, 96, 3, 3) + unit(3, 5),
    ),
    LayerCase(
        layers.InceptionV3B,
        {},
        (SMALL,),
        unit(3, 384, 3, 3) + unit(3, 64) + unit(64, 96, 3, 3) + unit(96, 96, 3, 3),
    ),
    LayerCase(
        layers.InceptionV3C,
        {"width": 4},
        (SMALL,),
        unit(3, 192) + unit(3, 4) + unit(4, 4, 7) + unit(4, 192, 7) + unit(3, 4) + 3 * unit(4, 4, 7) + unit(4, 192, 7) + unit(3, 192),
    ),
    LayerCase(
        layers.InceptionV3B,
        {"gamma_initializer": None},
        (SMALL,),
        unit(3, 384, 3, 3) + unit(3, 64) + unit(64, 96, 3, 3) + unit(96, 96, 3, 3) - (384 + 64 + 96 + 96),
        id="without_gamma",
    ),
    LayerCase(
        layers.InceptionV3D,
        {},
        (SMALL,),
        unit(3, 192) + unit(192, 320, 3, 3) + unit(3, 192) + 2 * unit(192, 192, 7) + unit(192, 192, 3, 3),
    ),
    LayerCase(
        layers.InceptionV3E,
        {},
        (SMALL,),
        unit(3, 320) + unit(3, 384) + 2 * unit(384, 384, 3) + unit(3, 448) + unit(448, 384, 3, 3) + 2 * unit(384, 384, 3) + unit(3, 192),
    ),
    LayerCase(
        layers.AuxiliaryHead,
        {"units": 3, "filters": 4, "hidden_units": 5},
        (np.random.RandomState(1).standard_normal((2, 8, 9, 6)).astype("float32"),),
        6 * 4 + 4 + 2 * 2 * 4 * 5 + 5 + 5 * 3 + 3,
    ),
    LayerCase(
        layers.AuxiliaryHead,
        {"units": 3, "pooling": "adaptive", "filters": 4, "hidden_units": 5, "normalization": "batch"},
        (MAP,),
        unit(8, 4) + 16 * 4 * 5 + 5 + 5 * 3 + 3,
        id="adaptive",
    ),
]
