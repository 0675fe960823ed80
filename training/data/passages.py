"""Passages of the King James Bible as pieces of words: to be filled in where they are masked, or told which book they are from."""

import hashlib
import re
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ...zoo.errors import CanonError
from ...zoo.tokenizers_subword import BERT_SPECIAL, SubwordTokenizer, train_wordpiece
from .bible import numbered_verses
from .masking import Masking
from .memory_tasks import whole_numbers
from .names import DataName
from .sequence_builder import SequenceSource, read_source
from .sequences import Ragged, SequenceDataset, SequenceSplit
from .splits import validation_parts

LENGTH = 64  # ids of a passage at most, [CLS] and [SEP] among them
PIECES = 2000
BOOKS = 10
_CHARACTERS = 220  # of a passage, but for verses that are longer
_TEST = 51  # of the 256 values of a byte: a fifth
_START, _END, _MASK = "[CLS]", "[SEP]", "[MASK]"
_VERSE = re.compile(r"(\d?[A-Za-z]+)(\d+):\d+ (.*)")

Texts = dict[str, list[str]]


def passages_dataset(name: str, parsed: DataName, share: float, seed: int, data_dir: str | None) -> SequenceDataset:
    """Return the passages of all books, with a masking that is drawn anew in each epoch.

    Args:
        name: as it was given.
        parsed: the same, read.
        share: of the training part that becomes the validation split.
        seed: of the validation split.
        data_dir: where prepared data lie.
    """
    if parsed.argument:
        raise CanonError(f"The data set 'passages' takes no options, got {name!r}.")
    parts, facts = _read(name, data_dir)
    words = _tokenizer(parts["train"]["text"])
    masking = Masking(words.special_id(_MASK), len(BERT_SPECIAL), words.vocabulary_size)
    train, test = (_split(part, words, texts["text"], None, masking) for part, texts in parts.items())
    kept, held_out = validation_parts(parts["train"]["text"], share, seed)
    splits = (train.part("train", kept), train.part("validation", held_out), test)
    vocabulary = words.to_json()["model"]["vocab"]
    names = tuple(sorted(vocabulary, key=vocabulary.__getitem__))
    return SequenceDataset(
        name, "tokens", names, (None,), *splits, {**facts, "seed": seed}, sizes={"vocabulary_size": len(names)}, tokenizer=words
    )


def books_dataset(name: str, parsed: DataName, share: float, seed: int, data_dir: str | None) -> SequenceDataset:
    """Return the passages of the books that have the most of them, each with its book, and the ids of `passages`.

    Args:
        name: as it was given; `labels` is how many examples the training split has, equally many of each book, and at most the
            validation split.
        parsed: the same, read.
        share: of the training part that becomes the validation split.
        seed: of the validation split, and of which examples keep their label.
        data_dir: where prepared data lie.

    Raises:
        CanonError: for fewer than 2 books or more than there are, or more labels than examples.
    """
    options = whole_numbers("books", parsed.argument, ("labels", "books"))
    parts, facts = _read(name, data_dir)
    words = _tokenizer(parts["train"]["text"])
    books = _largest(parts["train"]["book"], options.get("books", BOOKS))

    def split_of(part: str) -> tuple[SequenceSplit, list[str]]:
        places = [place for place, book in enumerate(parts[part]["book"]) if book in books]
        texts = [parts[part]["text"][place] for place in places]
        labels = np.array([books.index(parts[part]["book"][place]) for place in places], "int64")
        return _split(part, words, texts, labels), texts

    (train, texts), (test, _) = split_of("train"), split_of("test")
    classes = np.asarray(train.labels)
    kept, held_out = validation_parts(texts, share, seed, classes)
    if "labels" in options:
        kept, held_out = (_few(places, texts, classes, options["labels"], len(books), seed) for places in (kept, held_out))
        if len(kept) < options["labels"]:
            raise CanonError(f"There are {len(kept)} examples to label of {len(books)} books: lower labels, got {options['labels']}.")
    splits = (train.part("train", kept), train.part("validation", held_out), test)
    sizes = {"vocabulary_size": words.vocabulary_size}
    return SequenceDataset(name, "classes", tuple(books), (None,), *splits, {**facts, "seed": seed}, sizes=sizes, tokenizer=words)


