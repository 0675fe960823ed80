"""MobileNetV2 against table 2 of Sandler et al. 2018, the golden file and keras.applications."""

from functools import partial

import keras
import numpy as np
import pytest
from checks.applications import check_twin
from checks.golden import RULE, check_golden, load_golden

from keras_canon import layers, zoo


@pytest.fixture(scope="module")
def model():
    with keras.StatelessScope(initialize_variables=False):
        return zoo.create("mobilenet_v2")


def blocks(model):
    return [layer for layer in model.layers if isinstance(layer, layers.InvertedResidual)]


def total(model) -> int:
    """Parameters with the moving statistics."""
    return sum(int(np.prod(weight.shape)) for weight in model.weights if "seed_generator" not in weight.path)


def test_table_2(model):
    found = [(block.filters, block.strides[0], block.has_shortcut) for block in blocks(model)]
    expected = []
    for channels, repeats, strides in ((16, 1, 1), (24, 2, 2), (32, 3, 2), (64, 4, 2), (96, 3, 1), (160, 3, 2), (320, 1, 1)):
        for index in range(repeats):
            expected.append((channels, strides if index == 0 else 1, index > 0))
    assert found == expected
    assert blocks(model)[0].expanded_filters is None
    assert [block.expanded_filters for block in blocks(model)[1:4]] == [96, 144, 144]
    assert model.get_layer("conv6").output.shape[1:] == (7, 7, 1280)


def test_the_bottleneck_is_linear(model):
    for block in blocks(model):
        assert block.project.activation is keras.activations.linear
        assert block.depthwise.activation is keras.activations.relu6


def test_b13_width_multiplier_rounding(model):
    assert total(model) == 3_538_984
    assert zoo.info("mobilenet_v2").trainable_parameters == 3_504_872
    with keras.StatelessScope(initialize_variables=False):
        wide = zoo.create("mobilenet_v2", overrides={"width_multiplier": 1.4})
    assert wide.get_layer("stem").filters == 48
    assert wide.get_layer("conv6").filters == 1792
    assert total(wide) == 6_156_712
    assert sum(int(np.prod(weight.shape)) for weight in wide.trainable_weights) == 6_108_776


def test_b13_activation_stops_at_six(model):
    for block in blocks(model):
        assert float(block.depthwise.activation(10.0)) == 6.0


@pytest.mark.parametrize("alpha", [0.35, *(pytest.param(alpha, marks=pytest.mark.slow) for alpha in (0.5, 0.75, 1.3))])
def test_widths_are_those_of_keras_applications(alpha):
    with keras.StatelessScope(initialize_variables=False):
        ours = zoo.create("mobilenet_v2", input_shape=(96, 96, 3), overrides={"width_multiplier": alpha})
        theirs = keras.applications.MobileNetV2(weights=None, input_shape=(96, 96, 3), alpha=alpha)
    assert sorted(tuple(weight.shape) for weight in ours.weights if "seed_generator" not in weight.path) == sorted(
        tuple(weight.shape) for weight in theirs.weights
    )


def test_golden():
    check_golden("mobilenet_v2_torch", "mobilenet_v2")


@pytest.mark.slow
def test_the_two_forms_are_not_interchangeable():
    golden = load_golden("mobilenet_v2")
    torch = zoo.create("mobilenet_v2_torch")
    zoo.load_weights(torch, RULE["state"](golden), format="torchvision")
    authors = zoo.create("mobilenet_v2")
    authors.set_weights(torch.get_weights())
    logits = np.asarray(authors.predict(RULE["images"](golden), verbose=0))
    expected = golden["logits"]
    error = np.abs(logits[:, :20] - expected["first_20_of_each_row"]).max(-1) / expected["row_std"]
    assert error.min() > 0.1


# 75 has odd maps on the way, where the padding depends on the size
@pytest.mark.parametrize("size", [64, pytest.param(75, marks=pytest.mark.slow)])
def test_twin(size):
    check_twin("mobilenet_v2", keras.applications.MobileNetV2, size)


@pytest.mark.slow
def test_pretrained_widths_of_keras_applications_convert():
    for alpha in (0.35, 1.4):
        theirs = partial(keras.applications.MobileNetV2, weights=None, alpha=alpha)(input_shape=(64, 64, 3), classes=5)
        ours = zoo.create("mobilenet_v2", input_shape=(64, 64, 3), num_classes=5, overrides={"width_multiplier": alpha})
        report = zoo.load_weights(ours, theirs)
        assert report.format == "keras_applications"
        images = np.random.RandomState(1).standard_normal((2, 64, 64, 3)).astype("float32")
        np.testing.assert_allclose(keras.ops.softmax(ours(images)), theirs(images), atol=1e-6)


def test_refusals():
    model = zoo.create("mobilenet_v2", input_shape=(32, 32, 3))
    with pytest.raises(zoo.CanonError, match=r"'mobilenet_v2' cannot take.*'torchvision'.*fit 'mobilenet_v2_torch'"):
        zoo.load_weights(model, RULE["state"](load_golden("mobilenet_v2")), format="torchvision")
    with pytest.raises(zoo.CanonError, match=r"at least 32 x 32.*\(224, 16, 3\)"):
        zoo.create("mobilenet_v2_torch", input_shape=(224, 16, 3))
    with pytest.raises(zoo.CanonError, match="padding in the overrides of 'mobilenet_v2' must be one of 'same', 'symmetric'"):
        zoo.create("mobilenet_v2", overrides={"padding": "valid"})
