"""Inception v3: the authors' form against keras.applications, the other against torchvision's outputs."""

import keras
import numpy as np
import pytest
from checks.applications import check_twin
from checks.golden import check_golden

from keras_canon import zoo
from keras_canon.zoo.conversion import plan
from keras_canon.zoo.families import conversions

SMALL = {"pool_filters": [32], "widths": [128], "last_modules": 1}
# Table 1 with the sizes of the authors' code
SIZES = {
    "conv1_a": (149, 149, 32),
    "conv2_a": (147, 147, 32),
    "conv2_b": (147, 147, 64),
    "pool3_a": (73, 73, 64),
    "conv3_b": (73, 73, 80),
    "conv4_a": (71, 71, 192),
    "pool5_a": (35, 35, 192),
    "mixed5_b": (35, 35, 256),
    "mixed5_d": (35, 35, 288),
    "mixed6_a": (17, 17, 768),
    "mixed6_e": (17, 17, 768),
    "mixed7_a": (8, 8, 1280),
    "mixed7_c": (8, 8, 2048),
    "pool": (2048,),
}


def normalizations(model):
    return [layer for layer in model._flatten_layers() if isinstance(layer, keras.layers.BatchNormalization)]


def test_paper_figures():
    row = zoo.info("inception_v3")
    assert row.trainable_parameters < 25_000_000
    assert 5 < row.gmacs < 6
    # one gamma for each output of the 94 convolutions
    assert zoo.info("inception_v3_torch").trainable_parameters - row.trainable_parameters == 17_216


def test_sizes_and_arithmetic_of_the_authors_form():
    model = zoo.create("inception_v3")
    assert {name: model.get_layer(name).output.shape[1:] for name in SIZES} == SIZES
    found = normalizations(model)
    assert len(found) == 94
    assert {(layer.epsilon, layer.scale) for layer in found} == {(1e-3, False)}
    assert not model.get_layer("mixed6_c").count_padding
    assert [model.get_layer(f"mixed6_{letter}").width for letter in "bcde"] == [128, 160, 160, 192]


@pytest.mark.slow
def test_twin():
    check_twin("inception_v3", keras.applications.InceptionV3, 96)


def test_rules_for_keras_applications_meet_every_weight():
    """The full twin is slow; its names and shapes are not."""
    with keras.StatelessScope(initialize_variables=False):
        # an earlier model moves the automatic numbers of the second
        keras.applications.InceptionV3(weights=None, input_shape=(75, 75, 3), classes=3)
        theirs = keras.applications.InceptionV3(weights=None, input_shape=(75, 75, 3), classes=3)
        ours = zoo.create("inception_v3", input_shape=(75, 75, 3), num_classes=3)
    targets = {weight.path: tuple(weight.shape) for weight in ours.weights}
    sources = {weight.path: tuple(weight.shape) for weight in theirs.weights}
    conversion = next(one for one in conversions("inception_v3") if one.format == "keras_applications")
    moves, unknown = plan(conversion, sources, targets)
    assert not unknown
    assert {move.targets[0]: sources[move.name] for move in moves} == targets


def test_golden():
    check_golden("inception_v3_torch", "inception_v3")


@pytest.mark.slow
def test_the_two_forms_differ_at_the_border_only():
    """Averages that count the padding are the one difference at equal weights."""
    ours = zoo.create("inception_v3", num_classes=0, input_shape=(91, 91, 3), overrides=SMALL)
    torch = zoo.create("inception_v3_torch", num_classes=0, input_shape=(91, 91, 3), overrides=SMALL)
    values = {weight.path: weight for weight in ours.weights}
    for weight in torch.weights:
        if weight.path in values:
            weight.assign(values[weight.path])
    images = np.random.RandomState(0).standard_normal((1, 91, 91, 3)).astype("float32")
    maps = [np.asarray(zoo.features(model, "mixed5")(images)["mixed5"]) for model in (ours, torch)]
    # (1, 9, 9, channels); the centre sees no border yet
    np.testing.assert_array_equal(maps[0][:, 1:-1, 1:-1], maps[1][:, 1:-1, 1:-1])
    assert np.abs(maps[0] - maps[1]).max() > 1e-2


@pytest.mark.parametrize(("name", "format", "cure"), [("inception_v3", "torchvision", "inception_v3_torch")])
def test_weights_of_the_other_form_are_refused(name, format, cure):
    model = zoo.create(name, num_classes=3, input_shape=(75, 75, 3), overrides=SMALL)
    with pytest.raises(zoo.CanonError, match=f"'{name}' cannot take weights in the format '{format}'.*'{cure}'"):
        zoo.load_weights(model, {"fc.bias": np.zeros(3, "float32")}, format=format)


@pytest.mark.parametrize("shape", [(74, 75, 3), (75, 40, 3), (75, 75)])
def test_impossible_sizes(shape):
    with pytest.raises(zoo.CanonError, match=r"inception_v3.*(at least 75 x 75|with known channels)"):
        zoo.create("inception_v3", input_shape=shape)


def test_any_size():
    model = zoo.create("inception_v3", num_classes=3, input_shape=(None, None, 3), overrides=SMALL)
    assert model(np.ones((1, 75, 110, 3), "float32")).shape == (1, 3)


@pytest.mark.parametrize("overrides", [{"last_modules": 0}, {"widths": []}])
def test_stages_without_modules_are_refused(overrides):
    with pytest.raises(zoo.CanonError, match=r"must (be at least 1|hold at least one entry)"):
        zoo.create("inception_v3", overrides=overrides)
