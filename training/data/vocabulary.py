"""Characters as ids."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...zoo.tokenizers import UNKNOWN_CHARACTER

# those of zoo.CharacterTokenizer, whose ids these are
SPECIALS = ("<pad>", "<unk>", "<start>", "<end>")
PADDING, UNKNOWN, START, END = range(len(SPECIALS))


@dataclass(frozen=True)
class Characters:
    """A numbered alphabet; ids 0 to 3 are padding, any character that is none of it, start and end.

    Args:
        symbols: names by id, the four special ones first.

    Example:
        >>> from keras_canon.training.data.vocabulary import Characters
        >>> alphabet = Characters.of(["banana"])
        >>> alphabet.encode("nab!").tolist(), alphabet.decode([6, 4, 5])
        ([6, 4, 5, 1], 'nab')
    """

    symbols: tuple[str, ...]

    @classmethod
    def of(cls, texts: Iterable[str]) -> "Characters":
        """Return the alphabet of some texts, in the order of Unicode."""
        return cls((*SPECIALS, *sorted(set().union(*texts))))

    def __len__(self) -> int:
        return len(self.symbols)

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {symbol: number for number, symbol in enumerate(self.symbols)}

    def encode(self, text: str) -> np.ndarray:
        """Return the ids of a text, int32; a character that is none of the alphabet becomes the unknown one."""
        return np.fromiter((self._ids.get(character, UNKNOWN) for character in text), "int32", len(text))

    def decode(self, ids: Iterable[int]) -> str:
        """Return ids as text, up to the end and without the other special ones; the unknown is written as U+FFFD."""
        found = []
        for number in ids:
            if number == END:
                break
            if number == UNKNOWN:
                found.append(UNKNOWN_CHARACTER)
            elif number >= len(SPECIALS):
                found.append(self.symbols[number])
        return "".join(found)
