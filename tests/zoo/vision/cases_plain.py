"""Cases of the model sweep: plain convolutional networks, from AlexNet to SqueezeNet, and their contemporaries."""

from checks.models import ModelCase

SMALL = {"widths": [8, 12, 12, 12, 8], "hidden_units": [32, 32], "dropout": 0.0}
VGG = {"widths": [4, 8, 8, 12, 12], "hidden_units": [24, 24], "dropout": 0.0}
DEEP_VGG = {**VGG, "convolutions_per_stage": [1, 1, 1, 2, 2]}
FITNET = {"hidden_units": 20, "kernel_range": 0.0}

CASES = [
    ModelCase("mcdnn_column", input_shape=(17, 17, 1), rate=0.003),
    ModelCase(
        "mcdnn",
        input_shape=(17, 17, 1),
        overrides={"columns": 2},
        rate=0.003,
        without={"head": "the output averages several heads, none of which can be put in place of all"},
    ),
    ModelCase("alexnet", input_shape=(67, 67, 3), overrides={**SMALL, "kernel_deviation": 0.1}, rate=0.003),
    ModelCase("alexnet_one_tower", input_shape=(64, 64, 3), overrides=SMALL, rate=0.003),
    ModelCase("zfnet", input_shape=(63, 63, 3), overrides={**SMALL, "kernel_deviation": 0.1}, rate=0.003),
    ModelCase(
        "network_in_network",
        input_shape=(12, 12, 3),
        overrides={"first": [32, 32, 32], "second": [32, 32, 32], "third": [32, 32], "dropout": 0.0},
        rate=0.003,
    ),
    ModelCase("all_cnn_c", input_shape=(12, 12, 3), overrides={"widths": [8, 16, 16], "input_dropout": 0.0, "dropout": 0.0}, rate=0.003),
    ModelCase("vgg11", input_shape=(32, 32, 3), overrides=VGG, rate=0.003),
    ModelCase("vgg13", input_shape=(32, 32, 3), overrides={**VGG, "convolutions_per_stage": [2, 1, 1, 1, 1]}, rate=0.003),
    ModelCase("vgg16", input_shape=(32, 32, 3), overrides=DEEP_VGG, rate=0.003),
    ModelCase("vgg19", input_shape=(32, 32, 3), overrides={**VGG, "convolutions_per_stage": [1, 1, 2, 1, 2]}, rate=0.003),
    ModelCase("vgg11_bn", input_shape=(64, 64, 3), overrides={**VGG, "convolutions_per_stage": [1, 1, 1, 1, 1]}),
    ModelCase("vgg13_bn", input_shape=(64, 64, 3), overrides={**VGG, "convolutions_per_stage": [2, 1, 1, 1, 1]}),
    ModelCase("vgg16_bn", input_shape=(64, 64, 3), overrides={**VGG, "convolutions_per_stage": [1, 1, 1, 1, 2]}),
    ModelCase("vgg19_bn", input_shape=(64, 64, 3), overrides={**VGG, "convolutions_per_stage": [1, 1, 2, 1, 1]}),
    ModelCase("squeezenet1_0", input_shape=(35, 35, 3), overrides={"squeeze_filters": [8] * 8, "dropout": 0.0}, rate=0.003),
    ModelCase("squeezenet_bypass", input_shape=(35, 35, 3), overrides={"squeeze_filters": [8] * 8, "dropout": 0.0}, rate=0.003),
    ModelCase("squeezenet1_1", input_shape=(35, 35, 3), overrides={"squeeze_filters": [8] * 8, "dropout": 0.0}, rate=0.003),
    ModelCase("highway", input_shape=(8, 8, 1), overrides={"depth": 6, "units": 20}, rate=0.003),
    ModelCase(
        "highway_conv10_16",
        input_shape=(16, 16, 1),
        overrides={"width": 8, "layers_per_stage": [2, 2, 1], "dropout": [0.0] * 4},
        rate=0.003,
    ),
    ModelCase(
        "highway_conv10_32",
        input_shape=(16, 16, 1),
        overrides={"width": 8, "layers_per_stage": [2, 2, 2], "dropout": [0.0] * 4},
        rate=0.003,
    ),
    ModelCase(
        "highway_conv19",
        input_shape=(12, 12, 3),
        overrides={"widths": [8, 12, 16], "layers_per_stage": [2, 2, 2], "last_units": 12, "dropout": 0.0},
        rate=0.003,
    ),
    ModelCase("fitnet1", input_shape=(12, 12, 3), overrides={**FITNET, "widths": [[6, 6], [8, 8], [8, 12]]}, rate=0.003),
    ModelCase("fitnet2", input_shape=(12, 12, 3), overrides={**FITNET, "widths": [[6, 8], [8, 12], [12, 12]]}, rate=0.003),
    ModelCase("fitnet3", input_shape=(12, 12, 3), overrides={**FITNET, "widths": [[6, 8, 8], [8, 8], [12, 12]]}, rate=0.003),
    ModelCase("fitnet4", input_shape=(12, 12, 3), overrides={**FITNET, "widths": [[6, 6, 8], [8, 8, 8], [12, 12]]}, rate=0.003),
]
