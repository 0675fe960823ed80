"""Packed rows: every id once, with the label that follows it in its own document."""

import numpy as np
import pytest

from keras_canon.training.data import pack
from keras_canon.zoo import CanonError


@pytest.mark.parametrize("end_id", [None, 3])
@pytest.mark.parametrize("length", [2, 7, 16])
def test_every_document_is_there_once(length, end_id):
    draw = np.random.default_rng(length)
    documents = [(1000 * number + np.arange(4, 5 + draw.integers(20))).tolist() for number in range(60)]
    rows = pack(documents, length, end_id=end_id)
    found = []
    for ids, numbers, labels in zip(rows.token_ids, rows.document_ids, rows.labels, strict=True):
        real = numbers[numbers > 0]
        assert (np.diff(real) >= 0).all(), "documents stand side by side, then the filling"
        assert set(real) == set(range(1, real.max() + 1))
        assert not ids[len(real) :].any()
        assert (labels[len(real) :] == -1).all()
        found += [(ids[numbers == number].tolist(), labels[numbers == number].tolist()) for number in range(1, real.max() + 1)]
    pieces = []
    for document in documents:
        following = [*document[1:], end_id or -1]
        pieces += [(document[start : start + length], following[start : start + length]) for start in range(0, len(document), length)]
    assert sorted(found) == sorted(pieces)
    assert len(rows) < len(pieces)
    assert rows.filled == pytest.approx(sum(map(len, documents)) / (len(rows) * length))


def test_the_id_0_is_a_label_and_no_label_is_none():
    assert pack([[5, 0, 6], [0]], 4, end_id=1).labels.tolist() == [[0, 6, 1, 1]]
    assert pack([[5, 0, 6], [0]], 5).labels.tolist() == [[0, 6, -1, -1, -1]]
    assert pack([[5, 0], [0]], 2, end_id=0).labels.tolist() == [[0, 0], [0, -1]]


def test_little_is_left_empty():
    draw = np.random.default_rng(0)
    rows = pack([[5] * int(size) for size in draw.integers(1, 60, 2000)], 64)
    assert rows.filled > 0.98


@pytest.mark.parametrize(
    ("documents", "length", "message"),
    [([], 4, "at least one document"), ([[1], []], 4, "none may be empty"), ([[1]], 1, "must be at least 2, got 1")],
)
def test_what_cannot_be_packed(documents, length, message):
    with pytest.raises(CanonError, match=message):
        pack(documents, length)
