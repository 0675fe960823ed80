"""The benchmark of the character models runs: both are the same model, and the table has what is asked."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from keras_canon import zoo

SPEC = importlib.util.spec_from_file_location("recurrent_benchmark", Path(__file__).parents[2] / "benchmarks" / "recurrent.py")
recurrent = sys.modules[SPEC.name] = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(recurrent)


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_both_decode_the_same(kind):
    model = recurrent.ours(kind, recurrent.SMALL)
    other = recurrent.peer(kind, recurrent.SMALL, model)
    ids = tf.constant([[5, 9, 2, 7]])
    np.testing.assert_allclose(model(ids), other(ids), atol=1e-6)
    mine, others = recurrent.decode(zoo.step_model(model)), recurrent.decode(recurrent.peer_step(kind, other))
    for _ in range(3):  # states go on alike
        np.testing.assert_allclose(mine(), others(), atol=1e-6)
    # the character that both read is 1
    np.testing.assert_allclose(mine()[0, 0], model(tf.ones((1, 4), "int32"))[0, 3], atol=1e-6)


@pytest.mark.slow
def test_it_runs_small():
    rows = recurrent.measure("gru", recurrent.SMALL, 2)
    assert [row["least"] for row in rows] == [1.3, None, None]
    assert len(recurrent.report(rows, 2).table()) == 5
