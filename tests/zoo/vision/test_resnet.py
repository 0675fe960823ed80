"""ResNet against table 1 of He et al. 2015, keras.applications and torchvision's outputs."""

import keras
import numpy as np
import pytest
from checks.applications import check_twin
from checks.golden import check_golden
from checks.residual import blocks_of, check_any_size, check_names, strides_of, torchvision_names, unallocated

from keras_canon import layers, zoo

# Table 1: blocks by stage, and multiply-adds in billions
TABLE_1 = {
    "resnet18": ((2, 2, 2, 2), 1.8),
    "resnet34": ((3, 4, 6, 3), 3.6),
    "resnet50": ((3, 4, 6, 3), 3.8),
    "resnet101": ((3, 4, 23, 3), 7.6),
    "resnet152": ((3, 8, 36, 3), 11.3),
}
DEEP = ("resnet50", "resnet101", "resnet152")
LONG = ("resnet101", "resnet152", "resnet101_v1_5", "resnet152_v1_5")  # the same code as the others, built for seconds
SMALL = {"blocks_per_stage": [1, 2, 1, 1], "widths": [4, 4, 8, 8]}


def quick(names) -> list:
    """All names, the long ones with `-m slow`."""
    return [pytest.param(name, marks=[pytest.mark.slow] if name in LONG else []) for name in names]


@pytest.mark.parametrize("name", quick([*TABLE_1, *(f"{name}_v1_5" for name in DEEP)]))
def test_blocks_of_table_1(name):
    model = unallocated(name)
    stages = [blocks_of(model, f"conv{stage}") for stage in (2, 3, 4, 5)]
    assert tuple(map(len, stages)) == TABLE_1[name.removesuffix("_v1_5")][0]
    # the name counts conv1, the convolutions of the residual paths, and the classifier
    convolutions = sum(len(strides_of(block)) for blocks in stages for block in blocks)
    assert 1 + convolutions + 1 == int(name.removeprefix("resnet").removesuffix("_v1_5"))
    expansion = 4 if convolutions > 40 else 1
    expected = [(size, size, width * expansion) for size, width in zip((56, 28, 14, 7), (64, 128, 256, 512), strict=True)]
    assert [blocks[-1].output.shape[1:] for blocks in stages] == expected


@pytest.mark.parametrize("name", TABLE_1)
def test_multiply_adds_of_table_1(name):
    # the printed figure of ResNet-34 is that of option A, as is its table 2
    gmacs = zoo.measure(name, overrides={"shortcut_option": "A"}).multiply_adds / 1e9 if name == "resnet34" else zoo.info(name).gmacs
    printed = TABLE_1[name][1]
    # ResNet-50's 3.858 is printed cut off, not rounded
    assert printed in (round(gmacs, 1), int(gmacs * 10) / 10)


def test_b16_stride_of_v1_and_v1_5():
    found = {}
    for name in ("resnet50", "resnet50_v1_5"):
        first = blocks_of(unallocated(name), "conv3")[0]
        found[name] = strides_of(first)
        assert first.projection.window.strides == (2, 2)
    assert found == {"resnet50": [2, 1, 1], "resnet50_v1_5": [1, 2, 1]}
    assert round(zoo.info("resnet50").gmacs, 3) == 3.858
    assert round(zoo.info("resnet50_v1_5").gmacs, 3) == 4.089


def test_b16_what_the_quoted_parameter_count_counts():
    ours = unallocated("resnet50")
    statistics = sum(int(np.prod(weight.shape)) for weight in ours.non_trainable_weights)
    channels_with_bias = statistics // 2
    assert zoo.info("resnet50").trainable_parameters == zoo.info("resnet50_v1_5").trainable_parameters == 25_557_032
    assert (statistics, channels_with_bias) == (53_120, 26_560)
    with keras.StatelessScope(initialize_variables=False):
        theirs = sum(int(np.prod(weight.shape)) for weight in keras.applications.ResNet50(weights=None).weights)
    assert theirs == 25_557_032 + statistics + channels_with_bias == 25_636_712


@pytest.mark.parametrize("name", ["resnet50", "resnet101", "resnet152"])
def test_torchvision_weights_are_refused_where_the_stride_differs(name):
    model = zoo.create(name, overrides=SMALL)
    state = {"conv1.weight": np.zeros((4, 3, 7, 7), "float32"), "layer1.0.conv1.weight": np.zeros((4, 4, 1, 1), "float32")}
    for chosen in ("torchvision", "auto"):
        with pytest.raises(
            zoo.CanonError, match=f"'{name}' cannot take weights in the format 'torchvision'.*such weights fit '{name}_v1_5'"
        ):
            zoo.load_weights(model, state, format=chosen)
    other = zoo.create(f"{name}_v1_5", overrides=SMALL)
    with pytest.raises(zoo.CanonError, match=f"'{name}_v1_5' cannot take weights in the format 'keras_applications'.*fit '{name}'"):
        zoo.load_weights(other, {"conv1_conv/kernel": np.zeros((7, 7, 3, 4), "float32")}, format="keras_applications")
    with pytest.raises(zoo.CanonError, match=f"Weights of '{name}_v1_5' are not weights of '{name}'"):
        zoo.load_weights(model, other)


