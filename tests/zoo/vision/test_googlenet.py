"""GoogLeNet against table 1 of Szegedy et al. 2014, and its batch-norm form against an independent implementation."""

import keras
import numpy as np
import pytest
from checks.golden import RULE, check_golden, load_golden

from keras_canon import layers, zoo

# Table 1: parameters of the modules, in units of 1,024
TABLE_1 = {"3_a": 159, "3_b": 380, "4_a": 364, "4_b": 437, "4_c": 463, "4_d": 580, "4_e": 840, "5_a": 1072, "5_b": 1388}
# Table 1: output size of every row
SIZES = {
    "conv1": (112, 112, 64),
    "pool1": (56, 56, 64),
    "conv2": (56, 56, 192),
    "pool2": (28, 28, 192),
    "inception3_a": (28, 28, 256),
    "inception3_b": (28, 28, 480),
    "pool3": (14, 14, 480),
    "inception4_a": (14, 14, 512),
    "inception4_b": (14, 14, 512),
    "inception4_c": (14, 14, 512),
    "inception4_d": (14, 14, 528),
    "inception4_e": (14, 14, 832),
    "pool4": (7, 7, 832),
    "inception5_a": (7, 7, 832),
    "inception5_b": (7, 7, 1024),
    "pool5": (1024,),
}
SMALL = {"stem": [8, 8, 12], "modules": [[[4, 6, 8, 2, 2, 2]]] * 3}
SMALL_AUXILIARY = {**SMALL, "modules": [[[4, 6, 8, 2, 2, 2]] * 2] * 3, "auxiliary_filters": 8, "auxiliary_units": 16}


@pytest.fixture(scope="module")
def model():
    return zoo.create("googlenet")


def count(layer) -> int:
    return sum(int(np.prod(weight.shape)) for weight in layer.trainable_weights)


def test_parameters_of_each_row(model):
    found = {name: count(model.get_layer(f"inception{name}")) / 1024 for name in TABLE_1}
    assert found.pop("4_c") == pytest.approx(498, abs=0.5), "the paper prints 463 K"
    assert found.pop("5_a") == pytest.approx(1019, abs=0.5), "the paper prints 1072 K"
    for name, kilo in found.items():
        assert kilo == pytest.approx(TABLE_1[name], rel=0.02), name
    assert count(model.get_layer("conv1")) == 7 * 7 * 3 * 64 + 64, "the paper prints 2.7 K"
    assert (count(model.get_layer("conv2_reduce")) + count(model.get_layer("conv2"))) / 1024 == pytest.approx(112, rel=0.01)
    assert count(model) == 6_998_552


@pytest.mark.parametrize("name", ["googlenet", "googlenet_bn"])
def test_sizes_of_each_row(name, model):
    model = model if name == "googlenet" else zoo.create(name)
    assert {layer: model.get_layer(layer).output.shape[1:] for layer in SIZES} == SIZES


def test_order_of_figure_3(model):
    assert [layer.name for layer in model.layers][:9] == [
        "images",
        "conv1",
        "pool1",
        "norm1",
        "conv2_reduce",
        "conv2",
        "norm2",
        "pool2",
        "inception3_a",
    ]
    assert [layer.name for layer in model.layers][-4:] == ["inception5_b", "pool5", "dropout", "logits"]
    assert isinstance(model.get_layer("norm1"), layers.LocalResponseNormalization)
    assert model.get_layer("dropout").rate == 0.4
    assert model.get_layer("inception4_c").branch_large.window.kernel_size == (5, 5)


def test_auxiliary_classifiers_stand_on_4a_and_4d():
    model = zoo.create("googlenet_auxiliary")
    assert {name: tensor.shape for name, tensor in model.output.items()} == dict.fromkeys(
        ("logits", "auxiliary1", "auxiliary2"), (None, 1000)
    )
    for name, below in (("auxiliary1", "inception4_a"), ("auxiliary2", "inception4_d")):
        head = model.get_layer(name)
        assert head.input is model.get_layer(below).output
        assert head.pool.compute_output_shape(head.input.shape)[1:3] == (4, 4)
        assert (head.convolution.filters, head.hidden.units, head.hidden_dropout.rate) == (128, 1024, 0.7)
    heads = [(512 + 1) * 128, (528 + 1) * 128]
    assert count(model) == 6_998_552 + sum(one + (16 * 128 + 1) * 1024 + 1025 * 1000 for one in heads)


