"""Models and bundles that the serving tests share; each is built and exported once."""

from pathlib import Path

import keras
import numpy as np
import pytest
from checks.serving import LABELS, pair_model

from keras_canon import serving, zoo


@pytest.fixture(scope="session")
def lenet5() -> zoo.Model:
    keras.utils.set_random_seed(0)
    model = zoo.create("lenet5")
    model.update_record(labels=LABELS)
    return model


@pytest.fixture(scope="session")
def models(tmp_path_factory, lenet5) -> Path:
    """A folder of models: lenet5 in two versions, one with named inputs and outputs, one whose output can be NaN."""
    folder = tmp_path_factory.mktemp("models")
    serving.export(lenet5, folder / "lenet5")
    serving.export(lenet5, folder / "lenet5")
    serving.export(pair_model(), folder / "pair")
    point = keras.Input((3,), name="point")
    serving.export(keras.Model(point, keras.layers.Activation(keras.ops.log, name="log")(point)), folder / "log")
    return folder


@pytest.fixture(scope="session")
def servable(models) -> serving.Servable:
    return serving.load(models / "lenet5")


@pytest.fixture(scope="session")
def server(models):
    with serving.Server(models, port=0, grpc_port=0, limits=serving.Limits(max_body_mb=1), quiet=True) as running:
        yield running


@pytest.fixture(scope="session")
def url(server) -> str:
    return server.url + "/v1/models"


@pytest.fixture
def images() -> np.ndarray:
    return np.random.default_rng(3).normal(size=(5, 32, 32, 1)).astype("float32")
