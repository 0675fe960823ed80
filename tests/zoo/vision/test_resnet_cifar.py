"""The residual networks for small images against section 4.2 and table 6 of He et al. 2015."""

import pytest
from checks.residual import check_any_size, unallocated

from keras_canon import layers, zoo

# Table 6: parameters in millions
TABLE_6 = {"resnet20": 0.27, "resnet32": 0.46, "resnet44": 0.66, "resnet56": 0.85, "resnet110": 1.7}


@pytest.mark.parametrize("name", TABLE_6)
def test_sizes_of_table_6(name):
    printed = TABLE_6[name]
    assert round(zoo.info(name).trainable_parameters / 1e6, 1 if name == "resnet110" else 2) == printed
    model = unallocated(name)
    blocks = [layer for layer in model.layers if isinstance(layer, layers.ResidualBlock)]
    assert 2 * len(blocks) + 2 == int(name.removeprefix("resnet"))
    assert [(block.output.shape[1], block.output.shape[-1]) for block in blocks[:: len(blocks) // 3]] == [(32, 16), (16, 32), (8, 64)]
    # section 4.2: option A everywhere
    assert {block.shortcut for block in blocks} == {"identity", "zero_padding"}
    assert sum(block.shortcut == "zero_padding" for block in blocks) == 2


def test_any_input_size():
    check_any_size("resnet20", {"blocks_per_stage": 1}, ((8, 12), (7, 33)))


def test_an_input_smaller_than_the_strides_is_refused():
    with pytest.raises(zoo.CanonError, match="at least 4 x 4"):
        zoo.create("resnet20", input_shape=(3, 32, 3))
