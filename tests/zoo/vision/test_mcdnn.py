"""The multi-column network against its notation, 1x29x29-20C4-MP2-40C5-MP3-150N-10N, and its averaging."""

import numpy as np
import pytest

from keras_canon import zoo

TWO = {"columns": 2}


def softmax(logits):
    powers = np.exp(logits - logits.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def test_column_layers():
    model = zoo.create("mcdnn_column")
    shapes = {name: model.get_layer(name).output.shape[1:] for name in ("conv1", "pool1", "conv2", "pool2", "fc3", "logits")}
    maps = {"conv1": (26, 26, 20), "pool1": (13, 13, 20), "conv2": (9, 9, 40), "pool2": (3, 3, 40)}
    assert shapes == {**maps, "fc3": (150,), "logits": (10,)}
    assert [model.get_layer(name).count_params() for name in ("conv1", "conv2", "fc3", "logits")] == [340, 20_040, 54_150, 1_510]
    kernel = np.asarray(model.get_layer("conv2").kernel)
    assert 0.049 < np.abs(kernel).max() <= 0.05
    a = np.linspace(-2, 2, 5).astype("float32")
    np.testing.assert_allclose(np.asarray(model.get_layer("fc3").activation(a)), 1.7159 * np.tanh(2 * a / 3), rtol=1e-5)


def test_thirty_five_columns():
    assert zoo.info("mcdnn").trainable_parameters == 35 * zoo.info("mcdnn_column").trainable_parameters
    model = zoo.create("mcdnn")
    assert sum(layer.name.startswith("column") for layer in model.layers) == 35
    paths = [weight.path for weight in model.weights]
    assert len(paths) == len(set(paths)) == 35 * 8, "columns must not share names"


def test_trained_columns_are_put_together_and_averaged():
    columns = [zoo.create("mcdnn_column"), zoo.create("mcdnn_column")]
    ensemble = zoo.create("mcdnn", overrides=TWO)
    arrays = {f"column{index}_{weight.path}": weight for index, column in enumerate(columns, start=1) for weight in column.weights}
    report = zoo.load_weights(ensemble, arrays, format="canon")
    assert len(report.loaded) == 16
    images = np.random.RandomState(0).uniform(-1, 1, (3, 29, 29, 1)).astype("float32")
    average = np.mean([softmax(np.asarray(column(images))) for column in columns], 0)
    np.testing.assert_allclose(softmax(np.asarray(ensemble(images))), average, atol=1e-6)
    assert not np.allclose(np.asarray(columns[0](images)), np.asarray(columns[1](images)))


def test_one_column_alone():
    ensemble = zoo.create("mcdnn", overrides=TWO)
    column = zoo.create("mcdnn_column")
    arrays = {f"column1_{weight.path}": weight for weight in column.weights}
    report = zoo.load_weights(ensemble, arrays, format="canon", strict=False)
    assert len(report.loaded) == len(report.missing) == 8
    images = np.zeros((1, 29, 29, 1), "float32")
    np.testing.assert_array_equal(np.asarray(ensemble.get_layer("column1")(images)), np.asarray(column(images)))


def test_without_a_head():
    assert zoo.create("mcdnn_column", num_classes=0).output.shape == (None, 150)
    assert zoo.create("mcdnn", num_classes=0, overrides=TWO).output.shape == (None, 300)


def test_refusals():
    with pytest.raises(zoo.CanonError, match=r"mcdnn.*columns must be at least 2, got 1"):
        zoo.create("mcdnn", overrides={"columns": 1})
    with pytest.raises(zoo.CanonError, match=r"mcdnn_column.*at least 17 x 17"):
        zoo.create("mcdnn_column", input_shape=(16, 16, 1))
    with pytest.raises(zoo.CanonError, match=r"mcdnn.*must name height and width"):
        zoo.create("mcdnn", input_shape=(None, None, 1), overrides=TWO)
    with pytest.raises(zoo.CanonError, match="'mcdnn' has no pooled features before its head"):
        zoo.replace_head(zoo.create("mcdnn", overrides=TWO), num_classes=3)


def test_digits_lie_in_a_field_of_29():
    digit = np.full((1, 28, 28, 1), 255, "uint8")
    field = np.asarray(zoo.preprocess(digit, zoo.create("mcdnn_column")))
    assert field.shape == (1, 29, 29, 1)
    assert sorted(np.unique(field).tolist()) == [-1.0, 1.0]
    assert (field == 1).sum() == 28 * 28
