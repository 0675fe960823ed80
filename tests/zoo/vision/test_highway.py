"""Highway networks against the tables of the paper."""

import keras
import numpy as np
import pytest

from keras_canon import layers, zoo


def test_fifty_layers_of_about_5000_parameters():
    model = zoo.create("highway")
    gated = [layer for layer in model.layers if isinstance(layer, layers.HighwayDense)]
    assert len(gated) == 49
    assert {layer.count_params() for layer in gated} == {5_100}
    assert model.get_layer("layer50").output.shape == (None, 50)
    assert {float(layer.transform_gate.bias[0]) for layer in gated} == {-2.0}


@pytest.mark.parametrize(("name", "thousands"), [("highway_conv10_16", 39), ("highway_conv10_32", 151)])
def test_parameters_of_table_1(name, thousands):
    model = zoo.create(name)
    assert abs(model.count_params() / 1000 - thousands) < 1
    gated = [layer for layer in model.layers if isinstance(layer, layers.HighwayConv2D)]
    assert len(gated) + 2 == 10
    assert [model.get_layer(f"pool{stage}").output.shape[1] for stage in (1, 2, 3)] == [12, 6, 3]


def test_highway_b_of_table_2():
    model = zoo.create("highway_conv19")
    gated = [layer for layer in model.layers if isinstance(layer, layers.HighwayConv2D)]
    plain = [layer for layer in model.layers if isinstance(layer, layers.ConvNormActivation)]
    assert len(gated) + len(plain) + 1 == 19
    assert [layer.filters for layer in gated] == [32] * 4 + [80] * 5 + [128] * 5
    assert [(layer.filters, layer.window.kernel_size[0]) for layer in plain] == [(32, 3), (80, 3), (128, 3), (100, 1)]
    assert round(model.count_params() / 1e5) / 10 == 2.3


def test_untrained_highways_carry_their_input():
    """With gates nearly shut a stack of highway layers passes most of its input on, which is why depth does not hurt."""
    model = zoo.create("highway", overrides={"transform_bias": -8.0})
    images = np.random.RandomState(0).uniform(0, 1, (4, 28, 28, 1)).astype("float32")
    ends = keras.Model(model.input, [model.get_layer(name).output for name in ("layer1", "layer50")])
    first, last = (np.asarray(units) for units in ends(images))
    assert np.corrcoef(first.ravel(), last.ravel())[0, 1] > 0.95


def test_sizes():
    model = zoo.create("highway_conv19", input_shape=(None, None, 3))
    assert model.predict(np.zeros((1, 9, 14, 3), "float32"), verbose=0).shape == (1, 10)
    assert zoo.create("highway_conv10_16", input_shape=(12, 12, 1)).get_layer("pool3").output.shape[1] == 1
    for name, shape, message in (
        ("highway_conv10_16", (11, 11, 1), "at least 12 x 12"),
        ("highway_conv19", (3, 3, 3), "at least 4 x 4"),
        ("highway", (None, None, 1), "must name height and width"),
    ):
        with pytest.raises(zoo.CanonError, match=f"{name}.*{message}"):
            zoo.create(name, input_shape=shape)
    with pytest.raises(zoo.CanonError, match=r"depth in the overrides of 'highway' must be an integer of at least 1, got 0"):
        zoo.create("highway", overrides={"depth": 0})