def test_the_auxiliary_form_is_googlenet_with_two_more_outputs():
    both = zoo.create("googlenet_auxiliary", num_classes=4, input_shape=(65, 65, 3), overrides=SMALL_AUXILIARY)
    plain = zoo.create("googlenet", num_classes=4, input_shape=(65, 65, 3), overrides={**SMALL, "modules": SMALL_AUXILIARY["modules"]})
    values = {weight.path: weight for weight in both.weights}
    for weight in plain.weights:
        weight.assign(values[weight.path])
    images = np.random.RandomState(0).standard_normal((2, 65, 65, 3)).astype("float32")
    np.testing.assert_array_equal(both(images)["logits"], plain(images))
    with pytest.raises(zoo.CanonError, match=r"googlenet_auxiliary.*are not weights of 'googlenet'"):
        zoo.load_weights(plain, both)


def test_heads_of_the_auxiliary_form(tmp_path):
    model = zoo.create("googlenet_auxiliary", num_classes=4, input_shape=(65, 65, 3), overrides=SMALL_AUXILIARY)
    other = zoo.replace_head(model, num_classes=3)
    images = np.ones((2, 65, 65, 3), "float32")
    assert other(images).shape == (2, 3)
    assert not [weight.path for weight in other.weights if weight.path.startswith("auxiliary")]
    wider = zoo.create("googlenet_auxiliary", num_classes=6, input_shape=(65, 65, 3), overrides=SMALL_AUXILIARY)
    zoo.load_weights(wider, model, skip_head=True)
    for name in ("convolution", "hidden"):
        np.testing.assert_array_equal(
            getattr(wider.get_layer("auxiliary1"), name).get_weights()[0], getattr(model.get_layer("auxiliary1"), name).get_weights()[0]
        )


def test_golden():
    check_golden("googlenet_bn", "googlenet")


def test_auxiliary_classifiers_in_a_file_are_not_needed():
    state = RULE["state"](load_golden("googlenet"))
    extra = {"aux1.conv.conv.weight": np.zeros((128, 512, 1, 1), "float32"), "aux2.fc2.bias": np.zeros(1000, "float32")}
    report = zoo.load_weights(zoo.create("googlenet_bn"), {**state, **extra}, format="torchvision")
    assert list(report.unused) == list(extra)


def test_weights_of_the_other_form_are_refused():
    model = zoo.create("googlenet", num_classes=4, overrides=SMALL)
    with pytest.raises(zoo.CanonError, match=r"'googlenet' cannot take weights in the format 'torchvision'.*googlenet_bn"):
        zoo.load_weights(model, {"conv1.conv.weight": np.zeros((64, 3, 7, 7), "float32")}, format="torchvision")


def test_batch_norm_form():
    model = zoo.create("googlenet_bn", num_classes=4, input_shape=(64, 64, 3))
    assert model.get_layer("inception4_c").branch_large.window.kernel_size == (3, 3)
    assert {layer.epsilon for layer in model._flatten_layers() if isinstance(layer, keras.layers.BatchNormalization)} == {1e-3}
    assert [model.get_layer(f"pool{i}").pool_size for i in (1, 2, 3, 4)] == [(3, 3)] * 3 + [(2, 2)]
    assert all(model.get_layer(f"pool{i}").ceil_mode for i in (1, 2, 3, 4))


@pytest.mark.parametrize("shape", [(64, 64, 3), (None, None, 3), (65, 65)])
def test_sizes_that_the_auxiliary_classifiers_cannot_take(shape):
    with pytest.raises(zoo.CanonError, match=r"googlenet_auxiliary.*input_shape must"):
        zoo.create("googlenet_auxiliary", input_shape=shape, overrides=SMALL_AUXILIARY)


@pytest.mark.parametrize("name", ["googlenet", "googlenet_bn"])
def test_any_size(name):
    model = zoo.create(name, num_classes=4, input_shape=(None, None, 3), overrides=SMALL)
    for shape in ((1, 40, 57, 3), (1, 33, 32, 3)):
        assert model(np.ones(shape, "float32")).shape == (1, 4)


@pytest.mark.parametrize("modules", [[[[4, 6, 8, 2, 2, 2]]], [[[4, 6, 8, 2, 2, 2]], [], [[4, 6, 8, 2, 2, 2]]]])
def test_a_stage_without_modules_is_refused(modules):
    with pytest.raises(zoo.CanonError, match="modules must have one row at least for each of the stages 3, 4 and 5"):
        zoo.create("googlenet", overrides={"modules": modules})


def test_two_auxiliary_classifiers_need_two_modules():
    with pytest.raises(zoo.CanonError, match="modules must have two rows at least for stage 4"):
        zoo.create("googlenet_auxiliary", overrides=SMALL)