@pytest.mark.parametrize("option", ["A", "B", "C"])
def test_shortcut_options(option):
    model = unallocated("resnet34", overrides={"shortcut_option": option})
    found = {block.name: block.shortcut for stage in (2, 3, 4, 5) for block in blocks_of(model, f"conv{stage}")}
    changing = [f"conv{stage}_block1" for stage in (3, 4, 5)]
    where = {"A": "zero_padding", "B": "projection", "C": "projection"}[option]
    rest = "projection" if option == "C" else "identity"
    assert found == {name: where if name in changing else rest for name in found}


def test_without_projections_the_parameters_are_those_of_the_plain_network():
    """Option A adds none: table 2 compares networks with the same number."""
    model = unallocated("resnet18", overrides={"shortcut_option": "A"})
    total = sum(int(np.prod(weight.shape)) for weight in model.trainable_weights)
    projections = sum(width // 2 * width + 2 * width for width in (128, 256, 512))
    assert total == zoo.info("resnet18").trainable_parameters - projections


def test_config_reaches_the_layers():
    overrides = {**SMALL, "dropout": 0.2, "stochastic_depth": 0.5, "zero_gamma": True, "weight_decay": 1e-4}
    model = zoo.create("resnet50", input_shape=(32, 32, 3), overrides=overrides)
    assert model.get_layer("head_dropout").rate == 0.2
    blocks = [block for stage in (2, 3, 4, 5) for block in blocks_of(model, f"conv{stage}")]
    assert [block.branch_dropout.rate for block in blocks] == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.5])
    for block in blocks:
        assert not np.any(block.unit_3.batch_normalization.gamma)
        assert np.all(np.asarray(block.unit_1.batch_normalization.gamma) == 1)
    kernels = [weight for weight in model.trainable_weights if weight.path.endswith("kernel")]
    expected = 1e-4 * sum(float(np.sum(np.square(weight))) for weight in kernels)
    assert float(sum(model.losses)) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("shape", [(31, 224, 3), (224, 8, 3)])
def test_an_input_smaller_than_the_strides_is_refused(shape):
    with pytest.raises(zoo.CanonError, match=r"resnet50.*at least 32 x 32.*got \(\d+, \d+, 3\)"):
        zoo.create("resnet50", input_shape=shape)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"blocks_per_stage": [3, 4, 6]}, r"one value for each stage, got \(3, 4, 6\) and \(64, 128, 256, 512\)"),
        ({"blocks_per_stage": [3, 0, 6, 3]}, r"blocks_per_stage in .* must hold integers of at least 1, got \(3, 0, 6, 3\)"),
        ({"shortcut_option": "D"}, "shortcut_option.*must be one of 'A', 'B', 'C', got 'D'"),
        ({"stochastic_depth": 1.5}, "stochastic_depth must be"),
    ],
)
def test_bad_overrides(overrides, message):
    with pytest.raises(zoo.CanonError, match=message):
        zoo.create("resnet50", overrides=overrides)


def test_unknown_channels_are_refused():
    with pytest.raises(zoo.CanonError, match="known channels"):
        zoo.create("resnet18", input_shape=(224, 224, None))


@pytest.mark.parametrize("name", ["resnet18", *(pytest.param(name, marks=pytest.mark.slow) for name in ("resnet50", "resnet50_v1_5"))])
def test_any_input_size(name):
    check_any_size(name, SMALL)


def test_pooling_that_opens_conv2():
    pool = unallocated("resnet50").get_layer("conv2_pool")
    assert isinstance(pool, layers.SpatialPooling2D)
    assert (pool.method, pool.pool_size, pool.strides, pool.padding) == ("max", (3, 3), (2, 2), "symmetric")


def test_golden_resnet18():
    check_golden("resnet18", "resnet18")


@pytest.mark.slow
def test_golden_resnet50():
    check_golden("resnet50_v1_5", "resnet50")


@pytest.mark.parametrize("name", quick(["resnet18", "resnet34", *(f"{name}_v1_5" for name in DEEP)]))
def test_conversion_covers_torchvisions_names(name):
    bottleneck = name.endswith("_v1_5")
    blocks = TABLE_1[name.removesuffix("_v1_5")][0]
    check_names(name, torchvision_names(blocks, 3 if bottleneck else 2, (0, 1, 2, 3) if bottleneck else (1, 2, 3)))


@pytest.mark.slow
def test_twin_resnet50():
    check_twin("resnet50", keras.applications.ResNet50, 64)


@pytest.mark.slow
@pytest.mark.parametrize("depth", [50, 101, 152])
def test_twins(depth):
    check_twin(f"resnet{depth}", getattr(keras.applications, f"ResNet{depth}"), 224)
