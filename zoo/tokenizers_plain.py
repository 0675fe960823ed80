"""Tokenizers that need no training and no other package: by bytes and by characters."""

from collections.abc import Iterable
from typing import Any

from .errors import CanonError
from .tokenizers import UNKNOWN_CHARACTER, Tokenizer, utf8_text

PADDING, UNKNOWN, START, END = "<pad>", "<unk>", "<start>", "<end>"


class ByteTokenizer(Tokenizer):
    """Every byte of the UTF-8 text is a token: any text can be read, and bytes that are no UTF-8 too.

    The special tokens come first, and the first of them is padding, id 0; byte b has the id b + their number.

    Args:
        special_tokens: names.

    Raises:
        CanonError: for a name that is empty or given twice, or no name at all.

    Reference:
        Xue et al., 2021, "ByT5: towards a token-free future with pre-trained byte-to-byte models", section 3, arXiv:2105.13626.

    Example:
        >>> from keras_canon.zoo import ByteTokenizer
        >>> tokenizer = ByteTokenizer()
        >>> tokenizer.encode("é!", end="<end>")
        [198, 172, 36, 2]
    """

    def __init__(self, special_tokens: Iterable[str] = (PADDING, START, END)):
        names = _names(special_tokens)
        super().__init__(256 + len(names), names)

    def decode_bytes(self, ids: Iterable[int]) -> bytes:
        """Return the bytes of ids as they are, UTF-8 or not, without the special tokens.

        Raises:
            CanonError: for an id that is none of the vocabulary.
        """
        first = len(self.special_tokens)
        return bytes(token - first for token in self._checked(ids) if token >= first)

    def to_json(self) -> dict[str, Any]:
        """Return plain data that holds the whole tokenizer."""
        return {"kind": "bytes", "special_tokens": list(self.special_tokens)}

    def _encode(self, text: str | bytes) -> list[int]:
        encoded = text if isinstance(text, bytes) else utf8_text(text).encode("utf-8")
        first = len(self.special_tokens)
        return [byte + first for byte in encoded]

    def _decode(self, ids: list[int], keep_special: bool) -> str:
        names = list(self.special_tokens)
        first = len(names)
        pieces = [bytes([token - first]) if token >= first else names[token].encode("utf-8") * keep_special for token in ids]
        return b"".join(pieces).decode("utf-8", "replace")


class CharacterTokenizer(Tokenizer):
    """Every character of a fixed table is a token; all others are one unknown token, which is written as U+FFFD.

    The special tokens come first: padding has id 0, the unknown 1. Bytes that are no UTF-8 are unknown characters.

    Args:
        characters: the table, a string in which each stands once; ids follow its order.
        special_tokens: names, of which the first is padding and the second the unknown.

    Raises:
        CanonError: for a table that is empty or holds a character twice, or special tokens without these two.

    Example:
        >>> from keras_canon.zoo import CharacterTokenizer
        >>> tokenizer = CharacterTokenizer.of_text("abracadabra")
        >>> tokenizer.characters, tokenizer.encode("bad!")
        ('abcdr', [5, 4, 7, 1])
    """

    def __init__(self, characters: str, special_tokens: Iterable[str] = (PADDING, UNKNOWN, START, END)):
        names = _names(special_tokens)
        if len(names) < 2:
            raise CanonError(f"special_tokens must begin with padding and the unknown, got {list(names)}.")
        twice = sorted({character for character in utf8_text(characters) if characters.count(character) > 1})
        if not characters or twice:
            raise CanonError(f"characters must hold at least one, and each once, got {f'{twice[0]!r} twice' if twice else 'none'}.")
        super().__init__(len(names) + len(characters), names)
        self.characters = characters
        self._ids = {character: token for token, character in enumerate(characters, start=len(names))}

    @classmethod
    def of_text(cls, text: str, special_tokens: Iterable[str] = (PADDING, UNKNOWN, START, END)) -> "CharacterTokenizer":
        """Return the tokenizer of all characters of a text, in the order of their code points."""
        return cls("".join(sorted(set(text))), special_tokens)

    def to_json(self) -> dict[str, Any]:
        """Return plain data that holds the whole tokenizer."""
        return {"kind": "characters", "special_tokens": list(self.special_tokens), "characters": self.characters}

    def _encode(self, text: str | bytes) -> list[int]:
        text = text.decode("utf-8", "replace") if isinstance(text, bytes) else utf8_text(text)
        return [self._ids.get(character, 1) for character in text]

    def _decode(self, ids: list[int], keep_special: bool) -> str:
        names = list(self.special_tokens)
        written = [name if keep_special else "" for name in names]
        written[1] = UNKNOWN_CHARACTER
        return "".join(written[token] if token < len(names) else self.characters[token - len(names)] for token in ids)


def _names(special_tokens: Iterable[str]) -> dict[str, int]:
    names = [special_tokens] if isinstance(special_tokens, str) else list(special_tokens)
    wrong = [name for name in names if not isinstance(name, str) or not name or names.count(name) > 1]
    if wrong or not names:
        raise CanonError(f"special_tokens must be names, each once, of which the first is padding, got {names}.")
    return {name: token for token, name in enumerate(names)}
