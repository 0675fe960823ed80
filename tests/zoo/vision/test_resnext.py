"""ResNeXt against table 1 of Xie et al. 2016 and torchvision's outputs."""

import numpy as np
import pytest
from checks.golden import check_golden
from checks.residual import blocks_of, check_any_size, check_names, strides_of, torchvision_names, unallocated

from keras_canon import zoo

BLOCKS = {"resnext50_32x4d": (3, 4, 6, 3), "resnext101_32x8d": (3, 4, 23, 3)}
SMALL = {"blocks_per_stage": [1, 2, 1, 1], "widths": [16, 16, 16, 16], "cardinality": 4, "bottleneck_width": 8}


@pytest.mark.parametrize(("name", "width"), [("resnext50_32x4d", 4), pytest.param("resnext101_32x8d", 8, marks=pytest.mark.slow)])
def test_groups_of_table_1(name, width):
    model = unallocated(name)
    for stage, count in zip((2, 3, 4, 5), BLOCKS[name], strict=True):
        blocks = blocks_of(model, f"conv{stage}")
        assert len(blocks) == count
        inner = 32 * width * 2 ** (stage - 2)
        for block in blocks:
            assert block.unit_2.groups == 32
            # (height, width, channels of a group, filters)
            assert block.unit_2.convolution.kernel.shape == (3, 3, inner // 32, inner)
            assert block.output.shape[-1] == 256 * 2 ** (stage - 2)
        # section 4: the stride is on the 3 x 3 convolution of the first block
        assert strides_of(blocks[0]) == [1, 1 if stage == 2 else 2, 1]
        assert [block.shortcut for block in blocks] == ["projection"] + ["identity"] * (count - 1)


def test_sizes_of_table_1():
    row = zoo.info("resnext50_32x4d")
    assert round(row.trainable_parameters / 1e6, 1) == 25.0
    assert round(row.gmacs, 1) == 4.2


@pytest.mark.slow
def test_widths_of_the_papers_101_layers():
    for override, parameters in (({"bottleneck_width": 4}, 44_177_704), ({"cardinality": 64, "bottleneck_width": 4}, 83_455_272)):
        model = unallocated("resnext101_32x8d", overrides=override)
        assert sum(int(np.prod(weight.shape)) for weight in model.trainable_weights) == parameters


def test_input_size():
    check_any_size("resnext50_32x4d", SMALL)
    with pytest.raises(zoo.CanonError, match="at least 32 x 32"):
        zoo.create("resnext50_32x4d", input_shape=(16, 32, 3))


def test_groups_without_channels_are_refused():
    with pytest.raises(zoo.CanonError, match="filters \\* base_width / 64 must be an integer of at least 1, got 0"):
        zoo.create("resnext50_32x4d", overrides={"widths": [8, 8, 8, 8]})


@pytest.mark.slow
def test_golden_resnext50():
    check_golden("resnext50_32x4d", "resnext50_32x4d")


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] if "101" in name else []) for name in BLOCKS])
def test_conversion_covers_torchvisions_names(name):
    check_names(name, torchvision_names(BLOCKS[name], 3, (0, 1, 2, 3)))
