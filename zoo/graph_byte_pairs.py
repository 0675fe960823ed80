"""GPT-2's byte-level BPE as ops of core TensorFlow: the cut into words, and the joining of pairs."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import tensorflow as tf

from .tokenizers_subword import tokenizers_library

_LETTER, _NUMBER, _SPACE, _OTHER = range(4)
_NO_SYMBOL = -1
_NEVER = np.iinfo("int32").max  # rank of a pair that is not joined
_ASSIGNED = 0x40000  # the planes above hold no letter, number or space
_RAGGED: Any = tf.RaggedTensor  # TensorFlow adds its constructors as it is imported
_CONTRACTIONS = ("s", "t", "re", "ve", "m", "ll", "d")  # behind an apostrophe


class BytePairs:
    """Byte-level BPE in a graph, with the ids of the library that trained it.

    The text is cut as GPT-2's expression cuts it:

        's|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+

    Which character is a letter, a number or a space is asked of the library, so that both read the same version of Unicode. Then, in
    each word, the pair that was learned first is joined, the leftmost of equal ones, until none is left.

    Args:
        vocabulary: id of each piece, in the letters that stand for bytes.
        merges: pairs of pieces in the order in which they were learned.

    Reference:
        Radford et al., 2019, "Language models are unsupervised multitask learners", section 2.2; Sennrich, Haddow, Birch, 2016,
        "Neural machine translation of rare words with subword units", algorithm 1, arXiv:1508.07909.
    """

    def __init__(self, vocabulary: Mapping[str, int], merges: Sequence[Sequence[str]]):
        letters = byte_letters()
        self._byte_ids = np.asarray([vocabulary[letter] for letter in letters], "int32")
        self._size = len(vocabulary)
        joined = {(vocabulary[left], vocabulary[right]): (rank, vocabulary[left + right]) for rank, (left, right) in enumerate(merges)}
        keys = np.asarray([left * self._size + right for left, right in joined] or [-1], "int64")
        order = np.argsort(keys)
        found = np.asarray(list(joined.values()) or [(_NEVER, 0)], "int32")[order]
        self._keys, self._ranks, self._joined = keys[order], found[:, 0], found[:, 1]
        self._starts, self._kinds = _character_kinds()

    def encode(self, texts):
        """Return the ids of UTF-8 strings (B,), ragged."""
        codes = tf.strings.unicode_decode(texts, "UTF-8")
        characters = tf.strings.unicode_split(texts, "UTF-8").flat_values  # (N,)
        rows = tf.cast(codes.value_rowids(), tf.int32)
        begins = self._word_begins(codes.flat_values, rows)
        words = tf.cumsum(tf.cast(begins, tf.int32)) - 1  # (N,), the word of each character
        # each word's text; a text without any word has none
        row_of_word = tf.boolean_mask(rows, begins)
        number = tf.size(row_of_word)
        bytes_of_word = tf.math.unsorted_segment_sum(tf.strings.length(characters), words, number)
        values = tf.cast(tf.io.decode_raw(tf.strings.reduce_join(characters), tf.uint8), tf.int32)
        symbols = _RAGGED.from_row_lengths(tf.gather(self._byte_ids, values), bytes_of_word)
        symbols = self._join_all(symbols.to_tensor(_NO_SYMBOL, shape=(None, None)))
        kept = symbols != _NO_SYMBOL
        counts = tf.math.unsorted_segment_sum(tf.reduce_sum(tf.cast(kept, tf.int32), axis=1), row_of_word, tf.size(texts))
        return _RAGGED.from_row_lengths(tf.boolean_mask(symbols, kept), counts)

    def _word_begins(self, codes, rows):
        """Return where words begin, booleans (N,), of characters end to end with the text of each."""
        kinds = tf.gather(self._kinds, tf.searchsorted(self._starts, codes, side="right") - 1)
        # neighbours, which are none beyond a text's ends
        first = tf.concat([[True], rows[1:] != rows[:-1]], axis=0)[: tf.size(rows)]
        last = tf.concat([first[1:], [True]], axis=0)[: tf.size(rows)]
        before, after = _shifted(kinds, 1), _shifted(kinds, -1)
        space = kinds == _SPACE
        blank = _shifted(codes, 1) == ord(" ")  # goes with the word behind it
        # the last of several spaces before a word stands alone, or goes with the word
        begins_spaces = (before != _SPACE) | (tf.logical_not(last) & (after != _SPACE))
        begins = first | tf.where(space, begins_spaces, (before != kinds) & tf.logical_not(blank))
        for ending in _CONTRACTIONS:
            length = len(ending) + 1
            found = begins & (codes == ord("'"))
            for place, letter in enumerate(ending, start=1):
                found &= (_shifted(codes, -place) == ord(letter)) & (_shifted(rows, -place) == rows)
            inside = tf.zeros_like(found)
            for place in range(1, length):
                inside |= _shifted(found, place)
            begins = (begins & ~inside) | _shifted(found, length)
        return begins

    def _join_all(self, symbols):
        """Join pairs of each row of symbols (W, L), filled up at the right with -1, until none can be joined."""

        def candidates(symbols):
            left, right = symbols[:, :-1], symbols[:, 1:]
            keys = tf.cast(left, tf.int64) * self._size + tf.cast(right, tf.int64)
            places = tf.searchsorted(self._keys, tf.reshape(keys, (-1,)))
            places = tf.reshape(tf.minimum(places, len(self._keys) - 1), tf.shape(keys))
            known = (tf.gather(self._keys, places) == keys) & (right != _NO_SYMBOL)
            ranks = tf.where(known, tf.gather(self._ranks, places), _NEVER)
            return tf.pad(ranks, [[0, 0], [0, 1]], constant_values=_NEVER), tf.pad(tf.gather(self._joined, places), [[0, 0], [0, 1]])

        def goes_on(symbols, ranks, joined):
            return tf.reduce_any(ranks != _NEVER)

        def join(symbols, ranks, joined):
            best = tf.argmin(ranks, axis=1, output_type=tf.int32)[:, None]  # the leftmost of equal ones
            found = tf.gather(ranks, best, batch_dims=1) != _NEVER
            columns = tf.range(tf.shape(symbols)[1])
            following = tf.pad(symbols[:, 1:], [[0, 0], [0, 1]], constant_values=_NO_SYMBOL)
            behind = tf.where(columns == best, joined, following)
            symbols = tf.where(found & (columns >= best), behind, symbols)
            return symbols, *candidates(symbols)

        # so that words without any byte, and no words at all, have a column
        symbols = tf.pad(symbols, [[0, 0], [0, 1]], constant_values=_NO_SYMBOL)
        matrix = tf.TensorShape((None, None))
        (symbols, _, _) = tf.while_loop(goes_on, join, (symbols, *candidates(symbols)), shape_invariants=(matrix,) * 3)
        return symbols


def byte_letters() -> list[str]:
    """Return the letter that stands for each byte in the pieces of a byte-level vocabulary.

    Bytes that are visible characters of Latin-1 stand for themselves, the others for the letters from U+0100 on.
    """
    visible = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    hidden = iter(range(0x100, 0x200))
    return [chr(byte if byte in visible else next(hidden)) for byte in range(256)]


def byte_of_letter() -> dict[str, int]:
    """Return the byte for which each letter of a piece stands."""
    return {letter: byte for byte, letter in enumerate(byte_letters())}


@cache
def _character_kinds() -> tuple[np.ndarray, np.ndarray]:
    """Return code points from which on characters are of a kind, and the kinds.

    The library is asked of all characters at once.
    """
    splitter = tokenizers_library().pre_tokenizers.ByteLevel(add_prefix_space=False)
    codes = [*range(0xD800), *range(0xE000, _ASSIGNED)]  # without halves of surrogate pairs
    kinds = np.full(_ASSIGNED + 1, _OTHER, "int8")
    kinds[codes] = _kinds_of(codes, splitter)
    starts = np.flatnonzero(np.diff(kinds, prepend=-1))
    return starts.astype("int32"), kinds[starts].astype("int32")


def _kinds_of(codes: Sequence[int], splitter: Any) -> np.ndarray:
    """Return the kinds of some characters; each is asked of as "!", "a", itself, "1", itself, "!".

    A letter joins the "a" before it, a number the "1", and any other character the "!" behind it. A space does none of these, but for
    the blank, which joins every word behind it.
    """
    text = "".join(f"!a{chr(code)}1{chr(code)}!" for code in codes)
    begins = np.zeros(len(text) + 1, bool)
    for _, (start, _) in splitter.pre_tokenize_str(text):
        begins[start] = True
    begins = begins[: len(text)].reshape(-1, 6)
    letter, number = ~begins[:, 2], ~begins[:, 4]
    space = ~letter & ~number & (begins[:, 5] | (np.asarray(codes) == ord(" ")))
    return np.select([letter, number, space], [_LETTER, _NUMBER, _SPACE], _OTHER)


def _shifted(values, by: int):
    """Return values (N,) moved to the right by so many places (to the left for a negative number), filled up with zeros."""
    if by > 0:
        return tf.concat([tf.zeros((tf.minimum(by, tf.size(values)),), values.dtype), values[:-by]], axis=0)[: tf.size(values)]
    return tf.concat([values[-by:], tf.zeros((tf.minimum(-by, tf.size(values)),), values.dtype)], axis=0)
