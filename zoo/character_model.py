"""A small language model of symbols for `ctc_beam_decode`: how likely each symbol is after the last few."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from .errors import CanonError


class NGramScore:
    """Score of each class as the next symbol, by counts of n symbols in a row, smoothed by those of fewer.

    P(s | h) = (c(h s) + d(h) P(s | h without its first symbol)) / (c(h) + d(h))        (Witten-Bell)

    where c counts and d(h) is the number of different symbols seen after h; without any history all symbols are alike. Given as `score`
    to `ctc_beam_decode`, it is called with a prefix and returns `weight` log P + `bonus` for each class.

    Args:
        texts: sequences of classes, as labels of a CTC model have them.
        num_classes: number of classes, the blank included.
        order: n, how many symbols in a row are counted.
        weight: factor of the log-probability.
        bonus: added for each symbol, against the taste of language models for short texts.
        blank: class of the blank, which never follows.

    Raises:
        CanonError: for an order below 1, fewer than two classes, a blank that is none, or a symbol that is the blank or no class.

    Reference:
        Witten, Bell, 1991, "The zero-frequency problem", method C, IEEE Transactions on Information Theory 37(4).

    Example:
        >>> from keras_canon.zoo.character_model import NGramScore
        >>> score = NGramScore([[1, 2, 1, 2, 1, 2]], num_classes=3, order=2)
        >>> print((score((1,)) > score((2,))).tolist())
        [False, False, True]
    """

    def __init__(
        self,
        texts: Iterable[Sequence[int]],
        num_classes: int,
        order: int = 4,
        weight: float = 0.5,
        bonus: float = 0.0,
        blank: int = 0,
    ):
        if isinstance(order, bool) or not isinstance(order, int) or order < 1:
            raise CanonError(f"order must be an integer of at least 1, got {order!r}.")
        if num_classes < 2 or not 0 <= blank < num_classes:
            raise CanonError(f"num_classes must be at least 2 and blank one of the classes, got {num_classes!r} and {blank!r}.")
        self.num_classes, self.order, self.blank = num_classes, order, blank
        self.weight, self.bonus = weight, bonus
        self._counts: dict[tuple[int, ...], Counter] = defaultdict(Counter)
        for text in texts:
            symbols = tuple(int(symbol) for symbol in text)
            wrong = [symbol for symbol in symbols if not 0 <= symbol < num_classes or symbol == blank]
            if wrong:
                raise CanonError(f"texts must hold classes from 0 to {num_classes - 1} but the blank {blank}, got {wrong[0]}.")
            for end, symbol in enumerate(symbols):
                for start in range(max(0, end - order + 1), end + 1):
                    self._counts[symbols[start:end]][symbol] += 1

    def probabilities(self, prefix: Sequence[int]) -> np.ndarray:
        """Return P of each class after a prefix; 0 for the blank."""
        found = np.full(self.num_classes, 1.0 / (self.num_classes - 1))
        found[self.blank] = 0.0
        history = tuple(prefix)[-(self.order - 1) :] if self.order > 1 else ()
        # from no history to the longest one
        for start in range(len(history), -1, -1):
            counts = self._counts.get(history[start:])
            if counts is None:
                break
            total, different = sum(counts.values()), len(counts)
            seen = np.zeros(self.num_classes)
            seen[list(counts)] = list(counts.values())
            found = (seen + different * found) / (total + different)
        return found

    def __call__(self, prefix: Sequence[int]) -> np.ndarray:
        """Return the score of each class as the next symbol; -inf for the blank."""
        found = self.probabilities(prefix)
        scores = np.full(self.num_classes, -math.inf)
        scores[found > 0.0] = self.weight * np.log(found[found > 0.0]) + self.bonus
        return scores
