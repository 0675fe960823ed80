"""ZFNet against figure 3 of the paper."""

import pytest

from keras_canon import zoo

SMALL = {"widths": [8, 12, 12, 12, 8], "hidden_units": [16, 16]}


def test_map_sizes_kernels_and_strides_of_figure_3():
    model = zoo.create("zfnet", overrides=SMALL)
    names = ["conv1", "pool1", "conv2", "pool2", "conv3", "conv4", "conv5", "pool5"]
    assert [model.get_layer(name).output.shape[1] for name in names] == [110, 55, 26, 13, 13, 13, 13, 6]
    convolutions = [model.get_layer(f"conv{index}") for index in range(1, 6)]
    assert [layer.kernel_size[0] for layer in convolutions] == [7, 5, 3, 3, 3]
    assert [layer.strides[0] for layer in convolutions] == [2, 2, 1, 1, 1]
    order = [layer.name for layer in model.layers]
    assert order.index("pool1") < order.index("norm1") < order.index("conv2"), "contrast is normalised behind the pooling"


def test_parameters_are_those_of_the_layers():
    convolutions = 96 * (147 + 1) + 256 * (25 * 96 + 1) + 384 * (9 * 256 + 1) + 384 * (9 * 384 + 1) + 256 * (9 * 384 + 1)
    assert zoo.info("zfnet").trainable_parameters == convolutions + 4096 * (9216 + 1) + 4096 * 4097 + 1000 * 4097


def test_smallest_input_and_one_less():
    assert zoo.create("zfnet", input_shape=(63, 63, 1), overrides=SMALL).get_layer("pool5").output.shape[1:3] == (1, 1)
    with pytest.raises(zoo.CanonError, match=r"zfnet.*at least 63 x 63"):
        zoo.create("zfnet", input_shape=(62, 62, 1), overrides=SMALL)
