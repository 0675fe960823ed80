"""Tokenizers of pieces of words, by Hugging Face's `tokenizers` (extra `text`): byte-level BPE as in GPT-2, WordPiece as in BERT."""

import json
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from .errors import CanonError
from .tokenizers import Tokenizer, utf8_text
from .tokenizers_plain import END, PADDING

UNKNOWN_PIECE = "[UNK]"
BERT_SPECIAL = ("[PAD]", UNKNOWN_PIECE, "[CLS]", "[SEP]", "[MASK]")
GPT2_SPECIAL = ("<|endoftext|>",)


class SubwordTokenizer(Tokenizer):
    """A tokenizer of pieces of words; `train_bpe`, `train_wordpiece`, `read_gpt2`, `read_bert` and `load_tokenizer` make one.

    Byte-level BPE reads any text and gives it back as it was. WordPiece drops spaces and, where it lowers, cases and accents, and
    what it has no pieces for is [UNK].

    Args:
        vocabulary: id of each piece.
        merges: pairs of pieces in the order in which BPE joins them; None for WordPiece.
        special_tokens: names, which must be in the vocabulary.
        lowercase: True to lower cases and drop accents, for WordPiece.

    Attributes:
        is_byte_level: True for byte-level BPE, False for WordPiece.

    Raises:
        CanonError: when the package is missing, or vocabulary, merges and special tokens do not fit together.

    Reference:
        Sennrich, Haddow, Birch, 2016, "Neural machine translation of rare words with subword units", section 3.2, arXiv:1508.07909
        (BPE); Radford et al., 2019, "Language models are unsupervised multitask learners", section 2.2 (on bytes); Wu et al., 2016,
        "Google's neural machine translation system", section 4.1, arXiv:1609.08144 (WordPiece).
    """

    def __init__(
        self,
        vocabulary: Mapping[str, int],
        merges: Sequence[tuple[str, str]] | None,
        special_tokens: Iterable[str],
        lowercase: bool = True,
    ):
        library = tokenizers_library()
        _check_vocabulary(vocabulary)
        special = _special_ids(vocabulary, special_tokens)
        if merges is None:
            if UNKNOWN_PIECE not in special:
                raise CanonError(f"A WordPiece vocabulary must hold {UNKNOWN_PIECE!r} as a special token, for what it has no pieces.")
            self._engine = library.Tokenizer(library.models.WordPiece(dict(vocabulary), unk_token=UNKNOWN_PIECE))
            _set_wordpiece(self._engine, lowercase)
        else:
            _check_byte_pairs(vocabulary, merges)
            self._engine = library.Tokenizer(library.models.BPE(dict(vocabulary), [tuple(pair) for pair in merges]))
            _set_byte_level(self._engine)
        self._engine.add_special_tokens(list(special))
        self._engine.encode_special_tokens = True  # their names in a text are text
        self.is_byte_level = merges is not None
        self._unknown = special.get(UNKNOWN_PIECE) if merges is None else None
        super().__init__(len(vocabulary), special)

    def to_json(self) -> dict[str, Any]:
        """Return plain data that holds the whole tokenizer, in the form of Hugging Face's `tokenizer.json`."""
        return json.loads(self._engine.to_str())

    def _encode(self, text: str | bytes) -> list[int]:
        return self._engine.encode(utf8_text(text)).ids

    def _decode(self, ids: list[int], keep_special: bool) -> str:
        if not keep_special:
            dropped = set(self.special_tokens.values()) - {self._unknown}
            ids = [token for token in ids if token not in dropped]
        return self._engine.decode(ids, skip_special_tokens=False)


