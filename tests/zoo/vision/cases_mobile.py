"""The cases of the model sweep: MobileNets and EfficientNets, narrow and with few blocks."""

from checks.models import ModelCase

SHAPE = (32, 32, 3)
V1 = {"blocks": [[8, 1], [12, 2], [16, 2], [16, 2], [24, 2], [24, 1]], "dropout": 0.0}
V2 = {"rows": [[1, 8, 1, 1], [4, 8, 1, 2], [4, 12, 2, 2], [4, 16, 1, 2], [4, 24, 1, 2]], "width_multiplier": 0.5, "dropout": 0.0}
V3 = {"width_multiplier": 0.25, "penultimate_units": 64, "dropout": 0.0}
# a row of each kind: with and without squeeze-and-excite, of both nonlinearities
V3_SMALL = {**V3, "rows": [[3, 16, 16, True, "RE", 2], [3, 72, 24, False, "RE", 2], [5, 96, 40, True, "HS", 2], [5, 96, 40, True, "HS", 2]]}
V3_LARGE = {**V3, "rows": [[3, 16, 16, False, "RE", 1], *V3_SMALL["rows"]]}
# all seven stages, one block each: one of them widens, one has a shortcut
EFFICIENT = {
    "width_multiplier": 0.25,
    "depth_multiplier": 1.0,
    "rows": [[1, 3, 1, 16, 1], [4, 3, 2, 24, 1], [1, 5, 2, 40, 1], [1, 3, 2, 64, 1], [1, 5, 1, 64, 1], [1, 5, 2, 96, 1], [1, 3, 1, 112, 1]],
    "dropout": 0.0,
    "stochastic_depth": 0.0,
}

CASES = [
    *(ModelCase(name, SHAPE, V1) for name in ("mobilenet_v1", "mobilenet_v1_075", "mobilenet_v1_050", "mobilenet_v1_025")),
    *(ModelCase(name, SHAPE, V2) for name in ("mobilenet_v2", "mobilenet_v2_torch")),
    *(ModelCase(name, SHAPE, V3_LARGE) for name in ("mobilenet_v3_large", "mobilenet_v3_large_torch")),
    *(ModelCase(name, SHAPE, V3_SMALL) for name in ("mobilenet_v3_small", "mobilenet_v3_small_torch")),
    *(ModelCase(f"efficientnet_b{scale}{form}", SHAPE, EFFICIENT) for form in ("", "_torch") for scale in range(8)),
]
