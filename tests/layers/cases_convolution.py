"""Contract cases of the convolution layers; trainable counts from the equations."""

import numpy as np
from checks.layers import LayerCase

from keras_canon import layers


def values(*shape):
    return np.random.RandomState(sum(shape)).standard_normal(shape).astype("float32")


IMAGES = values(2, 8, 6, 4)

CASES = [
    LayerCase(layers.GroupedConv2D, {"filters": 8, "kernel_size": 3, "groups": 2, "padding": "same"}, (IMAGES,), 9 * 2 * 8 + 8),
    LayerCase(layers.GroupedConv2D, {"filters": 8, "kernel_size": 3, "groups": 4}, (IMAGES,), 9 * 1 * 8 + 8, id="depthwise"),
    LayerCase(layers.ConvNormActivation, {"filters": 6, "kernel_size": 3}, (IMAGES,), 9 * 4 * 6 + 2 * 6),
    LayerCase(
        layers.ConvNormActivation,
        {
            "filters": 6,
            "kernel_size": [3, 5],
            "strides": [2, 1],
            "padding": "symmetric",
            "groups": 2,
            "normalization": None,
            "activation": None,
        },
        (IMAGES,),
        3 * 5 * 2 * 6 + 6,
        id="symmetric",
    ),
    LayerCase(
        layers.ConvNormActivation,
        {"filters": 6, "kernel_size": 3, "padding": "valid", "dilation_rate": 2, "activation": "relu6", "momentum": 0.99, "epsilon": 1e-3},
        (IMAGES,),
        9 * 4 * 6 + 2 * 6,
        id="dilated",
    ),
    LayerCase(layers.DepthwiseConvNormActivation, {"kernel_size": 3, "depth_multiplier": 2}, (IMAGES,), 9 * 4 * 2 + 2 * 8),
    LayerCase(
        layers.DepthwiseConvNormActivation,
        {"kernel_size": 3, "strides": [1, 2], "normalization": None, "activation": "hard_silu"},
        (IMAGES,),
        9 * 4 + 4,
        id="unequal_strides",
    ),
    LayerCase(layers.StochasticDepth, {"rate": 0.3}, (IMAGES,), 0),
    LayerCase(layers.StochasticDepth, {"rate": 0.3}, (values(2, 8, 3),), 0, id="sequence", mask=True),
    LayerCase(layers.SymmetricPadding2D, {"kernel_size": [3, 5], "dilation_rate": 2}, (IMAGES,), 0),
    LayerCase(layers.DepthwiseSeparableConv2D, {"filters": 6, "strides": 2}, (IMAGES,), (9 * 4 + 2 * 4) + (4 * 6 + 2 * 6)),
    LayerCase(
        layers.DepthwiseSeparableConv2D,
        {"filters": 6, "order": "xception", "depth_multiplier": 2, "strides": [1, 2], "padding": "valid"},
        (IMAGES,),
        9 * 4 * 2 + 8 * 6 + 2 * 6,
        id="xception",
    ),
    LayerCase(
        layers.DepthwiseSeparableConv2D,
        {"filters": 6, "dilation_rate": 2, "normalization": None, "padding": "symmetric"},
        (IMAGES,),
        (9 * 4 + 4) + (4 * 6 + 6),
        id="dilated",
    ),
    LayerCase(layers.PointwiseConv2D, {"filters": 6, "activation": "relu"}, (IMAGES,), 4 * 6 + 6),
    LayerCase(layers.PointwiseConv2D, {"filters": 6, "groups": 2, "strides": 2, "use_bias": False}, (IMAGES,), 2 * 6, id="grouped"),
    LayerCase(layers.GatedConv1D, {"filters": 3, "kernel_size": 3}, (values(2, 8, 4),), 3 * 4 * 6 + 6, mask=True),
    LayerCase(
        layers.GatedConv1D,
        {"filters": 3, "kernel_size": 3, "padding": "same", "dilation_rate": 2, "use_bias": False},
        (values(2, 8, 4),),
        3 * 4 * 6,
        id="same",
        mask=True,
    ),
    LayerCase(
        layers.GatedConv1D, {"filters": 3, "kernel_size": 2, "padding": "valid"}, (values(2, 8, 4),), 2 * 4 * 6 + 6, id="valid", mask=True
    ),
    LayerCase(layers.GatedConv2D, {"filters": 3, "kernel_size": 3, "strides": 2, "padding": "symmetric"}, (IMAGES,), 9 * 4 * 6 + 6),
]
