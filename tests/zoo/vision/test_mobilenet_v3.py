"""MobileNetV3 against tables 1 and 2 of Howard et al. 2019, the golden file and keras.applications."""

from functools import partial

import keras
import numpy as np
import pytest
from checks.applications import CLASSES, check_twin, randomize
from checks.golden import RULE, check_golden, load_golden
from checks.residual import unallocated

from keras_canon import layers, zoo
from keras_canon.zoo.conversion import plan
from keras_canon.zoo.families import conversions
from keras_canon.zoo.preprocessing import apply_preprocessing

TWINS = {"mobilenet_v3_small": keras.applications.MobileNetV3Small, "mobilenet_v3_large": keras.applications.MobileNetV3Large}


def blocks(model):
    return [layer for layer in model.layers if isinstance(layer, layers.InvertedResidual)]


@pytest.mark.parametrize(("name", "million", "multiply_adds"), [("mobilenet_v3_large", 5.5, 217), ("mobilenet_v3_small", 2.5, 57)])
def test_sizes_near_table_3(name, million, multiply_adds):
    # table 3 prints 5.4 and 219, 2.5 and 56
    row = zoo.info(name)
    assert round(row.trainable_parameters / 1e6, 1) == million
    assert round(row.gmacs * 1e3) == multiply_adds


@pytest.mark.parametrize("size", ["large", "small"])
def test_both_forms_have_the_rows_of_the_table(size):
    plain, torch = zoo.info(f"mobilenet_v3_{size}").config, zoo.info(f"mobilenet_v3_{size}_torch").config
    assert plain["rows"] == torch["rows"]


def test_table_1():
    model = unallocated("mobilenet_v3_large")
    found = blocks(model)
    assert [block.filters for block in found] == [16, 24, 24, 40, 40, 40, 80, 80, 80, 80, 112, 112, 160, 160, 160]
    assert [block.strides[0] for block in found] == [1, 2, 1, 2, 1, 1, 2, 1, 1, 1, 1, 1, 2, 1, 1]
    assert [block.kernel_size[0] for block in found] == [3, 3, 3, 5, 5, 5, 3, 3, 3, 3, 3, 3, 5, 5, 5]
    assert [block.expanded_filters for block in found] == [None, 64, 72, 72, 120, 120, 240, 200, 184, 184, 480, 672, 672, 960, 960]
    squeezed = {index + 1: block.squeeze_filters for index, block in enumerate(found) if block.squeeze_filters}
    assert squeezed == {4: 24, 5: 32, 6: 32, 11: 120, 12: 168, 13: 168, 14: 240, 15: 240}
    assert [block.activation for block in found] == [keras.activations.relu] * 6 + [keras.activations.hard_silu] * 9
    assert model.get_layer("conv6").output.shape[1:] == (7, 7, 960)
    assert model.get_layer("hidden").units == 1280


def test_table_2():
    model = unallocated("mobilenet_v3_small")
    found = blocks(model)
    assert [block.filters for block in found] == [16, 24, 24, 40, 40, 40, 48, 48, 96, 96, 96]
    assert [block.strides[0] for block in found] == [2, 2, 1, 2, 1, 1, 1, 1, 2, 1, 1]
    assert [block.expanded_filters for block in found] == [None, 72, 88, 96, 240, 240, 120, 144, 288, 576, 576]
    assert [block.squeeze_filters for block in found] == [8, None, None, 24, 64, 64, 32, 40, 72, 144, 144]
    assert [block.activation for block in found] == [keras.activations.relu] * 3 + [keras.activations.hard_silu] * 8
    assert model.get_layer("conv6").output.shape[1:] == (7, 7, 576)
    assert model.get_layer("hidden").units == 1024


def test_equations_of_section_5():
    block = blocks(unallocated("mobilenet_v3_small"))[3]
    x = np.linspace(-4, 4, 9).astype("float32")
    hard_sigmoid = np.clip(x + 3, 0, 6) / 6
    np.testing.assert_allclose(block.gate_activation(x), hard_sigmoid, atol=1e-6)
    np.testing.assert_allclose(block.activation(x), x * hard_sigmoid, atol=1e-6)


