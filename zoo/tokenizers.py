"""Text to ids and back: what every tokenizer does, and text that comes id by id."""

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from .errors import CanonError, unknown_name

FILE = "tokenizer.json"
UNKNOWN_CHARACTER = "\ufffd"  # stands for what is no character


class Tokenizer(ABC):
    """Turns text into ids and back; special tokens have names, and text never becomes one of them unless that is asked for.

    Args:
        vocabulary_size: number of tokens, the special ones included.
        special_tokens: id of each special token by name.
    """

    def __init__(self, vocabulary_size: int, special_tokens: dict[str, int]):
        self.vocabulary_size = vocabulary_size
        self.special_tokens = dict(special_tokens)

    def encode(self, text: str | bytes, *, start: str | None = None, end: str | None = None, read_special: bool = False) -> list[int]:
        """Return the ids of a text.

        Args:
            text: a string, or UTF-8 bytes.
            start: name of a special token to put before the text.
            end: name of a special token to put behind it.
            read_special: True to take the names of special tokens that stand in the text for these, such as "[MASK]"; only for text
                that you wrote yourself.

        Raises:
            CanonError: for a special token that there is none of, or text that cannot be read.
        """
        before, after = ([] if name is None else [self.special_id(name)] for name in (start, end))
        if not read_special or not self.special_tokens:
            return [*before, *self._encode(text), *after]
        ids = []
        # the longest first, so that a name that begins another one does not hide it
        names = sorted(self.special_tokens, key=len, reverse=True)
        for piece in re.split(f"({'|'.join(map(re.escape, names))})", utf8_text(text)):
            ids += [self.special_tokens[piece]] if piece in self.special_tokens else self._encode(piece)
        return [*before, *ids, *after]

    def decode(self, ids: Iterable[int], *, keep_special: bool = False) -> str:
        """Return the text of ids.

        Args:
            ids: of one text.
            keep_special: True to write special tokens as their names; False to leave them out, but for what stands for the unknown.

        Raises:
            CanonError: for an id that is none of the vocabulary.
        """
        return self._decode(self._checked(ids), keep_special)

    def special_id(self, name: str) -> int:
        """Return the id of a special token.

        Raises:
            CanonError: when there is none of that name.
        """
        if name not in self.special_tokens:
            raise unknown_name("special token", name, self.special_tokens)
        return self.special_tokens[name]

    def check_vocabulary(self, size: int, name: str) -> None:
        """Refuse a model whose ids are not this tokenizer's.

        Args:
            size: tokens of the model's vocabulary.
            name: of the model.

        Raises:
            CanonError: when it has another number of tokens.
        """
        if size != self.vocabulary_size:
            raise CanonError(
                f"The tokenizer has {self.vocabulary_size} tokens and {name!r} {size}: take the tokenizer that it was trained with, or "
                f'create the model with overrides={{"vocabulary_size": {self.vocabulary_size}}}.'
            )

    def save(self, folder: str | Path) -> Path:
        """Write `tokenizer.json` into a folder, from which `load_tokenizer` reads it; return its path.

        Raises:
            CanonError: when it cannot be written.
        """
        path = Path(folder) / FILE
        part = path.with_name(f".{FILE}.part")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            part.write_text(json.dumps(self.to_json(), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
            part.replace(path)
        except OSError as error:
            raise CanonError(f"The tokenizer cannot be written to {str(path)!r} ({error.strerror}): give another folder.") from error
        return path

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Return plain data that holds the whole tokenizer."""

    @abstractmethod
    def _encode(self, text: str | bytes) -> list[int]:
        """Return the ids of a text in which nothing is special."""

    @abstractmethod
    def _decode(self, ids: list[int], keep_special: bool) -> str:
        """Return the text of ids that were checked."""

    def _checked(self, ids: Iterable[int]) -> list[int]:
        try:
            row = np.asarray(list(ids))
        except (TypeError, ValueError) as error:  # no list, or lists of unequal lengths
            raise CanonError(f"ids must be a list of integers of one text, got {ids!r}.") from error
        if row.size and (row.ndim != 1 or row.dtype.kind not in "iu"):
            raise CanonError(f"ids must be integers of one text, got {row.dtype} of shape {row.shape}.")
        wrong = row[(row < 0) | (row >= self.vocabulary_size)]
        if wrong.size:
            raise CanonError(f"The id {wrong[0]} is none of the tokenizer's {self.vocabulary_size}: text and model are of another one.")
        return row.astype(int).tolist()


class TextStream:
    """Text that comes id by id: each piece is whole characters, and the pieces together are the text of all ids.

    Args:
        tokenizer: of the ids.

    Example:
        >>> from keras_canon.zoo import ByteTokenizer
        >>> from keras_canon.zoo.tokenizers import TextStream
        >>> tokenizer = ByteTokenizer()
        >>> stream = TextStream(tokenizer)
        >>> [stream.add(token) for token in tokenizer.encode("é!")]
        ['', 'é', '!']
    """

    def __init__(self, tokenizer: Tokenizer):
        self.tokenizer = tokenizer
        # the last id that gave text and those after it: what is written of the next one may depend on them, such as a space before it
        self._window: list[int] = []
        self._told = 0  # characters of the window's text

    def add(self, token: int) -> str:
        """Return the text that a further id completes; nothing while it may be the beginning of a character."""
        self._window.append(token)
        text = self.tokenizer.decode(self._window)
        # what may still become a character is written as one unknown one, always the last
        whole = text.removesuffix(UNKNOWN_CHARACTER)
        piece, self._told = text[self._told : len(whole)], max(self._told, len(whole))
        if whole == text:
            alone = self.tokenizer.decode([token])
            self._window, self._told = ([token], len(alone)) if alone else (self._window[:-1], self._told)
        return piece

    def end(self) -> str:
        """Return what is left when no more ids come: an unfinished character, as an unknown one."""
        text = self.tokenizer.decode(self._window)
        piece, self._told = text[self._told :], len(text)
        return piece


def utf8_text(text: str | bytes) -> str:
    """Return a text that can be written as UTF-8.

    Raises:
        CanonError: for bytes that are no UTF-8, a string with half a surrogate pair, or something else.
    """
    try:
        if isinstance(text, bytes):
            return text.decode("utf-8")
        if isinstance(text, str):
            text.encode("utf-8")
            return text
    except UnicodeDecodeError as error:
        raise CanonError(
            f"The text is not UTF-8: the byte 0x{error.object[error.start]:02x} at {error.start} has no meaning there."
        ) from error
    except UnicodeEncodeError as error:
        code = ord(error.object[error.start])
        if 0xDC80 <= code <= 0xDCFF:  # how Python keeps a byte of the command line or a file name that is no UTF-8
            raise CanonError(f"The text is not UTF-8: the byte 0x{code - 0xDC00:02x} at {error.start} has no meaning there.") from error
        raise CanonError(f"The text holds half of a surrogate pair, U+{code:04X} at {error.start}, which no UTF-8 can write.") from error
    raise CanonError(f"A text must be a string or bytes, got {type(text).__name__}.")
