"""Masked pieces: how many, what takes their place, and that seed and epoch alone decide."""

import numpy as np
import pytest

from keras_canon.training.data.masking import SHARE, Masking
from keras_canon.training.data.sequences import Ragged, SequenceDataset, SequenceSplit
from keras_canon.training.pipeline import epoch_order
from keras_canon.training.sequence_pipeline import bucketed, in_order, sequence_reader

MASK, FIRST, PIECES = 4, 5, 1000
MASKING = Masking(MASK, FIRST, PIECES)


def split(number=2000, name="train"):
    generator = np.random.default_rng(1)
    ids = Ragged.of([[2, *generator.integers(FIRST, PIECES, size=length), 1, 3] for length in generator.integers(1, 60, size=number)])
    segments = Ragged(np.zeros_like(ids.values), ids.starts)
    return SequenceSplit(name, {"token_ids": ids, "segment_ids": segments}, ids, ids.lengths, MASKING)


def test_the_shares_are_those_of_the_paper():
    plain, masked = split(), split().masked(seed=3, epoch=1)
    ids, found, labels = plain.labels.values, masked.inputs["token_ids"].values, masked.labels.values
    chosen = labels > 0
    np.testing.assert_array_equal(labels[chosen], ids[chosen])
    np.testing.assert_array_equal(found[~chosen], ids[~chosen])
    number = chosen.sum()
    assert number > 8000
    assert np.mean(found[chosen] == MASK) == pytest.approx(0.8, abs=0.015)
    # a random piece is by chance the right one once in a thousand
    assert np.mean(found[chosen] == ids[chosen]) == pytest.approx(0.1, abs=0.012)
    others = found[chosen & (found != MASK) & (found != ids)]
    assert len(others) / number == pytest.approx(0.1, abs=0.012)
    assert others.min() >= FIRST
    assert len(np.unique(others)) > 400
    for place in range(len(plain)):
        asked, pieces = np.count_nonzero(masked.labels[place]), plain.lengths[place] - 3
        assert asked == max(1, round(SHARE * pieces))


def test_special_tokens_are_neither_asked_for_nor_changed():
    plain = split()
    special = plain.labels.values < FIRST
    for epoch in range(5):
        masked = plain.masked(epoch=epoch)
        assert not masked.labels.values[special].any()
        np.testing.assert_array_equal(masked.inputs["token_ids"].values[special], plain.labels.values[special])


def test_a_sequence_of_special_tokens_alone_is_left_as_it_is():
    ids = Ragged.of([[2, 3], [], [2, 9, 3]])
    masked, labels = MASKING.draw(ids.values, ids.starts, 0, 0)
    assert labels.tolist() == [0, 0, 0, 9, 0]
    assert masked[[0, 1, 2, 4]].tolist() == [2, 3, 2, 3]


def test_seed_and_epoch_decide_and_every_place_is_reached():
    plain = split(200)
    first, again, later, other = (plain.masked(*draw).labels.values for draw in ((0, 0), (0, 0), (0, 1), (1, 0)))
    np.testing.assert_array_equal(first, again)
    for values in (later, other):
        assert 0.1 < np.mean((values > 0)[first > 0]) < 0.25  # as often as by chance
    reached = sum((plain.masked(0, epoch).labels.values > 0).astype(int) for epoch in range(60))
    assert (reached[plain.labels.values >= FIRST] > 0).all()


def batches(read, order, epoch):
    return [(inputs["token_ids"].numpy(), labels.numpy()) for inputs, labels in read(order, epoch)]


def test_an_epoch_that_goes_on_repeats_bit_for_bit():
    plain = split(100)
    read, order = sequence_reader(plain, 16, seed=7), bucketed(epoch_order(100, 7, 3), plain.lengths, 16, 7, 3)
    whole, rest = batches(read, order, 3)[2:], batches(sequence_reader(plain, 16, seed=7), order[32:], 3)
    assert len(whole) == len(rest) == 5
    for one, two in zip(whole, rest, strict=True):
        np.testing.assert_array_equal(one[0], two[0])
        np.testing.assert_array_equal(one[1], two[1])
    assert any((one[0] != two[0]).any() for one, two in zip(whole, batches(read, order, 4)[2:], strict=True))


def test_the_parts_of_a_split_are_masked_and_held_out_ones_always_alike():
    held_out = split(100).part("validation", np.arange(20, 60))
    rounds = [[labels.numpy() for _, _, labels in in_order(held_out, 8)] for _ in range(2)]
    for one, two in zip(*rounds, strict=True):
        np.testing.assert_array_equal(one, two)
    asked = sum(np.count_nonzero(labels) for labels in rounds[0])
    assert 0 < asked < 0.3 * held_out.lengths.sum()


def test_what_is_not_masked_is_read_as_it_is():
    ids = Ragged.of([[2, 9, 3]])
    plain = SequenceSplit("train", {"token_ids": ids}, np.array([1]), ids.lengths)
    assert plain.masked(0, 1) is plain
    assert SequenceDataset("some", "classes", ("a", "b"), (None,), plain, plain, plain, {}).tokenizer is None
