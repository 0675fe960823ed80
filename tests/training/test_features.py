"""Features in a file, and what a linear probe and nearest neighbours make of them."""

import keras
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from typer.testing import CliRunner

from keras_canon import training, zoo
from keras_canon.cli.main import app
from keras_canon.training.data import load
from keras_canon.zoo.errors import CanonError

DATA = "synthetic:classes=4,size=12,channels=1,examples=200"


@pytest.fixture(scope="module")
def model():
    keras.utils.set_random_seed(0)
    return zoo.create("lenet5_modern", num_classes=4)


@pytest.fixture(scope="module")
def features(model):
    return training.extract_features(model, DATA)


def test_values_are_what_enters_the_head(model, features):
    data = load(DATA)
    inner = keras.Model(model.input, model.get_layer("logits").input)
    for name, split in data.splits.items():
        images = np.stack([zoo.preprocess(split.image(position), model)[0] for position in range(3)])
        np.testing.assert_allclose(features.values[name][:3], inner(images), atol=1e-5)
        np.testing.assert_array_equal(features.labels[name], split.labels)
        assert features.values[name].shape == (len(split), 84)


def test_file_and_back(features, tmp_path):
    again = training.load_features(features.save(tmp_path / "new" / "x.npz"))
    assert (again.model, again.data, again.class_names) == ("lenet5_modern", DATA, features.class_names)
    for name in ("train", "validation", "test"):
        np.testing.assert_array_equal(again.values[name], features.values[name])
        np.testing.assert_array_equal(again.ids[name], features.ids[name])
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["x.npz"]


def test_probes_learn_what_a_random_network_lets_through(features):
    linear, nearest = training.linear_probe(features), training.nearest_neighbours(features)
    assert linear.test_accuracy >= 0.9
    assert nearest.test_accuracy >= 0.8
    assert linear.setting in (1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0)
    values, labels = features.values["train"], features.labels["train"]
    mean, deviation = values.mean(0), values.std(0)
    deviation[deviation == 0] = 1
    by_hand = LogisticRegression(C=linear.setting, max_iter=2000).fit((values - mean) / deviation, labels)
    np.testing.assert_array_equal(by_hand.predict((features.values["test"] - mean) / deviation), linear.predicted)


def test_nearest_neighbour_by_hand(features):
    found = training.nearest_neighbours(features, [1])
    unit = {name: values / np.linalg.norm(values, axis=1, keepdims=True) for name, values in features.values.items()}
    np.testing.assert_array_equal(found.predicted, features.labels["train"][(unit["test"] @ unit["train"].T).argmax(1)])


@pytest.mark.parametrize(
    ("name", "layer", "options", "dimensions"),
    [
        ("resnet20", None, {"input_shape": (16, 16, 1)}, 64),
        pytest.param("resnet20", "stage2", {"input_shape": (16, 16, 1)}, 32, marks=pytest.mark.slow),
        pytest.param("squeezenet1_1", None, {"input_shape": (48, 48, 1)}, 512, marks=pytest.mark.slow),
        ("lenet5_modern", None, {"num_classes": 0}, 84),
    ],
)
def test_kinds_of_heads_and_named_maps(name, layer, options, dimensions):
    found = training.extract_features(zoo.create(name, **{"num_classes": 4, **options}), f"{DATA}[per_class=2]", layer=layer)
    assert found.dimensions == dimensions
    assert all(np.isfinite(values).all() for values in found.values.values())


def test_files_that_are_none(tmp_path, features):
    (tmp_path / "x.npz").write_bytes(b"no")
    np.savez(tmp_path / "y.npz", a=1)
    for path, message in (("x.npz", "is no file of features"), ("y.npz", "is no file of features"), ("z.npz", "There is no file")):
        with pytest.raises(zoo.CanonError, match=message):
            training.load_features(tmp_path / path)
    with pytest.raises(zoo.CanonError, match=r"ends in \.npz"):
        features.save(tmp_path / "x.txt")


def test_command(model, tmp_path):
    model.save(tmp_path / "model.keras")
    out = tmp_path / "x.npz"
    found = CliRunner().invoke(app, ["features", str(tmp_path / "model.keras"), "--data", DATA, "--out", str(out), "--probe"])
    assert found.exit_code == 0, found.output
    assert "84 numbers" in found.output
    assert "linear probe" in found.output
    assert training.load_features(out).dimensions == 84
    refused = CliRunner().invoke(app, ["features", "lenet5", "--data", DATA, "--out", str(out)])
    assert isinstance(refused.exception, zoo.CanonError)
    assert "random weights" in str(refused.exception)


def test_a_file_that_was_cut_off(tmp_path):
    np.savez(tmp_path / "features.npz", model="x")
    (tmp_path / "features.npz").write_bytes((tmp_path / "features.npz").read_bytes()[:-30])
    with pytest.raises(CanonError, match="no file of features"):
        training.load_features(tmp_path / "features.npz")
