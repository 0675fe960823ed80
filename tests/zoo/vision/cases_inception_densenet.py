"""Cases of the model sweep: networks of parallel, separable and densely connected branches."""

from checks.models import ModelCase

# a module or two in each stage of GoogLeNet
ROW = [16, 8, 16, 8, 8, 8]
GOOGLENET = {"stem": [16, 16, 24], "modules": [[ROW], [ROW], [ROW]], "dropout": 0.0}
GOOGLENET_AUXILIARY = {**GOOGLENET, "modules": [[ROW], [ROW, ROW], [ROW]]}
AUXILIARY = {"auxiliary_filters": 8, "auxiliary_units": 32, "auxiliary_dropout": 0.0}
# the widths inside the modules are the layers' own; one module of each kind is the least
INCEPTION_V3 = {"pool_filters": [32], "widths": [32], "last_modules": 1, "dropout": 0.0, "momentum": 0.9}
XCEPTION = {"stem": [8, 12], "entry": [12, 16, 20], "middle_blocks": 1, "exit": [24, 28, 32], "dropout": 0.0}
DENSENET = {"block_layers": [2, 1, 1, 1], "growth_rate": 8}
DENSENET_CIFAR = {"block_layers": [2, 1, 2], "growth_rate": 6, "stem_filters": 12}

CASES = [
    ModelCase("googlenet", input_shape=(64, 64, 3), overrides=GOOGLENET, rate=0.003),
    ModelCase(
        "googlenet_auxiliary",
        input_shape=(65, 65, 3),
        overrides={**GOOGLENET_AUXILIARY, **AUXILIARY},
        without={"head": "the auxiliary classifiers, which know the old classes, are left out with the old head"},
    ),
    ModelCase("googlenet_bn", input_shape=(64, 64, 3), overrides=GOOGLENET),
    ModelCase("inception_v3", input_shape=(75, 75, 3), overrides=INCEPTION_V3, rate=0.003),
    ModelCase("inception_v3_torch", input_shape=(75, 75, 3), overrides=INCEPTION_V3, rate=0.003),
    ModelCase("xception", input_shape=(64, 64, 3), overrides=XCEPTION),
    ModelCase("densenet121", input_shape=(64, 64, 3), overrides=DENSENET),
    ModelCase("densenet169", input_shape=(64, 64, 3), overrides={**DENSENET, "block_layers": [1, 2, 1, 1]}),
    ModelCase("densenet201", input_shape=(64, 64, 3), overrides={**DENSENET, "block_layers": [1, 1, 2, 1]}),
    ModelCase("densenet40_12", input_shape=(16, 16, 3), overrides=DENSENET_CIFAR),
    ModelCase("densenet_bc100_12", input_shape=(16, 16, 3), overrides=DENSENET_CIFAR),
    ModelCase("densenet_bc190_40", input_shape=(16, 16, 3), overrides={**DENSENET_CIFAR, "block_layers": [1, 2, 1]}),
]