def test_golden():
    check_golden("mobilenet_v3_small_torch", "mobilenet_v3_small")


def torch_names(model):
    """Name the weights as torchvision does, from the order of the layers."""
    counted = ["weight", "bias", "running_mean", "running_var", "num_batches_tracked"]

    def unit(prefix):
        return [f"{prefix}.0.weight", *(f"{prefix}.1.{leaf}" for leaf in counted)]

    names = unit("features.0")
    for index, block in enumerate(blocks(model), start=1):
        for place, layer in enumerate(block.branch()):
            prefix = f"features.{index}.block.{place}"
            if isinstance(layer, layers.SqueezeExcite):
                names += [f"{prefix}.{part}.{leaf}" for part in ("fc1", "fc2") for leaf in ("weight", "bias")]
            else:
                names += unit(prefix)
    names += unit(f"features.{len(blocks(model)) + 1}")
    return names + [f"classifier.{place}.{leaf}" for place in (0, 3) for leaf in ("weight", "bias")]


@pytest.mark.parametrize("size", ["small", "large"])
def test_rules_for_torchvision_meet_every_weight(size):
    name = f"mobilenet_v3_{size}_torch"
    model = unallocated(name)
    names = [one for one in torch_names(model) if "num_batches" not in one]
    if size == "small":
        assert set(names) == set(RULE["state"](load_golden("mobilenet_v3_small")))
    paths = [weight.path for weight in model.weights if "seed_generator" not in weight.path]
    conversion = next(one for one in conversions("mobilenet_v3") if name in one.variants)
    moves, unknown = plan(conversion, torch_names(model), paths)
    assert not unknown
    assert sorted(target for move in moves for target in move.targets) == sorted(paths)


@pytest.mark.parametrize(
    ("name", "size"), [("mobilenet_v3_small", 75), *(pytest.param("mobilenet_v3_large", size, marks=pytest.mark.slow) for size in (64, 75))]
)
def test_twin(name, size):
    check_twin(name, partial(TWINS[name], include_preprocessing=False), size)


@pytest.mark.slow
def test_their_rescaling_layer_is_our_preprocessing():
    theirs = keras.applications.MobileNetV3Small(weights=None, classes=CLASSES, input_shape=(64, 64, 3), classifier_activation=None)
    randomize(theirs)
    ours = zoo.create("mobilenet_v3_small", num_classes=CLASSES, input_shape=(64, 64, 3))
    zoo.load_weights(ours, theirs)
    images = np.random.RandomState(3).randint(0, 256, (2, 64, 64, 3)).astype("uint8")
    expected = np.asarray(theirs(images.astype("float32"), training=False))
    found = np.asarray(ours(apply_preprocessing(images, ours.record.preprocessing), training=False))
    assert (np.abs(found - expected).max(-1) / expected.std(-1)).max() < 1e-4


def test_refusals():
    model = zoo.create("mobilenet_v3_small", input_shape=(32, 32, 3))
    with pytest.raises(zoo.CanonError, match=r"'mobilenet_v3_small' cannot take.*'torchvision'.*fit 'mobilenet_v3_small_torch'"):
        zoo.load_weights(model, RULE["state"](load_golden("mobilenet_v3_small")), format="torchvision")
    with pytest.raises(zoo.CanonError, match=r"at least 32 x 32.*\(16, 16, 3\)"):
        zoo.create("mobilenet_v3_large", input_shape=(16, 16, 3))
    with pytest.raises(zoo.CanonError, match=r"rows in .* must hold at least one entry"):
        zoo.create("mobilenet_v3_large", overrides={"rows": []})
    with pytest.raises(zoo.CanonError, match="must be one of 'RE', 'HS', got 'GELU'"):
        zoo.create("mobilenet_v3_large", overrides={"rows": [[3, 16, 16, True, "GELU", 1]]})
