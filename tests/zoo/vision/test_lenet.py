"""LeNet-5 against the numbers that LeCun et al. 1998 print in section II.B."""

import keras
import numpy as np
import pytest

from keras_canon import layers, zoo
from keras_canon.zoo.vision.lenet_codes import lenet_codes

PAPER_PARAMETERS = {"c1": 156, "s2": 12, "c3": 1_516, "s4": 32, "c5": 48_120, "f6": 10_164, "logits": 0}
PAPER_CONNECTIONS = {"c1": 122_304, "s2": 5_880, "c3": 151_600, "s4": 2_000, "c5": 48_120, "f6": 10_164, "logits": 840}
# Table I: a row for each map of S2, a mark under each map of C3 that sees it
TABLE_I = """
X . . . X X X . . X X X X . X X
X X . . . X X X . . X X X X . X
X X X . . . X X X . . X . X X X
. X X X . . X X X X . . X . X X
. . X X X . . X X X X . X X . X
. . . X X X . . X X X X . X X X
"""


@pytest.fixture(scope="module")
def model():
    return zoo.create("lenet5")


def trainable(layer) -> int:
    return sum(int(np.prod(weight.shape)) for weight in layer.trainable_weights)


def connections(layer) -> int:
    """Count incoming connections, biases included, of all units of a layer."""
    units = int(np.prod(layer.output.shape[1:]))
    if isinstance(layer, layers.ConnectionTableConv2D):
        positions = int(np.prod(layer.output.shape[1:3]))
        return positions * trainable(layer)
    if isinstance(layer, keras.layers.Conv2D):
        return units * (int(np.prod(layer.kernel.shape[:-1])) + 1)
    if isinstance(layer, layers.TrainableSubsampling2D):
        return units * (int(np.prod(layer.pool_size)) + 1)
    if isinstance(layer, layers.RBFOutput):
        return int(np.prod(layer.kernel.shape))
    return units * (layer.kernel.shape[0] + 1)


def test_parameters_of_each_layer(model):
    assert {name: trainable(model.get_layer(name)) for name in PAPER_PARAMETERS} == PAPER_PARAMETERS
    assert trainable(model) == 60_000 == zoo.info("lenet5").trainable_parameters


def test_connections(model):
    found = {name: connections(model.get_layer(name)) for name in PAPER_CONNECTIONS}
    assert found == PAPER_CONNECTIONS
    assert sum(found.values()) == 340_908


def test_connection_table_row_by_row(model):
    table = model.get_layer("c3").table
    for row, line in enumerate(TABLE_I.split("\n")[1:-1]):
        marks = [mark == "X" for mark in line.split()]
        assert [row in seen for seen in table] == marks, f"row {row} of Table I"
    assert sum(len(seen) for seen in table) == 60


def test_maps_of_c3_see_only_what_the_table_lists(model):
    c3 = model.get_layer("c3")
    zeros = np.zeros((1, 14, 14, 6), "float32")
    quiet = np.asarray(c3(zeros))
    for source in range(6):
        one = zeros.copy()
        one[..., source] = np.random.RandomState(source).standard_normal((1, 14, 14))
        changed = np.any(np.asarray(c3(one)) != quiet, axis=(0, 1, 2))
        assert changed.tolist() == [source in seen for seen in c3.table]


def test_squashing_function_is_the_papers(model):
    for name in ("c1", "s2", "c3", "s4", "c5", "f6"):
        a = np.linspace(-3, 3, 7).astype("float32")
        found = np.asarray(model.get_layer(name).activation(a))
        np.testing.assert_allclose(found, 1.7159 * np.tanh(2 * a / 3), rtol=1e-6, atol=1e-6)


def test_shapes(model):
    shapes = {name: model.get_layer(name).output.shape[1:] for name in ("c1", "s2", "c3", "s4", "c5", "f6", "logits")}
    maps = {"c1": (28, 28, 6), "s2": (14, 14, 6), "c3": (10, 10, 16), "s4": (5, 5, 16), "c5": (1, 1, 120)}
    assert shapes == {**maps, "f6": (84,), "logits": (10,)}


def test_logits_are_minus_the_rbf_penalties(model):
    images = np.random.RandomState(0).uniform(-0.1, 1.175, (3, 32, 32, 1)).astype("float32")
    f6 = np.asarray(keras.Model(model.input, model.get_layer("f6").output)(images))
    penalties = ((f6[:, None, :] - lenet_codes(10)[None]) ** 2).sum(-1)
    np.testing.assert_allclose(np.asarray(model(images)), -penalties, rtol=1e-5)


def test_codes_are_drawings_of_seven_by_twelve():
    codes = lenet_codes(10)
    assert codes.shape == (10, 84)
    assert set(np.unique(codes)) == {-1.0, 1.0}
    distances = (codes[:, None] != codes[None]).sum(-1)[np.triu_indices(10, 1)]
    assert distances.min() >= 6, "two digits are drawn nearly alike"


def test_more_classes_get_distinct_random_codes():
    codes = lenet_codes(47)
    np.testing.assert_array_equal(codes[:10], lenet_codes(10))
    assert len({tuple(row) for row in codes}) == 47
    np.testing.assert_array_equal(lenet_codes(3), codes[:3])


def test_modern_parameters():
    model = zoo.create("lenet5_modern")
    found = {layer.name: trainable(layer) for layer in model.layers if trainable(layer)}
    assert found == {"c1": 156, "c3": 2_416, "c5": 48_120, "f6": 10_164, "logits": 850}
    assert trainable(model) == 61_706 == zoo.info("lenet5_modern").trainable_parameters


def test_modern_with_batch_normalisation():
    """By hand: 8 x 25 + 10 x 8 x 25 kernels, 250 x 12 and 12 x 9 weights, 9 x 4 + 4 of the output, two numbers a normalised map."""
    model = zoo.create("lenet5_modern", num_classes=4, overrides={"widths": [8, 10], "units": [12, 9], "normalization": "batch"})
    assert trainable(model) == 8 * 25 + 80 * 25 + 250 * 12 + 12 * 9 + 9 * 4 + 4 + 2 * (8 + 10 + 12 + 9)
    images = np.random.RandomState(0).standard_normal((16, 32, 32, 1)).astype("float32")
    sums = keras.Model(model.input, [model.get_layer("c1_sums").output, model.get_layer("c1").output])
    before, after = (np.asarray(values) for values in sums(images, training=True))
    expected = (before - before.mean((0, 1, 2))) / np.sqrt(before.var((0, 1, 2)) + 1e-5)
    np.testing.assert_allclose(after, np.maximum(expected, 0.0), atol=1e-5)
    assert zoo.features(model, ["c3"])(images)["c3"].shape == (16, 10, 10, 10)
    with pytest.raises(zoo.CanonError, match=r"normalization.*'lenet5_modern'.*'batch', got 'layer'"):
        zoo.create("lenet5_modern", overrides={"normalization": "layer"})


@pytest.mark.parametrize("name", ["lenet5", "lenet5_modern"])
def test_another_field_is_refused(name):
    with pytest.raises(zoo.CanonError, match=r"lenet5.*input_shape.*\(32, 32, channels\).*\(28, 28, 1\)"):
        zoo.create(name, input_shape=(28, 28, 1))


@pytest.mark.parametrize("name", ["lenet5", "lenet5_modern"])
def test_without_a_head(name):
    model = zoo.create(name, num_classes=0)
    assert model.output.shape == (None, 84)
    assert "logits" not in [layer.name for layer in model.layers]
