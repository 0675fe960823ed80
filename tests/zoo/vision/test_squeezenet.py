"""SqueezeNet against table 1 of the paper and torchvision's networks."""

import numpy as np
import pytest
from checks.golden import check_golden

from keras_canon import zoo

# table 1: parameters of each layer before pruning
TABLE_1 = {
    "conv1": 14_208,
    "fire2": 11_920,
    "fire3": 12_432,
    "fire4": 45_344,
    "fire5": 49_440,
    "fire6": 104_880,
    "fire7": 111_024,
    "fire8": 188_992,
    "fire9": 197_184,
    "logits": 513_000,
}
FIRES_1_0 = (3, 4, 5, 7, 8, 9, 10, 12)


def test_parameters_of_table_1():
    model = zoo.create("squeezenet1_0")
    assert {name: model.get_layer(name).count_params() for name in TABLE_1} == TABLE_1
    assert model.count_params() == sum(TABLE_1.values()) == 1_248_424


def test_map_sizes_of_table_1_are_those_of_227():
    model = zoo.create("squeezenet1_0", input_shape=(227, 227, 3))
    names = ["conv1", "pool1", "fire4", "pool4", "fire8", "pool8", "fire9"]
    assert [model.get_layer(name).output.shape[1] for name in names] == [111, 55, 55, 27, 27, 13, 13]


def test_pooling_of_release_1_1_is_earlier():
    model = zoo.create("squeezenet1_1")
    assert [layer.name for layer in model.layers if layer.name.startswith("pool")] == ["pool1", "pool3", "pool5"]
    ratio = zoo.info("squeezenet1_0").gmacs / zoo.info("squeezenet1_1").gmacs
    assert 2.3 < ratio < 2.4, "the release notes say 2.4 times less computation"


def test_the_simple_bypass_adds_what_fire3_5_7_and_9_are_given():
    """Figure 2, middle, with the weights of the network without it: the maps follow by hand."""
    plain = zoo.create("squeezenet1_0", input_shape=(64, 64, 3), num_classes=5)
    model = zoo.create("squeezenet_bypass", input_shape=(64, 64, 3), num_classes=5)
    assert [weight.shape for weight in model.trainable_weights] == [weight.shape for weight in plain.trainable_weights]
    model.set_weights(plain.get_weights())
    images = np.random.RandomState(0).standard_normal((2, 64, 64, 3)).astype("float32")
    x = images
    for layer in plain.layers[1:]:
        x = layer(x) + x if layer.name in ("fire3", "fire5", "fire7", "fire9") else layer(x)
    np.testing.assert_allclose(np.asarray(model(images)), np.asarray(x), atol=1e-5)
    assert np.abs(np.asarray(model(images)) - np.asarray(plain(images))).max() > 1e-3


@pytest.mark.parametrize(("bypassed", "match"), [((4,), "fire4 makes 256 maps of 128"), ((1,), "2 to 9, got 1"), ((10,), "got 10")])
def test_a_bypass_keeps_the_number_of_maps(bypassed, match):
    with pytest.raises(zoo.CanonError, match=match):
        zoo.create("squeezenet1_0", overrides={"bypassed": bypassed})


def test_golden():
    check_golden("squeezenet1_1", "squeezenet1_1")


def test_torchvision_names_of_1_0():
    """The other release has its fire modules at other numbers: the same arrays, given by those names, do the same."""
    ours = zoo.create("squeezenet1_0", input_shape=(64, 64, 3))
    other = zoo.create("squeezenet1_0", input_shape=(64, 64, 3))
    names = {"conv1": "features.0", "logits": "classifier.1"}
    for index, module in enumerate(FIRES_1_0, start=2):
        for part, theirs in (("squeeze", "squeeze"), ("expand_1x1", "expand1x1"), ("expand_3x3", "expand3x3")):
            names[f"fire{index}/{part}"] = f"features.{module}.{theirs}"
    state = {}
    for path, name in names.items():
        kernel, bias = (
            np.asarray(next(weight for weight in ours.weights if weight.path == f"{path}/{leaf}")) for leaf in ("kernel", "bias")
        )
        state |= {f"{name}.weight": kernel.transpose(3, 2, 0, 1), f"{name}.bias": bias}
    report = zoo.load_weights(other, state, format="torchvision")
    assert len(report.loaded) == len(state) == len(ours.weights) - sum("seed_generator" in weight.path for weight in ours.weights)
    images = np.random.RandomState(0).standard_normal((2, 64, 64, 3)).astype("float32")
    np.testing.assert_array_equal(np.asarray(ours(images)), np.asarray(other(images)))


def test_one_release_refuses_the_other():
    state = {"features.4.squeeze.weight": np.zeros((16, 128, 1, 1), "float32")}
    with pytest.raises(zoo.CanonError, match=r"do not fit 'squeezenet1_0'"):
        zoo.load_weights(zoo.create("squeezenet1_0"), state, format="torchvision")
    with pytest.raises(zoo.CanonError, match=r"'squeezenet1_1'.*'squeezenet1_0'"):
        zoo.load_weights(zoo.create("squeezenet1_0"), zoo.create("squeezenet1_1"))


@pytest.mark.parametrize(("name", "side"), [("squeezenet1_0", 21), ("squeezenet1_1", 17)])
def test_sizes(name, side):
    model = zoo.create(name, input_shape=(None, None, 3), num_classes=4)
    for height, width in ((side, side), (40, 57)):
        assert np.isfinite(model.predict(np.zeros((1, height, width, 3), "float32"), verbose=0)).all()
    with pytest.raises(zoo.CanonError, match=f"{name}.*at least {side} x {side}"):
        zoo.create(name, input_shape=(side - 1, side, 3))