def passages_source(name: str = "passages") -> SequenceSource:
    """Return the source of all passages, each with its book; a hash of the text decides what is for the test.

    Args:
        name: of the data set that asks, for the error.
    """
    return SequenceSource(
        "bible_passages",
        f"The King James Version of the Bible in passages of about {_CHARACTERS} characters.",
        {"book": None, "text": None},
        lambda: _splits(numbered_verses(name)),
        origin="the King James Version in Debian's package bible-kjv-text",
    )


def passages(text: str) -> list[tuple[str, list[str]]]:
    """Return (book, verses) of passages: verses of one chapter that follow each other, up to so many characters.

    Args:
        text: verses behind their numbers, one a line.
    """
    found: list[tuple[str, list[str]]] = []
    chapter = None
    for book, number, verse in _VERSE.findall(text):
        if chapter == (book, number) and sum(map(len, found[-1][1])) + len(verse) <= _CHARACTERS:
            found[-1][1].append(verse)
        else:
            found.append((book, [verse]))
        chapter = book, number
    return found


def _splits(text: str) -> dict[str, list[dict[str, str]]]:
    """Return the splits; a passage of the training part that repeats a verse of the test is left out."""
    parts: dict[str, list[tuple[str, list[str]]]] = {"train": [], "test": []}
    for book, verses in passages(text):
        is_test = hashlib.sha256(" ".join(verses).lower().encode()).digest()[0] < _TEST
        parts["test" if is_test else "train"].append((book, verses))
    tested = {verse for _, verses in parts["test"] for verse in verses}
    parts["train"] = [(book, verses) for book, verses in parts["train"] if tested.isdisjoint(verses)]
    return {part: [{"book": book, "text": " ".join(verses)} for book, verses in rows] for part, rows in parts.items()}


def _read(name: str, data_dir: str | None) -> tuple[dict[str, Texts], dict]:
    arrays, facts = read_source(passages_source(name.partition(":")[0]), name, data_dir)
    return {part: {key: [text.decode() for text in values.tolist()] for key, values in arrays[part].items()} for part in arrays}, facts


def _tokenizer(texts: Sequence[str]) -> SubwordTokenizer:
    """Return the pieces of the whole training part: the same for every data set, seed and share, and of no test."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "text.txt"
        file.write_text("\n".join(texts), encoding="utf-8")
        return train_wordpiece(file, PIECES)


def _split(
    name: str, words: SubwordTokenizer, texts: Sequence[str], labels: np.ndarray | None, masking: Masking | None = None
) -> SequenceSplit:
    """Return texts as ids, all of the first segment; without labels these are the ids themselves."""
    start, end = words.special_id(_START), words.special_id(_END)
    ids = Ragged.of([[start, *words.encode(text)[: LENGTH - 2], end] for text in texts])
    segments = Ragged(np.zeros_like(ids.values), ids.starts)
    return SequenceSplit(name, {"token_ids": ids, "segment_ids": segments}, ids if labels is None else labels, ids.lengths, masking)


def _largest(books: Sequence[str], number: int) -> list[str]:
    """Return the books with the most passages, in the order of the Bible."""
    counts = Counter(books)
    if not 2 <= number <= len(counts):
        raise CanonError(f"books must be 2 to {len(counts)}, got {number}.")
    return [book for book in counts if book in dict(counts.most_common(number))]


def _few(places: np.ndarray, texts: Sequence[str], labels: np.ndarray, number: int, classes: int, seed: int) -> np.ndarray:
    """Return so many places at most, equally many of each class, ascending; a hash of seed and text chooses."""
    if number < classes or number % classes:
        raise CanonError(f"labels must be a multiple of {classes}, as many of each book, got {number}.")
    order = sorted(places.tolist(), key=lambda place: hashlib.sha256(f"few {seed}:{texts[place]}".encode()).digest())
    kept = [place for label in range(classes) for place in [row for row in order if labels[row] == label][: number // classes]]
    return np.sort(np.array(kept, "int64"))
