"""Figures of text against references: error rates, exact match, BLEU, perplexity."""

import math
from collections.abc import Hashable, Sequence

import numpy as np

from ..zoo.errors import CanonError


def edit_distance(truth: Sequence[Hashable], said: Sequence[Hashable]) -> int:
    """Return the fewest insertions, deletions and replacements that make one sequence of the other.

    Args:
        truth, said: the sequences, of anything that can be compared.

    Reference:
        Levenshtein, 1966, "Binary codes capable of correcting deletions, insertions and reversals", Soviet Physics Doklady 10(8).

    Example:
        >>> from keras_canon.training.text_metrics import edit_distance
        >>> edit_distance("kitten", "sitting")
        3
    """
    before = list(range(len(said) + 1))
    for row, symbol in enumerate(truth, start=1):
        line = [row]
        for column, other in enumerate(said, start=1):
            line.append(min(before[column] + 1, line[-1] + 1, before[column - 1] + (symbol != other)))
        before = line
    return before[-1]


def character_error_rate(truth: Sequence[str], said: Sequence[str]) -> float:
    """Return the edits of all texts by character, as a share of the characters of the right ones; it may pass 1.

    Args:
        truth: the right texts.
        said: what was said for each.

    Raises:
        CanonError: for lists of different lengths, or right texts without any character.
    """
    return _rate(_checked(truth, said))


def word_error_rate(truth: Sequence[str], said: Sequence[str]) -> float:
    """Return the edits of all texts by word, as a share of the words of the right ones; words are cut at white space.

    Args:
        truth: the right texts.
        said: what was said for each.

    Raises:
        CanonError: for lists of different lengths, or right texts without any word.
    """
    return _rate([(right.split(), other.split()) for right, other in _checked(truth, said)])


def exact_match(truth: Sequence[str], said: Sequence[str]) -> float:
    """Return the share of texts that are right to the last character.

    Args:
        truth: the right texts.
        said: what was said for each.

    Raises:
        CanonError: for lists of different lengths, or empty ones.
    """
    return float(np.mean([right == other for right, other in _checked(truth, said)]))


def bleu(truth: Sequence[str], said: Sequence[str]) -> float:
    """Return the BLEU of a corpus with one reference each, from 0 to 100, as sacrebleu computes it.

    Args:
        truth: the right texts.
        said: what was said for each.

    Raises:
        CanonError: for lists of different lengths, or where sacrebleu is not installed.

    Reference:
        Papineni, Roukos, Ward, Zhu, 2002, "BLEU: a method for automatic evaluation of machine translation"; Post, 2018, "A call for
        clarity in reporting BLEU scores", arXiv:1804.08771.
    """
    try:
        import sacrebleu
    except ImportError as error:
        raise CanonError("BLEU needs the package sacrebleu: install keras-canon[text].") from error
    pairs = _checked(truth, said)
    return float(sacrebleu.corpus_bleu([other for _, other in pairs], [[right for right, _ in pairs]]).score)


def perplexity(cross_entropy: float) -> float:
    """Return e to the cross-entropy a token in nats: among how many tokens a model hesitates."""
    return math.exp(min(cross_entropy, 700.0))


def bits(cross_entropy: float) -> float:
    """Return a cross-entropy in nats as bits."""
    return cross_entropy / math.log(2.0)


def _checked(truth: Sequence[str], said: Sequence[str]) -> list[tuple[str, str]]:
    if len(truth) != len(said) or not len(truth):
        raise CanonError(f"There must be as many texts as references and at least one, got {len(said)} and {len(truth)}.")
    return list(zip(truth, said, strict=True))


def _rate(pairs: Sequence[tuple[Sequence[str], Sequence[str]]]) -> float:
    total = sum(len(right) for right, _ in pairs)
    if not total:
        raise CanonError("An error rate is a share of the right text, and there is none: give at least one text that is not empty.")
    return sum(edit_distance(right, other) for right, other in pairs) / total
