import numpy as np
import pytest
import tensorflow as tf

from keras_canon.layers.step_positions import step_positions


def test_positions():
    assert step_positions(3).numpy().tolist() == [0, 1, 2]
    assert step_positions(2, 5).numpy().tolist() == [5, 6]
    assert step_positions(tf.constant(2), tf.constant(5)).numpy().tolist() == [5, 6]
    assert step_positions(2, np.asarray([0, 4])).numpy().tolist() == [[0, 1], [4, 5]]


def test_bad_offsets():
    with pytest.raises(ValueError, match="offset must be at least 0, got -1"):
        step_positions(2, -1)
    with pytest.raises(ValueError, match=r"offset must be an integer or have shape \(batch,\), got shape \(1, 2\)"):
        step_positions(2, np.zeros((1, 2), "int32"))
