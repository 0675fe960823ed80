"""The cases of the model sweep for the residual networks: every form of a block, narrow and shallow."""

from checks.models import ModelCase

BASIC = {"blocks_per_stage": [1, 2, 1, 1], "widths": [4, 4, 8, 8]}
BOTTLENECK = {"blocks_per_stage": [1, 1, 1, 1], "widths": [4, 4, 8, 8]}
# conv2 has a last block that is not its first, which strides without a projection
LAST_STRIDES = {"blocks_per_stage": [2, 1, 1, 1], "widths": [4, 4, 8, 8]}
GROUPED = {"blocks_per_stage": [1, 1, 1, 1], "widths": [16, 16, 16, 16], "cardinality": 4}
SHAPE = (32, 32, 3)

CASES = [
    ModelCase("resnet18", SHAPE, BASIC),
    ModelCase("resnet34", SHAPE, {**BASIC, "shortcut_option": "A"}),
    *(ModelCase(f"resnet{depth}", SHAPE, BOTTLENECK) for depth in (50, 101, 152)),
    *(ModelCase(f"resnet{depth}_v1_5", SHAPE, BOTTLENECK) for depth in (50, 101, 152)),
    *(ModelCase(f"resnet{depth}_v2", SHAPE, BOTTLENECK) for depth in (50, 101, 152)),
    *(ModelCase(f"resnet{depth}_v2_keras", SHAPE, LAST_STRIDES) for depth in (50, 101, 152)),
    ModelCase("resnext50_32x4d", SHAPE, {**GROUPED, "bottleneck_width": 8}),
    ModelCase("resnext101_32x8d", SHAPE, {**GROUPED, "bottleneck_width": 16}),
    *(ModelCase(name, SHAPE, {**BOTTLENECK, "widen_factor": 2}) for name in ("wide_resnet50_2", "wide_resnet101_2")),
    ModelCase("wide_resnet28_10", (16, 16, 3), {"depth": 10, "widen_factor": 1}),
    ModelCase("wide_resnet40_4", (16, 16, 3), {"depth": 10, "widen_factor": 2}),
    *(ModelCase(f"resnet{depth}", (16, 16, 3), {"blocks_per_stage": 1}) for depth in (32, 44, 56, 110)),
]
