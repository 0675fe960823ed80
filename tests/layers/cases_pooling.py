"""Contract cases of the pooling layers."""

import numpy as np
from checks.layers import LayerCase

from keras_canon.layers import AdaptiveAveragePooling2D, AdaptiveMaxPooling2D, GlobalPooling, LpPooling2D, SpatialPooling2D

MAP = np.random.RandomState(1).standard_normal((2, 7, 5, 6)).astype("float32")
SEQUENCE = np.random.RandomState(2).standard_normal((2, 6, 4)).astype("float32")

CASES = [
    LayerCase(AdaptiveAveragePooling2D, {"output_size": [3, 2]}, (MAP,), 0),
    LayerCase(AdaptiveAveragePooling2D, {"output_size": 9}, (MAP,), 0, id="larger"),
    LayerCase(AdaptiveMaxPooling2D, {"output_size": [3, 2]}, (MAP,), 0),
    LayerCase(SpatialPooling2D, {"method": "max", "pool_size": 3, "strides": 2, "ceil_mode": True}, (MAP,), 0, id="ceil"),
    LayerCase(SpatialPooling2D, {"method": "max", "pool_size": 3, "strides": 2, "padding": "symmetric"}, (MAP,), 0, id="symmetric"),
    LayerCase(SpatialPooling2D, {"method": "average", "pool_size": 3, "strides": 1, "padding": "same"}, (MAP,), 0, id="same"),
    LayerCase(
        SpatialPooling2D,
        {"method": "average", "pool_size": [3, 2], "padding": "symmetric", "ceil_mode": True, "count_padding": True},
        (MAP,),
        0,
        id="counted",
    ),
    LayerCase(LpPooling2D, {"norm": 2.0}, (MAP,), 0),
    LayerCase(LpPooling2D, {"norm": 3.0, "pool_size": [3, 2], "strides": 1}, (MAP,), 0, id="cubic"),
    LayerCase(GlobalPooling, {"method": "average"}, (SEQUENCE,), 0, id="average", mask=True),
    LayerCase(GlobalPooling, {"method": "max", "keepdims": True}, (SEQUENCE,), 0, id="max", mask=True),
    LayerCase(GlobalPooling, {"method": "generalized_mean"}, (SEQUENCE,), 1, id="generalized_mean", mask=True),
    LayerCase(GlobalPooling, {"method": "generalized_mean", "exponent": 2.0}, (MAP,), 1, id="map"),
]
