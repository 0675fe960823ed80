"""The language model of symbols, by hand and in a beam search."""

import numpy as np
import pytest

from keras_canon import layers, zoo
from keras_canon.zoo.character_model import NGramScore


def test_probabilities_by_hand():
    score = NGramScore([[1, 2, 1, 3]], num_classes=4, order=2)
    # without history: counts 2, 1, 1 of 4; three different ones; all alike before that
    alone = (np.array([0, 2, 1, 1]) + 3 * np.array([0, 1, 1, 1]) / 3) / 7
    np.testing.assert_allclose(score.probabilities(()), alone)
    # after 1 come 2 and 3, once each
    np.testing.assert_allclose(score.probabilities((2, 1)), (np.array([0, 0, 1, 1]) + 2 * alone) / 4)
    # 3 was never followed
    np.testing.assert_allclose(score.probabilities((3,)), alone)
    assert score.probabilities((1,)).sum() == pytest.approx(1.0)


def test_it_decides_between_likely_labels():
    logits = np.log([[[0.02, 0.96, 0.01, 0.01], [0.02, 0.02, 0.47, 0.49]]])
    assert layers.ctc_beam_decode(logits).labels[0, 0].tolist() == [1, 3]
    score = NGramScore([[1, 2] * 20, [3, 3]], num_classes=4, order=3, weight=1.0)
    assert layers.ctc_beam_decode(logits, score=score).labels[0, 0].tolist() == [1, 2]
    assert np.isneginf(score(())[0])


@pytest.mark.parametrize(("texts", "order"), [([[0, 1]], 2), ([[4]], 2), ([[1]], 0)])
def test_errors(texts, order):
    with pytest.raises(zoo.CanonError):
        NGramScore(texts, num_classes=4, order=order)
