"""MobileNet against the tables of Howard et al. 2017, and against keras.applications."""

from functools import partial

import keras
import numpy as np
import pytest
from checks.applications import check_twin

from keras_canon import layers, zoo

ALPHAS = {"mobilenet_v1": 1.0, "mobilenet_v1_075": 0.75, "mobilenet_v1_050": 0.5, "mobilenet_v1_025": 0.25}
# table 6: alpha -> million multiply-adds, million parameters
TABLE_6 = {1.0: (569, 4.2), 0.75: (325, 2.6), 0.5: (149, 1.3), 0.25: (41, 0.5)}
# table 7: resolution -> million multiply-adds at alpha = 1
TABLE_7 = {224: 569, 192: 418, 160: 290, 128: 186}


@pytest.fixture(scope="module")
def model():
    with keras.StatelessScope(initialize_variables=False):
        return zoo.create("mobilenet_v1")


@pytest.mark.parametrize("name", ALPHAS)
def test_table_6(name):
    multiply_adds, parameters = TABLE_6[ALPHAS[name]]
    row = zoo.info(name)
    assert multiply_adds == round(row.gmacs * 1e3)
    assert round(row.trainable_parameters / 1e6, 1) == parameters


@pytest.mark.parametrize("resolution", TABLE_7)
def test_table_7(resolution):
    found = zoo.measure("mobilenet_v1", input_shape=(resolution, resolution, 3)).multiply_adds
    # 290.7 is printed as 290, 568.7 as 569
    assert TABLE_7[resolution] in (int(found / 1e6), round(found / 1e6))


def kernels(model):
    """Size of each kernel, and its multiply-adds, by the kind that table 2 names."""
    for layer in model._flatten_layers():
        if isinstance(layer, keras.layers.Dense):
            yield "dense", int(np.prod(layer.kernel.shape)), 1
    for unit in model._flatten_layers():
        if isinstance(unit, layers.DepthwiseSeparableConv2D):
            positions = int(np.prod(model.get_layer(unit.name).output.shape[1:3]))
            yield "depthwise", int(np.prod(unit.depthwise.convolution.kernel.shape)), positions
            yield "pointwise", int(np.prod(unit.pointwise.convolution.kernel.shape)), positions
    stem = model.get_layer("stem")
    yield "full", int(np.prod(stem.convolution.kernel.shape)), int(np.prod(stem.output.shape[1:3]))


def test_table_2(model):
    sizes, products = {}, {}
    for kind, size, positions in kernels(model):
        sizes[kind] = sizes.get(kind, 0) + size
        products[kind] = products.get(kind, 0) + size * positions
    shares = {kind: 100 * size / sum(sizes.values()) for kind, size in sizes.items()}
    assert shares == pytest.approx({"pointwise": 74.59, "depthwise": 1.06, "full": 0.02, "dense": 24.33}, abs=0.006)
    shares = {kind: 100 * product / sum(products.values()) for kind, product in products.items()}
    # the table prints 1.19 for the full convolution, with which its column does not add up to 100
    assert shares == pytest.approx({"pointwise": 94.86, "depthwise": 3.06, "full": 1.9, "dense": 0.18}, abs=0.006)


def test_section_3_2_counts_28_layers(model):
    assert len(list(kernels(model))) == 28


def test_table_1(model):
    blocks = [layer for layer in model.layers if isinstance(layer, layers.DepthwiseSeparableConv2D)]
    assert [block.window.strides[0] for block in blocks] == [1, 2, 1, 2, 1, 2, 1, 1, 1, 1, 1, 2, 1]
    assert {block.window.kernel_size for block in blocks} == {(3, 3)}
    assert [block.output.shape[1:] for block in blocks][-1] == (7, 7, 1024)
    assert model.get_layer("pool").output.shape == (None, 1024)


@pytest.mark.parametrize(
    ("name", "size"),
    [("mobilenet_v1_025", 64), *(pytest.param(name, 96, marks=pytest.mark.slow) for name in ALPHAS if name != "mobilenet_v1_025")],
)
def test_twin(name, size):
    check_twin(name, partial(keras.applications.MobileNet, alpha=ALPHAS[name]), size)


def test_the_papers_relu_is_an_override():
    model = zoo.create("mobilenet_v1_025", overrides={"activation": "relu"}, input_shape=(32, 32, 1), num_classes=2)
    assert model.get_layer("stem").activation is keras.activations.relu


def test_sizes_that_are_no_multiple_of_32():
    model = zoo.create("mobilenet_v1_025", input_shape=(None, None, 3), num_classes=0)
    assert model(np.zeros((1, 45, 70, 3), "float32")).shape == (1, 256)


def test_refusals():
    with pytest.raises(zoo.CanonError, match=r"'mobilenet_v1' cannot be built.*at least 32 x 32.*\(31, 224, 3\)"):
        zoo.create("mobilenet_v1", input_shape=(31, 224, 3))
    with pytest.raises(zoo.CanonError, match=r"width_multiplier must be above 0, got 0.0"):
        zoo.create("mobilenet_v1", overrides={"width_multiplier": 0})
