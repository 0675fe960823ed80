"""DenseNet against tables 1 and 2 of Huang et al. 2016, keras.applications and torchvision's outputs."""

import keras
import numpy as np
import pytest
from checks.applications import check_twin
from checks.golden import RULE, check_golden, load_golden
from checks.residual import unallocated

from keras_canon import layers, zoo
from keras_canon.zoo.conversion import plan
from keras_canon.zoo.families import conversions

# Table 2: parameters in millions
TABLE_2 = {"densenet40_12": 1.0, "densenet_bc100_12": 0.8, "densenet_bc190_40": 25.6}
# Table 1: layers of the four blocks, and their output channels at k = 32 and a compression of a half
TABLE_1 = {
    "densenet121": ((6, 12, 24, 16), (256, 512, 1024, 1024)),
    "densenet169": ((6, 12, 32, 32), (256, 512, 1280, 1664)),
    "densenet201": ((6, 12, 48, 32), (256, 512, 1792, 1920)),
}
SMALL = {"block_layers": [1, 1, 1, 1], "growth_rate": 4}


@pytest.mark.parametrize("name", [name if name == "densenet121" else pytest.param(name, marks=pytest.mark.slow) for name in TABLE_1])
def test_blocks_of_table_1(name):
    model = unallocated(name)
    blocks = [layer for layer in model.layers if isinstance(layer, layers.DenseBlock)]
    assert tuple(layer.num_layers for layer in blocks) == TABLE_1[name][0]
    sizes = [(size, size, channels) for size, channels in zip((56, 28, 14, 7), TABLE_1[name][1], strict=True)]
    assert [layer.output.shape[1:] for layer in blocks] == sizes
    # the name counts the first convolution, two in each layer, three transitions and the classifier
    assert 1 + 2 * sum(TABLE_1[name][0]) + 3 + 1 == int(name.removeprefix("densenet"))


@pytest.mark.parametrize("name", TABLE_2)
def test_parameters_of_table_2(name):
    row = zoo.info(name)
    assert round(row.trainable_parameters / 1e6, 1) == TABLE_2[name]
    model = unallocated(name)
    blocks = [layer for layer in model.layers if isinstance(layer, layers.DenseBlock)]
    depth = sum(layer.num_layers * (1 if layer.bottleneck_ratio is None else 2) for layer in blocks)
    # the first convolution, two transitions and the classifier
    assert depth + 1 + 2 + 1 == int(name.removeprefix("densenet").removeprefix("_bc").split("_")[0])
    assert [layer.output.shape[1] for layer in blocks] == [32, 16, 8]


def test_first_convolution_makes_twice_the_growth_rate():
    """Section 3: 16 maps, or 2 k in DenseNet-BC and for ImageNet."""
    names = ("densenet40_12", "densenet_bc100_12", "densenet_bc190_40", "densenet121")
    found = {name: unallocated(name).get_layer("conv1").output.shape[-1] for name in names}
    assert found == {"densenet40_12": 16, "densenet_bc100_12": 24, "densenet_bc190_40": 80, "densenet121": 64}


def test_compression_rounds_down():
    model = unallocated("densenet_bc100_12", overrides={"block_layers": [1, 1, 1], "growth_rate": 5})
    # 24 + 5 maps
    assert model.get_layer("transition1").output.shape[-1] == 14


def test_golden():
    check_golden("densenet121", "densenet121")


def test_names_of_older_torch_files():
    """Before 2018 the layers were called norm.1, conv.1 and so on."""
    state = RULE["state"](load_golden("densenet121"))
    old = {}
    for name, array in state.items():
        for part in ("norm1", "norm2", "conv1", "conv2"):
            if ".denselayer" in name:
                name = name.replace(f".{part}.", f".{part[:-1]}.{part[-1]}.")
        old[name] = array
    assert set(old) != set(state)
    model = unallocated("densenet121")
    conversion = next(one for one in conversions("densenet") if one.format == "torchvision")
    paths = [weight.path for weight in model.weights]
    targets = [move.targets for names in (state, old) for move in plan(conversion, names, paths)[0]]
    assert targets[: len(state)] == targets[len(state) :]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["densenet121", "densenet169", "densenet201"])
def test_twins(name):
    check_twin(name, getattr(keras.applications, name.replace("densenet", "DenseNet")), 64)


@pytest.mark.parametrize("name", ["densenet121", *(pytest.param(name, marks=pytest.mark.slow) for name in ("densenet169", "densenet201"))])
def test_rules_for_keras_applications_meet_every_weight(name):
    """The full twins are slow; their names and shapes are not."""
    ours = unallocated(name)
    with keras.StatelessScope(initialize_variables=False):
        theirs = getattr(keras.applications, name.replace("densenet", "DenseNet"))(weights=None)
    targets = {weight.path: tuple(weight.shape) for weight in ours.weights}
    sources = {weight.path: tuple(weight.shape) for weight in theirs.weights}
    conversion = next(one for one in conversions("densenet") if one.format == "keras_applications")
    moves, unknown = plan(conversion, sources, targets)
    assert not unknown
    assert {move.targets[0]: sources[move.name] for move in moves} == targets


@pytest.mark.parametrize(("name", "size"), [("densenet121", 29), ("densenet40_12", 4)])
def test_smallest_size(name, size):
    overrides = SMALL if name == "densenet121" else {**SMALL, "block_layers": [1, 1, 1]}
    model = zoo.create(name, num_classes=3, input_shape=(size, size, 3), overrides=overrides)
    assert model.get_layer("final_relu").output.shape[1:3] == (1, 1)
    with pytest.raises(zoo.CanonError, match=f"{name}.*at least {size} x {size}"):
        zoo.create(name, input_shape=(size, size - 1, 3), overrides=overrides)


@pytest.mark.parametrize("name", ["densenet121", "densenet_bc100_12"])
def test_any_size(name):
    model = zoo.create(name, num_classes=3, input_shape=(None, None, 3), overrides=SMALL)
    assert model(np.ones((1, 37, 50, 3), "float32")).shape == (1, 3)


@pytest.mark.parametrize("compression", [0.0, 1.5])
def test_compression_out_of_range(compression):
    with pytest.raises(zoo.CanonError, match=f"compression must be above 0 and at most 1, got {compression}"):
        zoo.create("densenet121", overrides={"compression": compression})


def test_weights_for_imagenet_are_refused_by_a_network_for_small_images():
    model = zoo.create("densenet40_12", overrides={"block_layers": [1, 1, 1]})
    with pytest.raises(zoo.CanonError, match=r"'densenet40_12' cannot take weights in the format 'torchvision'"):
        zoo.load_weights(model, {"classifier.bias": np.zeros(10, "float32")}, format="torchvision")
