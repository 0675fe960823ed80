"""Figures by class, by hand, and data that do not fit the model."""

import numpy as np
import pytest

from keras_canon import training, zoo
from keras_canon.training.evaluation import Evaluation
from keras_canon.zoo.errors import CanonError


def test_figures_by_hand():
    truth, predicted = np.array([0, 0, 0, 1, 1]), np.array([0, 0, 1, 1, 0])
    result = Evaluation("d", "test", ("a", "b", "never"), truth, predicted, np.array([0.9, 0.8, 0.6, 0.7, 0.95]), 0.5)
    assert result.accuracy == 0.6
    np.testing.assert_array_equal(result.confusion, [[2, 1, 0], [1, 1, 0], [0, 0, 0]])
    np.testing.assert_array_equal(result.mistakes, [4, 2])
    a, b, never = result.by_class()
    np.testing.assert_allclose([a.precision, a.recall, a.f1], [2 / 3] * 3)
    np.testing.assert_allclose([b.precision, b.recall, b.f1], [1 / 2] * 3)
    assert never.examples == 0
    assert np.isnan([never.precision, never.recall, never.f1]).all()
    np.testing.assert_allclose(result.metrics()["macro_f1"], (2 / 3 + 1 / 2) / 2)


def test_a_model_that_knows_nothing_scores_the_logarithm_of_its_classes():
    model = zoo.create("lenet5_modern", num_classes=4)
    model.set_weights([np.zeros_like(weight) for weight in model.get_weights()])
    result = training.evaluate(model, "synthetic:classes=4,size=8,channels=1,examples=80", "validation", batch_size=3)
    np.testing.assert_allclose(result.cross_entropy, np.log(4.0), rtol=1e-6)
    assert len(result.truth) == len(result.predicted) == len(result.confidence)


def test_data_that_do_not_fit():
    model = zoo.create("lenet5_modern", num_classes=4)
    data = "synthetic:classes=3,size=8,channels=1,examples=80"
    with pytest.raises(CanonError, match=r"4 classes.*3 classes"):
        training.evaluate(model, data)
    with pytest.raises(CanonError, match=r"no split 'tset'.*'test'"):
        training.evaluate(model, data.replace("=3", "=4"), "tset")
    with pytest.raises(CanonError, match="No data set was named"):
        training.evaluate(model)
    model.update_record(labels=["north", "east", "south", "west"])
    with pytest.raises(CanonError, match="north"):
        training.evaluate(model, data.replace("=3", "=4"))
