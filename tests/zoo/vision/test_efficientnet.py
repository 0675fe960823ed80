"""EfficientNet against table 1 of Tan and Le 2019, the golden file and keras.applications."""

import keras
import numpy as np
import pytest
from checks.applications import CLASSES, randomize
from checks.golden import RULE, check_golden, load_golden
from checks.residual import unallocated

from keras_canon import layers, zoo
from keras_canon.zoo.conversion import plan
from keras_canon.zoo.families import conversions
from keras_canon.zoo.preprocessing import apply_preprocessing

# table 2: million parameters, billion multiply-adds
TABLE_2 = ((5.3, 0.39), (7.8, 0.70), (9.2, 1.0), (12, 1.8), (19, 4.2), (30, 9.9), (43, 19), (66, 37))
MEAN, DEVIATION = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])


def blocks(model):
    return [layer for layer in model.layers if isinstance(layer, layers.InvertedResidual)]


@pytest.mark.parametrize("scale", range(8))
def test_table_2(scale):
    million, multiply_adds = TABLE_2[scale]
    row, torch = zoo.info(f"efficientnet_b{scale}"), zoo.info(f"efficientnet_b{scale}_torch")
    assert row.trainable_parameters / 1e6 == pytest.approx(million, rel=0.02)
    assert row.gmacs == pytest.approx(multiply_adds, rel=0.05)
    assert torch.trainable_parameters == row.trainable_parameters


def test_table_1():
    model = unallocated("efficientnet_b0")
    found = blocks(model)
    stages = ((3, 1, 16, 1), (3, 2, 24, 2), (5, 2, 40, 2), (3, 2, 80, 3), (5, 1, 112, 3), (5, 2, 192, 4), (3, 1, 320, 1))
    expected = [(k, s if index == 0 else 1, c) for k, s, c, n in stages for index in range(n)]
    assert [(block.kernel_size[0], block.strides[0], block.filters) for block in found] == expected
    assert [block.expanded_filters for block in found[:4]] == [None, 96, 144, 144]
    # a quarter of the channels that enter the block
    assert [block.squeeze_filters for block in found[:4]] == [8, 4, 6, 6]
    assert model.get_layer("stage9").output.shape[1:] == (7, 7, 1280)


def test_scaling_of_b7():
    model = unallocated("efficientnet_b7", input_shape=(None, None, 3))
    names = [block.name for block in blocks(model)]
    assert [sum(name.startswith(f"stage{stage}_") for name in names) for stage in range(2, 9)] == [4, 7, 7, 10, 10, 13, 4]
    assert (model.get_layer("stage1").filters, model.get_layer("stage9").filters) == (64, 2560)


def test_section_5_2_regularisation():
    model = unallocated("efficientnet_b0")
    rates = [block.branch_dropout.rate for block in blocks(model)]
    np.testing.assert_allclose(rates, 0.2 * np.arange(16) / 16)
    rates = [unallocated(f"efficientnet_b{scale}", input_shape=(32, 32, 3)).get_layer("head_dropout").rate for scale in (0, 7)]
    assert rates == [0.2, 0.5]


def test_golden():
    check_golden("efficientnet_b0_torch", "efficientnet_b0")


def torch_names(model):
    """Name the weights as torchvision does, from the order of the layers."""
    counted = ["weight", "bias", "running_mean", "running_var", "num_batches_tracked"]

    def unit(prefix):
        return [f"{prefix}.0.weight", *(f"{prefix}.1.{leaf}" for leaf in counted)]

    names = unit("features.0") + unit("features.8")
    for block in blocks(model):
        stage, number = (int("".join(filter(str.isdigit, part))) for part in block.name.split("_"))
        for place, layer in enumerate(block.branch()):
            prefix = f"features.{stage - 1}.{number - 1}.block.{place}"
            if isinstance(layer, layers.SqueezeExcite):
                names += [f"{prefix}.{part}.{leaf}" for part in ("fc1", "fc2") for leaf in ("weight", "bias")]
            else:
                names += unit(prefix)
    return [*names, "classifier.1.weight", "classifier.1.bias"]


