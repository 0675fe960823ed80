"""Pieces of words hidden for a model to fill in, drawn anew in each epoch."""

from dataclasses import dataclass

import numpy as np

SHARE = 0.15  # of the pieces of a sequence
_HIDDEN, _REPLACED = 0.8, 0.1  # of those; the rest is left as it was


@dataclass(frozen=True)
class Masking:
    """How pieces are chosen and what takes their place.

    Of the pieces of a sequence 15 % are chosen, rounded, and at least one. Of those 80 % become [MASK], 10 % some other piece of the
    vocabulary, and 10 % stay, each by a draw of its own. Special tokens are neither chosen nor drawn.

    **Differs from the paper**: masks are drawn anew in each epoch, where the authors' code draws ten for each text beforehand.

    Args:
        mask_id: id of [MASK].
        first_piece: ids below it are special.
        vocabulary_size: number of ids.

    Reference:
        Devlin, Chang, Lee, Toutanova, 2019, "BERT: Pre-training of deep bidirectional Transformers for language understanding",
        section 3.1, task 1, and appendix A.1, arXiv:1810.04805; anew in each epoch: Liu et al., 2019, "RoBERTa", section 4.1,
        arXiv:1907.11692.

    Example:
        >>> import numpy as np
        >>> from keras_canon.training.data.masking import Masking
        >>> ids = np.array([2, 11, 12, 13, 14, 15, 16, 17, 18, 3])
        >>> masked, labels = Masking(4, 5, 100).draw(ids, np.array([0, 10]), seed=0, epoch=0)
        >>> int((labels > 0).sum()), bool((masked[labels == 0] == ids[labels == 0]).all())
        (1, True)
    """

    mask_id: int
    first_piece: int
    vocabulary_size: int

    def draw(self, values: np.ndarray, starts: np.ndarray, seed: int, epoch: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the ids of all sequences with some of them masked, and as labels what stood there, 0 where nothing is asked.

        The draw is decided by seed, epoch and the place of a piece among all.

        Args:
            values: ids of all sequences end to end, (total,).
            starts: where each begins, and where the last one ends, (N + 1,).
            seed, epoch: of the draw.
        """
        generator = np.random.default_rng((seed, epoch))
        lengths = np.diff(starts)
        rows = np.repeat(np.arange(len(lengths)), lengths)
        ordinary = values >= self.first_piece
        # each sequence in an order of its own, special tokens last
        order = np.lexsort((np.where(ordinary, generator.random(len(values)), 1.0), rows))
        ranks = np.empty(len(values), "int64")
        ranks[order] = np.arange(len(values)) - np.repeat(starts[:-1], lengths)
        numbers = np.bincount(rows, weights=ordinary, minlength=len(lengths))
        wanted = np.minimum(np.maximum(np.round(SHARE * numbers), 1), numbers)
        chosen = ranks < wanted[rows]
        fate, others = generator.random(len(values)), generator.integers(self.first_piece, self.vocabulary_size, len(values))
        masked = np.where(chosen & (fate < _HIDDEN), self.mask_id, values)
        masked = np.where(chosen & (fate >= _HIDDEN) & (fate < _HIDDEN + _REPLACED), others, masked)
        return masked.astype(values.dtype), np.where(chosen, values, 0).astype(values.dtype)
