"""Network In Network and All-CNN-C: fully convolutional networks with averaged class maps."""

import keras
import numpy as np
import pytest

from keras_canon import layers, zoo

NAMES = ["network_in_network", "all_cnn_c"]


def test_network_in_network_layers():
    model = zoo.create("network_in_network")
    shapes = {name: model.get_layer(name).output.shape[1:] for name in ("mlpconv1", "pool1", "mlpconv2", "pool2", "mlpconv3", "logits")}
    assert shapes == {
        "mlpconv1": (32, 32, 96),
        "pool1": (16, 16, 96),
        "mlpconv2": (16, 16, 192),
        "pool2": (8, 8, 192),
        "mlpconv3": (8, 8, 192),
        "logits": (10,),
    }
    dropouts = [layer.name for layer in model.layers if isinstance(layer, keras.layers.Dropout)]
    assert dropouts == ["dropout1", "dropout2"], "dropout behind all but the last mlpconv layer (section 4.1)"


def test_all_cnn_layers_of_tables_1_and_2():
    model = zoo.create("all_cnn_c")
    found = [layer for layer in model.layers if isinstance(layer, layers.ConvNormActivation)]
    assert [(layer.filters, layer.window.kernel_size[0], layer.window.strides[0]) for layer in found] == [
        (96, 3, 1),
        (96, 3, 1),
        (96, 3, 2),
        (192, 3, 1),
        (192, 3, 1),
        (192, 3, 2),
        (192, 3, 1),
        (192, 1, 1),
    ]
    assert model.get_layer("stage3_conv2").output.shape == (None, 6, 6, 192), "global averaging over 6 x 6"
    assert round(zoo.info("all_cnn_c").trainable_parameters, -5) == 1_400_000
    assert not [layer for layer in model.layers if "Pooling" in type(layer).__name__]


@pytest.mark.parametrize("name", NAMES)
def test_logits_are_averages_of_rectified_class_maps(name):
    model = zoo.create(name)
    head = model.get_layer("logits")
    head.bias.assign(np.linspace(-1, 1, 10))
    images = np.random.RandomState(0).standard_normal((2, 32, 32, 3)).astype("float32")
    maps = np.asarray(keras.Model(model.input, head.input)(images)) @ np.asarray(head.kernel)[0, 0] + np.asarray(head.bias)
    np.testing.assert_allclose(model(images), np.maximum(maps, 0).mean((1, 2)), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_any_size_and_unknown_sizes(name):
    model = zoo.create(name, input_shape=(None, None, 3))
    assert model.predict(np.zeros((1, 20, 33, 3), "float32"), verbose=0).shape == (1, 10)
    assert zoo.create(name, num_classes=0).output.shape == (None, 192)


@pytest.mark.parametrize(("name", "side"), [("network_in_network", 4), ("all_cnn_c", 9)])
def test_smallest_input_and_one_less(name, side):
    model = zoo.create(name, input_shape=(side, side, 3))
    assert np.isfinite(model.predict(np.zeros((1, side, side, 3), "float32"), verbose=0)).all()
    with pytest.raises(zoo.CanonError, match=f"{name}.*at least {side} x {side}"):
        zoo.create(name, input_shape=(side - 1, side, 3))


@pytest.mark.parametrize("name", NAMES)
def test_a_new_head_makes_class_maps_too(name):
    """Weights of a network with a new head load into one that was created with that many classes."""
    other = zoo.replace_head(zoo.create(name), num_classes=4, dropout=0.3)
    assert isinstance(other.get_layer("logits"), layers.ClassMaps2D)
    created = zoo.create(name, num_classes=4)
    zoo.load_weights(created, other)
    images = np.random.RandomState(0).standard_normal((2, 32, 32, 3)).astype("float32")
    np.testing.assert_array_equal(np.asarray(created(images)), np.asarray(other(images)))
