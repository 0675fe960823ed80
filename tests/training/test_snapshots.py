"""Snapshots at the ends of cycles, and the mean of their answers."""

import keras
import numpy as np
import pytest

from keras_canon.training.snapshots import Snapshots, cycle_ends, ensemble_probabilities
from keras_canon.zoo.errors import CanonError


def network():
    return keras.Sequential([keras.Input((3,)), keras.layers.Dense(4)])


@pytest.mark.parametrize(
    ("arguments", "ends"),
    [((2.0, 1, 6), (1, 3, 5)), ((2.0, 1, 7), (1, 3, 5)), ((1.0, 2, 7), (0, 2, 6)), ((2.0, 1, 5, 1.0), (2, 4))],
)
def test_cycles_end_with_epochs(arguments, ends):
    assert cycle_ends(*arguments) == ends


@pytest.mark.parametrize(
    ("arguments", "match"), [((1.5, 1, 6), "whole epochs"), ((2.0, 1, 6, 0.5), "whole epochs"), ((8.0, 1, 6), "No cycle")]
)
def test_cycles_that_do_not_fit_are_refused(arguments, match):
    with pytest.raises(CanonError, match=match):
        cycle_ends(*arguments)


def test_an_ensemble_is_the_mean_of_the_snapshots_answers(tmp_path):
    model, snapshots, expected = network(), Snapshots(tmp_path / "snapshots", (0, 2)), []
    snapshots.set_model(model)
    images, random = np.random.default_rng(0).normal(size=(5, 3)).astype("float32"), np.random.default_rng(1)
    for epoch in range(4):
        model.set_weights([random.normal(size=weight.shape) for weight in model.get_weights()])
        snapshots.on_epoch_end(epoch)
        if epoch in (0, 2):
            expected.append(keras.ops.convert_to_numpy(keras.ops.softmax(model(images))))
    assert sorted(path.name for path in (tmp_path / "snapshots").iterdir()) == ["snapshot_01.weights.h5", "snapshot_02.weights.h5"]
    own = model.get_weights()
    np.testing.assert_allclose(ensemble_probabilities(model, tmp_path / "snapshots", images), np.mean(expected, axis=0), rtol=1e-5)
    np.testing.assert_allclose(ensemble_probabilities(model, tmp_path / "snapshots", images, last=1), expected[1], rtol=1e-5)
    for one, other in zip(own, model.get_weights(), strict=True):
        np.testing.assert_array_equal(one, other)
    with pytest.raises(CanonError, match="no snapshots"):
        ensemble_probabilities(model, tmp_path, images)