@pytest.mark.parametrize("scale", [0, 4, 7])
def test_rules_for_torchvision_meet_every_weight(scale):
    name = f"efficientnet_b{scale}_torch"
    model = unallocated(name)
    names = torch_names(model)
    if scale == 0:
        assert {one for one in names if "num_batches" not in one} == set(RULE["state"](load_golden("efficientnet_b0")))
    paths = [weight.path for weight in model.weights if "seed_generator" not in weight.path]
    conversion = next(one for one in conversions("efficientnet") if name in one.variants)
    moves, unknown = plan(conversion, names, paths)
    assert not unknown
    assert sorted(target for move in moves for target in move.targets) == sorted(paths)


@pytest.mark.slow
def test_b5_to_b7_of_torchvision_have_the_larger_epsilon():
    shallow = {"input_shape": (32, 32, 3), "overrides": {"depth_multiplier": 0.1, "width_multiplier": 0.25}}
    found = [unallocated(f"efficientnet_b{scale}_torch", **shallow).get_layer("stage1").epsilon for scale in (0, 4, 5, 6, 7)]
    assert found == [1e-5, 1e-5, 1e-3, 1e-3, 1e-3]


def check_efficient_twin(scale: int, size: int) -> None:
    """Compare with keras.applications, whose rescaling and normalising layers are our preprocessing."""
    build = getattr(keras.applications, f"EfficientNetB{scale}")
    theirs = build(weights=None, classes=CLASSES, input_shape=(size, size, 3), classifier_activation=None)
    randomize(theirs)
    normalization = next(layer for layer in theirs.layers if isinstance(layer, keras.layers.Normalization))
    normalization.set_weights([MEAN, DEVIATION**2, np.array(0)])
    normalization.finalize_state()
    ours = zoo.create(f"efficientnet_b{scale}", num_classes=CLASSES, input_shape=(size, size, 3))
    report = zoo.load_weights(ours, theirs, format="keras_applications")
    assert len(report.loaded) == len(theirs.weights) - 3
    # their layer has no name of its own: Keras numbers it from the second model of a process on
    assert sorted(report.unused) == [f"{normalization.name}/{leaf}" for leaf in ("count", "mean", "variance")]
    assert not report.missing
    images = np.random.RandomState(3).randint(0, 256, (2, size, size, 3)).astype("uint8")
    expected = np.asarray(theirs(images.astype("float32"), training=False))
    found = np.asarray(ours(apply_preprocessing(images, ours.record.preprocessing), training=False))
    error = (np.abs(found - expected).max(-1) / expected.std(-1)).max()
    assert error < 1e-4, f"B{scale} is {error:.1e} standard deviations from keras.applications"


# 75 has odd maps on the way, where the padding depends on the size
@pytest.mark.parametrize(
    ("scale", "size"), [pytest.param(*one, marks=pytest.mark.slow) for one in ((0, 64), *((scale, 75) for scale in range(8)))]
)
def test_twin(scale, size):
    check_efficient_twin(scale, size)


def test_b17_preprocessing_divides_by_the_deviation_not_its_root():
    white = np.full((1, 224, 224, 3), 255, "uint8")
    model = unallocated("efficientnet_b0")
    found = np.asarray(zoo.preprocess(white, model))[0, 0, 0]
    np.testing.assert_allclose(found, [2.2489, 2.4286, 2.64], atol=1e-4)
    # the published weights of keras.applications hold deviations where its layer wants variances, and a rescaling mends that
    normalized = keras.layers.Normalization(mean=MEAN, variance=DEVIATION)(keras.layers.Rescaling(1 / 255.0)(white.astype("float32")))
    theirs = keras.layers.Rescaling((1 / np.sqrt(DEVIATION)).tolist())(normalized)
    np.testing.assert_allclose(np.asarray(theirs)[0, 0, 0], found, rtol=1e-5)


def test_refusals():
    model = zoo.create("efficientnet_b0", input_shape=(32, 32, 3))
    with pytest.raises(zoo.CanonError, match=r"'efficientnet_b0' cannot take.*'torchvision'.*fit 'efficientnet_b0_torch'"):
        zoo.load_weights(model, RULE["state"](load_golden("efficientnet_b0")), format="torchvision")
    with pytest.raises(zoo.CanonError, match=r"at least 32 x 32.*\(31, 31, 3\)"):
        zoo.create("efficientnet_b0", input_shape=(31, 31, 3))
    with pytest.raises(zoo.CanonError, match=r"width_multiplier and depth_multiplier must be above 0, got 1\.0 and 0\.0"):
        zoo.create("efficientnet_b0", overrides={"depth_multiplier": 0.0})