def train_bpe(
    files: str | Path | Sequence[str | Path],
    vocabulary_size: int,
    *,
    special_tokens: Sequence[str] = (PADDING, END),
    min_frequency: int = 2,
) -> SubwordTokenizer:
    """Train a byte-level BPE tokenizer on UTF-8 text files; the special tokens come first, so that padding has id 0.

    Args:
        files: one or several.
        vocabulary_size: tokens at most, at least 256 and the special ones.
        special_tokens: names.
        min_frequency: pairs that occur less often are not joined.

    Raises:
        CanonError: for a file that is missing or no UTF-8, or a vocabulary that is too small.

    Reference:
        Sennrich et al., 2016, "Neural machine translation of rare words with subword units", section 3.2, arXiv:1508.07909; on bytes:
        Radford et al., 2019, "Language models are unsupervised multitask learners", section 2.2.
    """
    library = tokenizers_library()
    least = 256 + len(special_tokens)
    if vocabulary_size < least:
        raise CanonError(f"vocabulary_size must be at least {least}, all bytes and the special tokens, got {vocabulary_size}.")
    engine = library.Tokenizer(library.models.BPE())
    _set_byte_level(engine)
    trainer = library.trainers.BpeTrainer(
        vocab_size=vocabulary_size,
        min_frequency=min_frequency,
        special_tokens=list(special_tokens),
        initial_alphabet=sorted(library.pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    engine.train_from_iterator(_lines(files), trainer=trainer)
    model = json.loads(engine.to_str())["model"]
    return SubwordTokenizer(model["vocab"], model["merges"], special_tokens)


def train_wordpiece(
    files: str | Path | Sequence[str | Path],
    vocabulary_size: int,
    *,
    special_tokens: Sequence[str] = BERT_SPECIAL,
    lowercase: bool = True,
    min_frequency: int = 2,
) -> SubwordTokenizer:
    """Train a WordPiece tokenizer on UTF-8 text files; the special tokens come first, so that padding has id 0.

    Args:
        files: one or several.
        vocabulary_size: tokens at most.
        special_tokens: names, with "[UNK]" among them.
        lowercase: True to lower cases and drop accents.
        min_frequency: pairs that occur less often are not joined.

    Raises:
        CanonError: for a file that is missing or no UTF-8, a vocabulary that is too small, or special tokens without "[UNK]".

    Reference:
        Wu et al., 2016, "Google's neural machine translation system", section 4.1, arXiv:1609.08144.
    """
    library = tokenizers_library()
    if UNKNOWN_PIECE not in special_tokens:
        raise CanonError(f"special_tokens of WordPiece must hold {UNKNOWN_PIECE!r}, got {list(special_tokens)}.")
    engine = library.Tokenizer(library.models.WordPiece(unk_token=UNKNOWN_PIECE))
    _set_wordpiece(engine, lowercase)
    lines = _lines(files)
    # single characters inside words are named to the trainer: it would number them in an order of chance, on which all ties depend
    inside = _characters_inside_words(engine, lines)
    trainer = library.trainers.WordPieceTrainer(
        vocab_size=vocabulary_size, min_frequency=min_frequency, special_tokens=[*special_tokens, *inside], show_progress=False
    )
    engine.train_from_iterator(lines, trainer=trainer)
    vocabulary = engine.get_vocab(with_added_tokens=False)
    if len(vocabulary) > vocabulary_size:
        raise CanonError(f"vocabulary_size must be at least {len(vocabulary)}, the characters of the text, got {vocabulary_size}.")
    return SubwordTokenizer(vocabulary, None, special_tokens, lowercase)


def _characters_inside_words(engine: Any, lines: Iterable[str]) -> list[str]:
    """Return the pieces of one character that do not begin a word, in the order of their code points."""
    found = set()
    for line in lines:
        for word, _ in engine.pre_tokenizer.pre_tokenize_str(engine.normalizer.normalize_str(line)):
            found.update(word[1:])
    return [f"##{character}" for character in sorted(found)]


def subword_from_json(content: Mapping[str, Any], where: str) -> SubwordTokenizer:
    """Return the tokenizer of the content of a `tokenizer.json` of Hugging Face's form.

    Args:
        content: the table.
        where: how to name it in an error.

    Raises:
        CanonError: when it is damaged, or of a kind that is not read here.
    """
    try:
        return _subword_of(content, where)
    except CanonError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise CanonError(f"{where} is damaged: it is not the file of a tokenizer ({type(error).__name__}: {error}).") from error


def _subword_of(content: Mapping[str, Any], where: str) -> SubwordTokenizer:
    model, added = content["model"], content["added_tokens"]
    vocabulary, kind = dict(model["vocab"]), model.get("type", "BPE" if "merges" in model else None)
    special = [token["content"] for token in added if token["special"]]
    plain = [token["content"] for token in added if not token["special"]]
    # old files write a pair as one string
    merges: Any = [tuple(pair.split(" ")) if isinstance(pair, str) else tuple(pair) for pair in model.get("merges", ())]
    normalizer = dict(content.get("normalizer") or {})
    if plain:
        raise CanonError(
            f"{where} has added tokens that are not special, such as {plain[0]!r}, which are not read here: add them as special."
        )
    vocabulary |= {token["content"]: token["id"] for token in added}
    if kind not in ("BPE", "WordPiece"):
        raise CanonError(f"{where} is a tokenizer of another kind than GPT-2's byte-level BPE and BERT's WordPiece: {kind!r}.")
    lowercase = normalizer.get("lowercase", True)
    tokenizer = SubwordTokenizer(vocabulary, merges if kind == "BPE" else None, special, lowercase)
    mine = tokenizer.to_json()
    for part in ("normalizer", "pre_tokenizer", "model"):
        rule = _other_rule(mine[part] or {}, content.get(part) or {})
        if rule is not None:
            raise CanonError(f"{where} has rules that are neither GPT-2's nor BERT's: {part} {rule}.")
    return tokenizer


def _other_rule(mine: Mapping[str, Any], theirs: Mapping[str, Any]) -> str | None:
    """Return the first setting in which a file differs from what was built of it; the tables were taken from it."""
    if mine.get("type") != theirs.get("type") and "vocab" not in mine:
        return repr(theirs.get("type"))
    for key in sorted((mine.keys() & theirs.keys()) - {"vocab", "merges", "trim_offsets"}):
        if mine[key] != theirs[key] and not (mine[key] in (None, "") and theirs[key] in (None, "")):
            return f"{key} = {theirs[key]!r}"
    return None


def tokenizers_library() -> Any:
    """Return the package `tokenizers`.

    Raises:
        CanonError: when it is not installed.
    """
    try:
        return import_module("tokenizers")
    except ImportError as error:
        raise CanonError("Tokenizers of pieces of words need the package tokenizers: pip install 'keras-canon[text]'.") from error


def _set_byte_level(engine: Any) -> None:
    library = tokenizers_library()
    engine.pre_tokenizer = library.pre_tokenizers.ByteLevel(add_prefix_space=False)
    engine.decoder = library.decoders.ByteLevel()


def _set_wordpiece(engine: Any, lowercase: bool) -> None:
    library = tokenizers_library()
    engine.normalizer = library.normalizers.BertNormalizer(lowercase=lowercase)
    engine.pre_tokenizer = library.pre_tokenizers.BertPreTokenizer()
    engine.decoder = library.decoders.WordPiece()


def _check_vocabulary(vocabulary: Mapping[str, int]) -> None:
    """Refuse ids that are not 0 and up, each once: the rows of an embedding table."""
    if not all(isinstance(token, int) and not isinstance(token, bool) for token in vocabulary.values()):
        raise CanonError("The ids of a vocabulary must be integers.")
    ids = set(vocabulary.values())
    missing = next((token for token in range(len(vocabulary)) if token not in ids), None)
    if missing is not None or not vocabulary:
        raise CanonError(f"The vocabulary has {len(vocabulary)} pieces, and none of them has the id {missing or 0}.")


def _check_byte_pairs(vocabulary: Mapping[str, int], merges: Sequence[tuple[str, str]]) -> None:
    """Refuse a vocabulary that would lose bytes, and merges whose parts or result it lacks."""
    absent = [symbol for symbol in tokenizers_library().pre_tokenizers.ByteLevel.alphabet() if symbol not in vocabulary]
    if absent:
        raise CanonError(f"The vocabulary lacks {len(absent)} of the 256 bytes, such as {min(absent)!r}: their text would be lost.")
    for number, pair in enumerate(merges, start=1):
        pieces = list(map(str, pair))  # a file may hold anything
        if len(pieces) != 2 or not all(piece in vocabulary for piece in (*pieces, "".join(pieces))):
            raise CanonError(f"Merge {number}, {' '.join(pieces)!r}, does not join two pieces of the vocabulary to a third.")


def _special_ids(vocabulary: Mapping[str, int], names: Iterable[str]) -> dict[str, int]:
    names = list(names)
    for name in names:
        if name not in vocabulary:
            raise CanonError(f"The vocabulary has no special token {name!r}: give the names that it has.")
    return {name: vocabulary[name] for name in names}


def _lines(files: str | Path | Sequence[str | Path]) -> list[str]:
    """Return the lines of UTF-8 files with their ends, checked before any is read for training."""
    lines = []
    for file in [files] if isinstance(files, str | Path) else files:
        try:
            lines += Path(file).read_text(encoding="utf-8").splitlines(keepends=True)
        except OSError as error:
            raise CanonError(f"{str(file)!r} cannot be read ({error.strerror}): give text files to train a tokenizer on.") from error
        except UnicodeDecodeError as error:
            raise CanonError(f"{str(file)!r} is not UTF-8 at byte {error.start}: convert it first.") from error
    if not any(line.strip() for line in lines):
        raise CanonError("There is no text in the files to train a tokenizer on.")
    return lines
