"""Buckets, padding, and that padding changes nothing."""

import numpy as np
import pytest

from keras_canon import zoo
from keras_canon.training.data.sequences import Ragged, SequenceSplit
from keras_canon.training.pipeline import epoch_order
from keras_canon.training.sequence_losses import SequenceCrossEntropy, token_accuracy
from keras_canon.training.sequence_pipeline import bucketed, in_order, sequence_reader

LENGTHS = np.random.default_rng(1).integers(1, 40, size=203)


def ragged():
    generator = np.random.default_rng(2)
    rows = [generator.integers(1, 11, size=length) for length in LENGTHS]
    return SequenceSplit("train", {"token_ids": Ragged.of(rows)}, Ragged.of([row[::-1] for row in rows]), LENGTHS)


def test_rows_of_various_lengths_are_kept():
    rows = Ragged.of([[1, 2], [], [3]])
    assert [row.tolist() for row in rows] == [[1, 2], [], [3]]
    assert len(rows) == 3
    assert rows.lengths.tolist() == [2, 0, 1]
    assert [row.tolist() for row in rows.rows(np.array([2, 0]))] == [[3], [1, 2]]
    assert len(Ragged.of([])) == 0


def test_a_bucketed_epoch_holds_every_example_once():
    order = bucketed(epoch_order(203, 0, 0), LENGTHS, 10, 0, 0)
    assert sorted(order) == list(range(203))
    assert set(order[200:]) == set(epoch_order(203, 0, 0)[200:])
    spread = [np.ptp(LENGTHS[order[start : start + 10]]) for start in range(0, 200, 10)]
    plain = epoch_order(203, 0, 0)
    assert np.mean(spread) < 0.2 * np.mean([np.ptp(LENGTHS[plain[start : start + 10]]) for start in range(0, 200, 10)])


def test_a_bucketed_epoch_is_decided_by_seed_and_epoch():
    orders = [bucketed(epoch_order(203, seed, epoch), LENGTHS, 10, seed, epoch) for seed, epoch in ((0, 0), (0, 0), (0, 1), (1, 0))]
    assert (orders[0] == orders[1]).all()
    assert (orders[0] != orders[2]).any()
    assert (orders[0] != orders[3]).any()
    # batches are not in the order of their lengths
    means = [LENGTHS[orders[0][start : start + 10]].mean() for start in range(0, 200, 10)]
    assert means != sorted(means)


def test_sequences_of_one_length_keep_their_order():
    order = epoch_order(50, 0, 0)
    np.testing.assert_array_equal(bucketed(order, np.full(50, 7), 8, 0, 0), order)


def test_batches_are_padded_to_the_bucket():
    split = ragged()
    order = bucketed(epoch_order(203, 0, 0), LENGTHS, 16, 0, 0)
    start = 0
    for ids, labels in sequence_reader(split, 16)(order):
        positions = order[start : start + 16]
        start += 16
        longest = LENGTHS[positions].max()
        assert ids.shape == labels.shape == (len(positions), -(-longest // 8) * 8)
        for row, position in zip(np.asarray(ids), positions, strict=True):
            np.testing.assert_array_equal(row[: LENGTHS[position]], split.inputs["token_ids"][position])
            assert not row[LENGTHS[position] :].any()


def test_an_epoch_can_be_entered_in_its_middle():
    read, order = sequence_reader(ragged(), 16), bucketed(epoch_order(203, 0, 0), LENGTHS, 16, 0, 0)
    whole, rest = list(read(order))[3:], list(read(order[48:]))
    assert len(whole) == len(rest)
    for (ids, labels), (others, more) in zip(whole, rest, strict=True):
        np.testing.assert_array_equal(ids, others)
        np.testing.assert_array_equal(labels, more)


def test_stored_padding_is_cut_off():
    values = np.zeros((4, 30, 2), "float32")
    lengths = np.array([3, 9, 2, 30])
    for row, length in enumerate(lengths):
        values[row, :length] = row + 1.0
    split = SequenceSplit("train", {"sequences": values}, np.arange(4), lengths)
    shapes = [inputs.shape[1] for inputs, _ in sequence_reader(split, 1)(None)]
    assert shapes == [8, 16, 8, 30]
    assert [inputs.shape[1] for inputs, _ in sequence_reader(split, 1, bucket=1)(None)] == [3, 9, 2, 30]


def test_in_order_gives_every_position():
    found = np.concatenate([positions for positions, _, _ in in_order(ragged(), 32)])
    assert sorted(found) == list(range(203))


@pytest.mark.parametrize("name", ["lstm_classifier", pytest.param("char_rnn", marks=pytest.mark.slow)])
def test_the_bucket_changes_no_loss(name):
    if name == "lstm_classifier":
        overrides = {"vocabulary_size": 11, "embedding_dim": 6, "units": [7], "output": "every_step"}
        model = zoo.create(name, num_classes=11, input_shape=(None,), overrides=overrides)
    else:
        name = next(row for row in zoo.list_models() if zoo.info(row).family == "char_rnn")
        model = zoo.create(name, overrides={"vocabulary_size": 11, "embedding_dim": 6, "units": [7]})
    loss, found = SequenceCrossEntropy(reduction="none"), []
    for bucket in (1, 64):
        rows = [
            (loss(labels, model(ids)), token_accuracy(labels, model(ids))) for ids, labels in sequence_reader(ragged(), 32, bucket)(None)
        ]
        found.append(np.concatenate([np.stack(row) for row in rows], axis=1))
    np.testing.assert_allclose(found[0], found[1], atol=1e-6)
