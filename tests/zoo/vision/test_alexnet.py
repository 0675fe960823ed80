"""AlexNet in its two forms, against the paper of 2012 and torchvision's network."""

import numpy as np
import pytest
from checks.golden import check_golden, load_golden

from keras_canon import layers, zoo

SMALL = {"widths": [8, 12, 12, 12, 8], "hidden_units": [16, 16]}


@pytest.fixture(scope="module")
def small():
    return zoo.create("alexnet", overrides=SMALL)


def maps(model, *names):
    return [model.get_layer(name).output.shape[1] for name in names]


def test_map_sizes_of_figure_2(small):
    assert maps(small, "conv1", "pool1", "conv2", "pool2", "conv3", "conv4", "conv5", "pool5") == [55, 27, 27, 13, 13, 13, 13, 6]


def test_order_of_sections_3_3_to_3_5(small):
    names = [layer.name for layer in small.layers]
    first = ["images", "conv1_padding", "conv1", "norm1", "pool1", "conv2", "norm2", "pool2", "conv3", "conv4", "conv5", "pool5"]
    assert names[:12] == first
    assert names[-6:] == ["pool5_units", "fc6", "fc6_dropout", "fc7", "head_dropout", "logits"]


def test_groups_kernels_and_strides(small):
    found = {f"conv{i}": small.get_layer(f"conv{i}") for i in range(1, 6)}
    assert [layer.groups for layer in found.values()] == [1, 2, 1, 2, 2]
    assert [layer.kernel_size[0] for layer in found.values()] == [11, 5, 3, 3, 3]
    assert [layer.strides[0] for layer in found.values()] == [4, 1, 1, 1, 1]


def test_constants_of_sections_3_3_and_5(small):
    norm = small.get_layer("norm1")
    assert isinstance(norm, layers.LocalResponseNormalization)
    assert (norm.bias, norm.size, norm.alpha, norm.beta) == (2.0, 5, 1e-4, 0.75)
    starts = {
        name: float(np.asarray(small.get_layer(name).bias)[0]) for name in ("conv1", "conv2", "conv3", "conv4", "conv5", "fc6", "fc7")
    }
    assert starts == {"conv1": 0, "conv2": 1, "conv3": 0, "conv4": 1, "conv5": 1, "fc6": 1, "fc7": 1}
    assert np.asarray(small.get_layer("conv1").kernel).std() == pytest.approx(0.01, rel=0.05)


def test_zeros_after_the_image_complete_the_last_windows(small):
    wide = zoo.create("alexnet", overrides=SMALL, input_shape=(227, 227, 3))
    assert "conv1_padding" not in [layer.name for layer in wide.layers]
    zoo.load_weights(wide, small)
    images = np.random.RandomState(0).standard_normal((2, 224, 224, 3)).astype("float32")
    padded = np.pad(images, [(0, 0), (0, 3), (0, 3), (0, 0)])
    np.testing.assert_allclose(small.predict(images, verbose=0), wide.predict(padded, verbose=0), rtol=1e-4, atol=1e-5)


def test_golden_one_tower():
    check_golden("alexnet_one_tower", "alexnet")


def test_one_tower_takes_other_sizes_with_the_same_weights():
    small = zoo.create("alexnet_one_tower", overrides=SMALL)
    for shape in ((63, 63, 3), (None, None, 3)):
        other = zoo.create("alexnet_one_tower", overrides=SMALL, input_shape=shape)
        assert [weight.shape for weight in other.weights] == [weight.shape for weight in small.weights]
        assert other.predict(np.zeros((1, 63, 63, 3), "float32"), verbose=0).shape == (1, 1000)


def test_one_tower_grid_changes_nothing_at_the_papers_size():
    model = zoo.create("alexnet_one_tower", overrides=SMALL)
    assert model.get_layer("pool5").output.shape == model.get_layer("grid").output.shape == (None, 6, 6, 8)


def test_two_groups_refuse_weights_of_one_tower(small):
    state = {name: np.zeros((1,), "float32") for name, _ in load_golden("alexnet")["state"]}
    with pytest.raises(zoo.CanonError, match=r"'alexnet' cannot take .*'torchvision'.*'alexnet_one_tower'"):
        zoo.load_weights(small, state, format="torchvision")
    with pytest.raises(zoo.CanonError, match=r"'alexnet_one_tower'.*'alexnet'"):
        zoo.load_weights(small, zoo.create("alexnet_one_tower", overrides=SMALL))


@pytest.mark.parametrize(
    ("name", "shape", "message"),
    [
        ("alexnet", (63, 64, 3), r"at least 64 x 64"),
        ("alexnet", (None, None, 3), r"must name height and width"),
        ("alexnet_one_tower", (62, 62, 3), r"at least 63 x 63"),
        ("alexnet_one_tower", (224, 224), r"must be \(height, width, channels\)"),
    ],
)
def test_impossible_inputs(name, shape, message):
    with pytest.raises(zoo.CanonError, match=f"{name}.*{message}"):
        zoo.create(name, input_shape=shape)


def test_smallest_inputs():
    for name, side in (("alexnet", 64), ("alexnet_one_tower", 63)):
        model = zoo.create(name, input_shape=(side, side, 3), overrides=SMALL)
        assert maps(model, "pool5") == [1]
