"""Pre-activation ResNet against He et al. 2016 and keras.applications."""

import keras
import numpy as np
import pytest
from checks.applications import check_twin
from checks.residual import blocks_of, check_any_size, strides_of, unallocated

from keras_canon import zoo

DEPTHS = {50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3)}
SMALL = {"blocks_per_stage": [2, 2, 1, 1], "widths": [4, 4, 8, 8]}


def stages(model):
    return [blocks_of(model, f"conv{stage}") for stage in (2, 3, 4, 5)]


@pytest.mark.parametrize("depth", [50, *(pytest.param(depth, marks=pytest.mark.slow) for depth in (101, 152))])
@pytest.mark.parametrize("form", ["v2", "v2_keras"])
def test_depths(depth, form):
    found = stages(unallocated(f"resnet{depth}_{form}"))
    assert tuple(map(len, found)) == DEPTHS[depth]
    assert 1 + sum(len(strides_of(block)) for blocks in found for block in blocks) + 1 == depth


@pytest.mark.slow
def test_resnet200_is_an_override():
    """Section 5: sixteen more blocks than ResNet-152, on the 28 x 28 map."""
    model = unallocated("resnet152_v2", overrides={"blocks_per_stage": [3, 24, 36, 3]})
    assert 1 + 3 * sum(map(len, stages(model))) + 1 == 200


def test_first_and_last_activation():
    """Appendix: the first one right after conv1, before the paths split; an extra one after the last sum."""
    model = unallocated("resnet50_v2")
    conv1 = model.get_layer("conv1")
    assert conv1.batch_normalization is not None
    assert conv1.activation is keras.activations.relu
    found = [block for blocks in stages(model) for block in blocks]
    assert [block.name for block in found if block.normalization is None] == ["conv2_block1"]
    assert model.layers[-3].name == "conv5_relu"
    assert model.layers[-4].name == "conv5_norm"


def test_form_of_the_paper():
    for stage, blocks in enumerate(stages(unallocated("resnet50_v2"))):
        first, *rest = blocks
        assert strides_of(first) == [2 if stage else 1, 1, 1]
        assert first.shortcut == "projection"
        assert not first.projection.convolution.use_bias
        assert first.projection.batch_normalization is None
        assert all(block.shortcut == "identity" and strides_of(block) == [1, 1, 1] for block in rest)


def test_form_of_keras_applications():
    model = unallocated("resnet50_v2_keras")
    assert model.get_layer("conv1").batch_normalization is None
    for stage, blocks in enumerate(stages(model)):
        assert [block.shortcut for block in blocks] == [
            "projection",
            *["identity"] * (len(blocks) - 2),
            "zero_padding" if stage < 3 else "identity",
        ]
        assert [strides_of(block) for block in blocks] == [[1, 1, 1]] * (len(blocks) - 1) + [[1, 2 if stage < 3 else 1, 1]]


def test_one_form_refuses_the_weights_of_the_other():
    model = zoo.create("resnet50_v2", overrides=SMALL, input_shape=(32, 32, 3))
    source = {"conv1_conv/kernel": np.zeros((7, 7, 3, 4), "float32")}
    with pytest.raises(zoo.CanonError, match=r"'resnet50_v2' cannot take .*'keras_applications'.*such weights fit 'resnet50_v2_keras'"):
        zoo.load_weights(model, source, format="keras_applications")
    with pytest.raises(zoo.CanonError, match="Weights of 'resnet50_v2_keras' are not weights of 'resnet50_v2'"):
        zoo.load_weights(model, zoo.create("resnet50_v2_keras", overrides=SMALL, input_shape=(32, 32, 3)))


@pytest.mark.parametrize("name", ["resnet50_v2", pytest.param("resnet50_v2_keras", marks=pytest.mark.slow)])
def test_input_size(name):
    check_any_size(name, SMALL)
    with pytest.raises(zoo.CanonError, match="at least 32 x 32"):
        zoo.create(name, input_shape=(16, 32, 3))


@pytest.mark.slow
def test_twin_resnet50():
    check_twin("resnet50_v2_keras", keras.applications.ResNet50V2, 64)


@pytest.mark.slow
@pytest.mark.parametrize("depth", DEPTHS)
def test_twins(depth):
    check_twin(f"resnet{depth}_v2_keras", getattr(keras.applications, f"ResNet{depth}V2"), 224)
