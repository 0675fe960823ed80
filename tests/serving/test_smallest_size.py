"""Images that are too small for a network of open image size are refused; TensorFlow's own pooling would end the process."""

import keras
import numpy as np
import pytest
import requests

from keras_canon import serving, zoo
from keras_canon.zoo import CanonError


def network(padding="valid", height=None):
    """Two pooling layers, the second of which has nothing to pool in images below 7 x 11."""
    options = {"padding": padding, "data_format": "channels_last"}
    x = images = keras.Input((height, None, 3), name="images")
    x = keras.layers.MaxPooling2D((1, 3), 2, **options)(x)
    x = keras.layers.MaxPooling2D((4, 5), 1, **options)(x)
    x = keras.layers.GlobalAveragePooling2D(data_format="channels_last")(x)
    return keras.Model(images, keras.layers.Dense(2, name="logits")(x))


def asked(server, shape):
    body = {"inputs": {"images": np.zeros(shape).tolist()}}
    return requests.post(f"{server.url}/v1/models/net:predict", json=body, timeout=60)


def test_too_small_an_image_is_one_sentence_and_the_server_goes_on(tmp_path):
    bundle = serving.export(network(), tmp_path / "net")
    servable = serving.load(bundle.path)
    assert servable.predict(np.zeros((2, 7, 11, 3), "float32"))["logits"].shape == (2, 2)
    assert servable.predict(np.zeros((0, 7, 11, 3), "float32"))["logits"].shape == (0, 2)
    for shape in ((1, 6, 40, 3), (1, 40, 10, 3), (3, 1, 1, 3)):
        with pytest.raises(CanonError, match="An image is too small: the network needs at least 7 rows and 11 columns"):
            servable.predict(np.zeros(shape, "float32"))
    with serving.Server(tmp_path, port=0, quiet=True) as server:
        reply = asked(server, (1, 6, 11, 3))
        assert reply.status_code == 400
        assert "7 rows and 11 columns" in reply.json()["error"]
        assert asked(server, (1, 7, 11, 3)).status_code == 200


@pytest.mark.parametrize(("model", "wanted"), [(network("same"), None), (network(height=20), (1, 11))])
def test_only_open_axes_that_can_be_too_short_are_looked_at(model, wanted, tmp_path):
    servable = serving.load(serving.export(model, tmp_path / "net").path)
    if wanted is None:
        assert servable.predict(np.zeros((1, 1, 1, 3), "float32"))["logits"].shape == (1, 2)
    else:
        with pytest.raises(CanonError, match="at least 1 rows and 11 columns"):
            servable.predict(np.zeros((1, 20, 10, 3), "float32"))


@pytest.mark.slow
def test_the_size_is_that_of_the_builder(tmp_path):
    model = zoo.create("squeezenet1_1", num_classes=2, input_shape=(None, None, 3))
    servable = serving.load(serving.export(model, tmp_path / "net").path)
    assert servable.predict(np.zeros((1, 17, 17, 3), "float32"))["logits"].shape == (1, 2)
    with pytest.raises(CanonError, match="at least 17 rows and 17 columns"):
        servable.predict(np.zeros((1, 16, 17, 3), "float32"))
