import numpy as np
import pytest

from keras_canon.layers import EnsembleAverage


def softmax(logits):
    powers = np.exp(logits - logits.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def test_softmax_of_the_output_is_the_average_of_the_softmaxes():
    logits = [np.random.RandomState(seed).standard_normal((3, 4)).astype("float32") * 5 for seed in range(5)]
    found = np.asarray(EnsembleAverage()(logits))
    np.testing.assert_allclose(softmax(found), np.mean([softmax(one) for one in logits], 0), atol=1e-6)
    np.testing.assert_allclose(np.exp(found).sum(-1), 1, atol=1e-5)


def test_far_logits_stay_finite():
    found = np.asarray(EnsembleAverage()([np.float32([[1000, 0]]), np.float32([[900, 0]])]))
    np.testing.assert_allclose(found, [[0, np.logaddexp(-1000, -900) - np.log(2)]], rtol=1e-6, atol=1e-6)


def test_bad_inputs():
    one = np.ones((2, 3), "float32")
    for inputs in (one, [one], [one, one[:, :2]]):
        with pytest.raises(ValueError, match="EnsembleAverage expects a list of at least 2 logits of one shape"):
            EnsembleAverage()(inputs)
