"""Xception against figure 5 and table 3 of Chollet 2016, and against keras.applications."""

import keras
import numpy as np
import pytest
from checks.applications import check_twin

from keras_canon import layers, zoo
from keras_canon.zoo.conversion import plan
from keras_canon.zoo.families import conversions

SMALL = {"stem": [8, 12], "entry": [12, 16, 20], "middle_blocks": 1, "exit": [24, 28, 32]}
SIZES = {
    "block1_conv1": (149, 149, 32),
    "block1_conv2": (147, 147, 64),
    "block2_add": (74, 74, 128),
    "block3_add": (37, 37, 256),
    "block4_add": (19, 19, 728),
    "block12_add": (19, 19, 728),
    "block13_sepconv1": (19, 19, 728),
    "block13_add": (10, 10, 1024),
    "block14_sepconv1": (10, 10, 1536),
    "block14_sepconv2": (10, 10, 2048),
    "pool": (2048,),
}


@pytest.fixture(scope="module")
def model():
    with keras.StatelessScope(initialize_variables=False):
        return zoo.create("xception")


def test_parameters_of_table_3(model):
    assert sum(int(np.prod(weight.shape)) for weight in model.trainable_weights) == 22_855_952 == zoo.info("xception").trainable_parameters


def test_sizes_of_figure_5(model):
    assert {name: model.get_layer(name).output.shape[1:] for name in SIZES} == SIZES


def test_section_3_counts_36_convolutional_layers(model):
    units = (layers.ConvNormActivation, layers.DepthwiseSeparableConv2D)
    found = [layer for layer in model.layers if isinstance(layer, units) and "shortcut" not in layer.name]
    assert len(found) == 36
    assert len({layer.name.split("_")[0] for layer in found}) == 14


def test_a_relu_stands_where_figure_5_draws_it(model):
    before = {layer.name: layer.activation.__name__ for layer in model.layers if isinstance(layer, layers.DepthwiseSeparableConv2D)}
    assert {name for name, activation in before.items() if activation == "linear"} == {"block2_sepconv1", "block14_sepconv1"}
    assert model.layers[-4].name == "exit"


@pytest.mark.slow
def test_twin():
    check_twin("xception", keras.applications.Xception, 75)


def test_rules_for_keras_applications_meet_every_weight(model):
    """The full twin is slow; its names and shapes are not."""
    with keras.StatelessScope(initialize_variables=False):
        keras.layers.BatchNormalization()(keras.Input((3,)))  # moves the automatic numbers
        theirs = keras.applications.Xception(weights=None)
    targets = {weight.path: tuple(weight.shape) for weight in model.weights if "seed_generator" not in weight.path}
    sources = {weight.path: tuple(weight.shape) for weight in theirs.weights}
    moves, unknown = plan(conversions("xception")[0], sources, targets)
    assert not unknown
    assert {move.targets[0]: sources[move.name] for move in moves} == targets


@pytest.mark.parametrize("shape", [(6, 7, 3), (32, 5, 3), (32, 32)])
def test_impossible_sizes(shape):
    with pytest.raises(zoo.CanonError, match=r"xception.*(at least 7 x 7|with known channels)"):
        zoo.create("xception", input_shape=shape)


def test_any_size():
    model = zoo.create("xception", num_classes=3, input_shape=(None, None, 3), overrides=SMALL)
    for shape in ((1, 7, 7, 3), (1, 40, 71, 3)):
        assert model(np.ones(shape, "float32")).shape == (1, 3)
