"""Text to ids and back in a TensorFlow graph, so that a SavedModel takes text and gives text without any other code."""

import numpy as np
import tensorflow as tf

from .errors import CanonError
from .graph_byte_pairs import BytePairs, byte_of_letter
from .tokenizers import UNKNOWN_CHARACTER, Tokenizer
from .tokenizers_plain import ByteTokenizer, CharacterTokenizer
from .tokenizers_subword import SubwordTokenizer


class GraphTokenizer:
    """A tokenizer as ops of core TensorFlow, with the ids of the Python one.

    Args:
        tokenizer: a `ByteTokenizer`, a `CharacterTokenizer`, or a `SubwordTokenizer` of byte-level BPE as GPT-2 has it.

    Raises:
        CanonError: for another tokenizer, such as WordPiece, whose rules no op of TensorFlow knows.

    Example:
        >>> from keras_canon.zoo import ByteTokenizer, GraphTokenizer
        >>> ids, lengths = GraphTokenizer(ByteTokenizer()).encode(["ab", "c"], end="<end>")
        >>> ids.numpy().tolist(), lengths.numpy().tolist()
        ([[100, 101, 2], [102, 2, 0]], [3, 2])
    """

    def __init__(self, tokenizer: Tokenizer):
        if not fits_graph(tokenizer):
            kind = "WordPiece" if isinstance(tokenizer, SubwordTokenizer) else type(tokenizer).__name__
            raise CanonError(
                f"A graph takes a tokenizer of bytes, characters or byte-level BPE, got {kind}: export the model for ids instead."
            )
        self.tokenizer = tokenizer
        self._first = len(tokenizer.special_tokens)
        written = [b""] * self._first
        if isinstance(tokenizer, SubwordTokenizer):
            model = tokenizer.to_json()["model"]
            self._pairs = BytePairs(model["vocab"], model["merges"])
            written = _pieces(tokenizer, model["vocab"])
        elif isinstance(tokenizer, CharacterTokenizer):
            written[1] = UNKNOWN_CHARACTER.encode("utf-8")
            written += [character.encode("utf-8") for character in tokenizer.characters]
            codes = np.asarray([ord(character) for character in tokenizer.characters], "int32")
            self._order = np.argsort(codes).astype("int32")
            self._codes = codes[self._order]
        else:
            written += [bytes([byte]) for byte in range(256)]
        self._written = np.asarray(written, object)

    def encode(self, texts, *, start: str | None = None, end: str | None = None):
        """Return the ids of texts, filled up at the right with padding, 0.

        Args:
            texts: strings (B,), UTF-8; bytes that are none are read as the Python tokenizer reads them, and with BPE, which refuses
                them, an error when the op runs.
            start: name of a special token to put before each text.
            end: name of a special token to put behind it.

        Returns:
            int32 (B, T), T being the longest text's number of ids, at least 1; and int32 (B,), the number of ids of each.

        Raises:
            CanonError: for a special token that there is none of.
        """
        before, after = (None if name is None else self.tokenizer.special_id(name) for name in (start, end))
        texts = tf.convert_to_tensor(texts, tf.string)
        if isinstance(self.tokenizer, SubwordTokenizer):
            ids, lengths = self._piece_ids(texts)
        elif isinstance(self.tokenizer, CharacterTokenizer):
            ids, lengths = self._character_ids(texts)
        else:
            ids, lengths = self._byte_ids(texts)
        if before is not None:
            ids, lengths = tf.pad(ids, [[0, 0], [1, 0]], constant_values=before), lengths + 1
        if after is not None:
            ids = tf.pad(ids, [[0, 0], [0, 1]])
            ids = tf.where(tf.range(tf.shape(ids)[1]) == lengths[:, None], after, ids)
            lengths = lengths + 1
        return ids[:, : tf.maximum(1, tf.reduce_max(lengths))], lengths

    def decode(self, ids, lengths=None):
        """Return the texts (B,) of ids (B, T) as UTF-8: special tokens are left out, and bytes that are no UTF-8 become U+FFFD.

        An id that is none of the vocabulary is an error when the op runs.

        Args:
            ids: int32 (B, T).
            lengths: int32 (B,), how many ids of each row count; None where padding is a special token.
        """
        pieces = tf.gather(tf.constant(self._written, tf.string), ids)
        if lengths is not None:
            pieces = tf.where(tf.range(tf.shape(ids)[1]) < lengths[:, None], pieces, "")
        return tf.strings.unicode_transcode(tf.strings.reduce_join(pieces, axis=-1), "UTF-8", "UTF-8", errors="replace")

    def _piece_ids(self, texts):
        whole = tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8", errors="replace") == texts
        with tf.control_dependencies([tf.debugging.Assert(tf.reduce_all(whole), ["A text is not UTF-8."])]):
            ids = self._pairs.encode(tf.identity(texts))
        # so that a batch of empty texts has a column
        return tf.pad(ids.to_tensor(0, shape=(None, None)), [[0, 0], [0, 1]]), tf.cast(ids.row_lengths(), tf.int32)

    def _byte_ids(self, texts):
        lengths = tf.strings.length(texts)
        width = tf.maximum(1, tf.reduce_max(lengths))
        values = tf.cast(tf.io.decode_raw(texts, tf.uint8, fixed_length=width), tf.int32)  # (B, width), filled up with zeros
        return tf.where(tf.range(width) < lengths[:, None], values + self._first, 0), lengths

    def _character_ids(self, texts):
        codes = tf.strings.unicode_decode(texts, "UTF-8", errors="replace")  # ragged (B, characters)
        lengths = tf.cast(codes.row_lengths(), tf.int32)
        codes = codes.to_tensor(shape=(None, None))
        codes = tf.pad(codes, [[0, 0], [0, 1]])  # so that a batch of empty texts has a column
        places = tf.minimum(tf.searchsorted(self._codes, tf.reshape(codes, (-1,))), len(self._codes) - 1)
        places = tf.reshape(places, tf.shape(codes))
        known = tf.gather(self._codes, places) == codes
        ids = tf.where(known, tf.gather(self._order, places) + self._first, 1)
        return tf.where(tf.range(tf.shape(ids)[1]) < lengths[:, None], ids, 0), lengths


def fits_graph(tokenizer: Tokenizer) -> bool:
    """Return whether a graph can hold a tokenizer."""
    if isinstance(tokenizer, SubwordTokenizer):
        return tokenizer.is_byte_level
    return isinstance(tokenizer, ByteTokenizer | CharacterTokenizer)


def _pieces(tokenizer: SubwordTokenizer, vocabulary: dict[str, int]) -> list[bytes]:
    """Return what is written for each id: nothing for special tokens, and, as the library does, a piece of other letters as it is."""
    letters, special = byte_of_letter(), set(tokenizer.special_tokens)
    written = [b""] * tokenizer.vocabulary_size
    for piece, token in vocabulary.items():
        if piece not in special:
            known = all(letter in letters for letter in piece)
            written[token] = bytes(letters[letter] for letter in piece) if known else piece.encode("utf-8")
    return written
