"""Wide residual networks against Zagoruyko and Komodakis 2016, and torchvision's outputs."""

import pytest
from checks.golden import check_golden
from checks.residual import blocks_of, check_any_size, check_names, strides_of, torchvision_names, unallocated

from keras_canon import layers, zoo

# parameters as printed, in millions
PRINTED = {"wide_resnet28_10": 36.5, "wide_resnet40_4": 8.9, "wide_resnet50_2": 68.9}
BLOCKS = {"wide_resnet50_2": (3, 4, 6, 3), "wide_resnet101_2": (3, 4, 23, 3)}


@pytest.mark.parametrize("name", PRINTED)
def test_printed_parameters(name):
    assert round(zoo.info(name).trainable_parameters / 1e6, 1) == PRINTED[name]


@pytest.mark.parametrize(("name", "depth", "factor"), [("wide_resnet28_10", 28, 10), ("wide_resnet40_4", 40, 4)])
def test_groups_of_table_1(name, depth, factor):
    model = unallocated(name)
    assert model.get_layer("conv1").output.shape[1:] == (32, 32, 16)
    for stage, size, width in ((2, 32, 16), (3, 16, 32), (4, 8, 64)):
        blocks = blocks_of(model, f"conv{stage}")
        assert len(blocks) == (depth - 4) // 6
        assert blocks[-1].output.shape[1:] == (size, size, width * factor)
        assert all(isinstance(block, layers.PreActivationResidualBlock) for block in blocks)
        assert strides_of(blocks[0]) == [1 if stage == 2 else 2, 1]
        assert [block.shortcut for block in blocks] == ["projection"] + ["identity"] * (len(blocks) - 1)
    # depth counts conv1, two convolutions a block and the three projections, not the classifier
    assert 1 + 2 * 3 * (depth - 4) // 6 + 3 == depth


def test_dropout_is_between_the_convolutions():
    model = unallocated("wide_resnet28_10", overrides={"dropout": 0.3})
    for stage in (2, 3, 4):
        assert all(block.branch()[1].rate == 0.3 for block in blocks_of(model, f"conv{stage}"))
    assert "head_dropout" not in [layer.name for layer in model.layers]


def test_one_times_as_wide_needs_no_first_projection():
    model = unallocated("wide_resnet40_4", overrides={"widen_factor": 1})
    assert [blocks_of(model, f"conv{stage}")[0].shortcut for stage in (2, 3, 4)] == ["identity", "projection", "projection"]


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] if "101" in name else []) for name in BLOCKS])
def test_only_the_3x3_convolutions_are_wider(name):
    model = unallocated(name)
    for stage, count in zip((2, 3, 4, 5), BLOCKS[name], strict=True):
        blocks = blocks_of(model, f"conv{stage}")
        width = 64 * 2 ** (stage - 2)
        assert len(blocks) == count
        assert {block.unit_2.convolution.kernel.shape for block in blocks} == {(3, 3, 2 * width, 2 * width)}
        assert {block.output.shape[-1] for block in blocks} == {4 * width}
        assert strides_of(blocks[0]) == [1, 1 if stage == 2 else 2, 1]


@pytest.mark.parametrize(
    ("name", "overrides", "message"),
    [
        ("wide_resnet28_10", {"depth": 30}, r"depth must be 6 n \+ 4 with n of at least 1, such as 16, 22, 28, 40, got 30"),
        ("wide_resnet28_10", {"depth": 4}, "depth must be 6 n"),
        ("wide_resnet28_10", {"widen_factor": 0}, "widen_factor in .* must be an integer of at least 1, got 0"),
        ("wide_resnet50_2", {"widths": [64]}, "one value for each stage"),
    ],
)
def test_bad_overrides(name, overrides, message):
    with pytest.raises(zoo.CanonError, match=message):
        zoo.create(name, overrides=overrides)


def test_input_size():
    check_any_size("wide_resnet40_4", {"depth": 10, "widen_factor": 2}, ((8, 12), (7, 33)))
    check_any_size("wide_resnet50_2", {"blocks_per_stage": [1, 1, 1, 1], "widths": [4, 4, 8, 8]})
    with pytest.raises(zoo.CanonError, match="at least 4 x 4"):
        zoo.create("wide_resnet40_4", input_shape=(3, 32, 3))
    with pytest.raises(zoo.CanonError, match="at least 32 x 32"):
        zoo.create("wide_resnet50_2", input_shape=(3, 32, 3))


@pytest.mark.slow
def test_golden_wide_resnet50_2():
    check_golden("wide_resnet50_2", "wide_resnet50_2")


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] if "101" in name else []) for name in BLOCKS])
def test_conversion_covers_torchvisions_names(name):
    check_names(name, torchvision_names(BLOCKS[name], 3, (0, 1, 2, 3)))
