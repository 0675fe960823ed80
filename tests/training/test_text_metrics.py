"""Figures of text against values counted by hand."""

import math

import pytest

from keras_canon.training.text_metrics import bits, bleu, character_error_rate, edit_distance, exact_match, perplexity, word_error_rate
from keras_canon.zoo import CanonError


@pytest.mark.parametrize(
    ("truth", "said", "edits"),
    [("kitten", "sitting", 3), ("", "abc", 3), ("abc", "", 3), ("abc", "abc", 0), ("flaw", "lawn", 2), ("ab", "ba", 2)],
)
def test_edits_are_counted(truth, said, edits):
    assert edit_distance(truth, said) == edits == edit_distance(said, truth)


def test_error_rates_are_edits_by_length_of_the_right_texts():
    truth, said = ["the cat sat", "on"], ["the cat", "an on"]
    assert character_error_rate(truth, said) == (4 + 3) / 13
    assert word_error_rate(truth, said) == (1 + 1) / 4
    assert character_error_rate(["a"], ["bcd"]) == 3.0


def test_exact_match_is_a_share():
    assert exact_match(["a", "b", "c", "d"], ["a", "b", "c", "e"]) == 0.75


def test_perplexity_and_bits():
    assert perplexity(math.log(7.0)) == pytest.approx(7.0)
    assert bits(math.log(8.0)) == pytest.approx(3.0)
    assert math.isfinite(perplexity(1e6))


@pytest.mark.parametrize(("truth", "said"), [([], []), (["a"], []), ([""], ["a"])])
def test_nothing_to_compare_with_is_refused(truth, said):
    with pytest.raises(CanonError, match="at least one"):
        character_error_rate(truth, said)


def test_bleu_of_a_corpus():
    truth = ["the cat sat on the mat today"]
    assert bleu(truth, truth) == pytest.approx(100.0)
    # of 7 words 6 are right, of 6 pairs 4, of 5 triples 2, of 4 quadruples 1; no penalty for brevity
    expected = 100.0 * (6 / 7 * 4 / 6 * 2 / 5 * 1 / 4) ** 0.25
    assert bleu(truth, ["the cat sat on a mat today"]) == pytest.approx(expected)


def test_bleu_without_sacrebleu_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "sacrebleu", None)
    with pytest.raises(CanonError, match=r"install keras-canon\[text\]"):
        bleu(["a"], ["a"])
