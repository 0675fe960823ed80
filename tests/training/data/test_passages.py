"""Passages of the Bible: disjoint splits, one vocabulary that saw no test, and few labels of the largest books."""

import shutil
from collections import Counter

import numpy as np
import pytest
from checks.small_bible import BOOKS, small_bible

from keras_canon.training.data import load_sequences
from keras_canon.training.data.bible import numbered_verses
from keras_canon.training.data.passages import LENGTH, PIECES, passages, passages_source
from keras_canon.zoo import CanonError


def text_is_installed() -> bool:
    try:
        return bool(numbered_verses("passages"))
    except CanonError:
        return False


needs_bible = pytest.mark.skipif(not text_is_installed(), reason="Debian's package bible-kjv-text is not installed")


@pytest.fixture
def prepared(monkeypatch, tmp_path_factory):
    """A folder in which the passages of the small Bible are prepared."""
    monkeypatch.setattr("keras_canon.training.data.passages.numbered_verses", lambda name: small_bible())
    return tmp_path_factory.mktemp("passages")


def texts(split):
    return [split.inputs["token_ids"][place].tobytes() for place in range(len(split))]


def test_passages_are_verses_of_one_chapter_that_follow_each_other():
    text = small_bible()
    found = passages(text)
    assert [verse for _, verses in found for verse in verses] == [line.partition(" ")[2] for line in text.splitlines()]
    assert {book for book, _ in found} == set(BOOKS)
    assert Counter(len(verses) for _, verses in found).most_common(1)[0][0] == 2
    assert passages("Ge1:1 a\nGe1:2 b\nGe2:1 c\n1Sm2:1 d\n") == [("Ge", ["a", "b"]), ("Ge", ["c"]), ("1Sm", ["d"])]


def test_no_verse_of_the_test_is_in_what_is_trained_on(monkeypatch):
    monkeypatch.setattr("keras_canon.training.data.passages.numbered_verses", lambda name: small_bible())
    splits = passages_source().splits()
    verses = {part: {sentence for row in rows for sentence in row["text"].split(". ")} for part, rows in splits.items()}
    assert len(splits["test"]) > 50
    assert not {verse.rstrip(".") for verse in verses["train"]} & {verse.rstrip(".") for verse in verses["test"]}


def test_splits_are_disjoint_and_one_vocabulary_serves_both(prepared):
    whole, books = (load_sequences(name, data_dir=prepared) for name in ("passages", "books:books=3"))
    other_seed = load_sequences("passages", data_dir=prepared, seed=5, validation=0.3)
    assert whole.tokenizer.to_json() == books.tokenizer.to_json() == other_seed.tokenizer.to_json()
    assert whole.sizes == books.sizes == {"vocabulary_size": whole.num_classes}
    assert whole.class_names[:5] == ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
    trained = set(texts(whole.train)) | set(texts(whole.validation)) | set(texts(books.train)) | set(texts(books.validation))
    assert not trained & set(texts(books.test))
    assert not trained & set(texts(whole.test))
    assert set(texts(books.test)) < set(texts(whole.test))
    for data in (whole, books):
        assert not set(texts(data.train)) & set(texts(data.validation))
        for split in data.splits.values():
            ids = split.inputs["token_ids"]
            assert set(ids.values[ids.starts[:-1]]) == {data.tokenizer.special_id("[CLS]")}
            assert set(ids.values[ids.starts[1:] - 1]) == {data.tokenizer.special_id("[SEP]")}
            assert split.lengths.max() <= LENGTH
            assert not split.inputs["segment_ids"].values.any()
    assert (whole.kind, whole.train.masking is None, books.kind, books.train.masking) == ("tokens", False, "classes", None)
    assert books.class_names == ("Ge", "Exo", "Lev")


def test_few_labels_are_equally_many_of_each_book(prepared):
    few, again, other = (load_sequences("books:labels=40,books=4", data_dir=prepared, seed=seed) for seed in (0, 0, 1))
    whole = load_sequences("books:books=4", data_dir=prepared)
    assert np.bincount(few.train.labels).tolist() == [10] * 4
    assert np.bincount(few.validation.labels).max() <= 10
    assert texts(few.train) == texts(again.train)
    assert set(texts(few.train)) != set(texts(other.train))
    assert set(texts(few.train)) < set(texts(whole.train))
    assert texts(few.test) == texts(whole.test) == texts(other.test)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("passages:3", "'passages' takes no options, got 'passages:3'"),
        ("books:labels=41,books=4", "labels must be a multiple of 4, as many of each book, got 41"),
        ("books:labels=4000,books=4", "to label of 4 books: lower labels, got 4000"),
        ("books:books=1", "books must be 2 to 4, got 1"),
        ("books:verses=3", "books takes whole numbers for labels, books, as in books:labels=100, got 'verses=3'"),
        ("books[labels=3]", "'books' takes no options in brackets"),
    ],
)
def test_bad_names_are_refused(name, message, prepared):
    with pytest.raises(CanonError, match=message):
        load_sequences(name, data_dir=prepared)


@pytest.mark.parametrize("name", ["passages", "books:labels=200"])
def test_what_is_not_installed_is_said_in_one_sentence(name, tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda program: None)
    with pytest.raises(CanonError, match=f"'{name.partition(':')[0]}' needs Debian's package bible-kjv-text: install it"):
        load_sequences(name, data_dir=tmp_path)


@needs_bible
@pytest.mark.slow
def test_the_ten_largest_books_have_a_thousand_passages_for_the_test(data_dir, connections):
    books, whole = (load_sequences(name, data_dir=data_dir) for name in ("books:labels=200", "passages"))
    assert (len(books.train), len(books.validation), books.num_classes) == (200, 200, 10)
    assert len(books.test) >= 1000
    assert whole.num_classes == PIECES
    assert not (set(texts(whole.train)) | set(texts(whole.validation))) & set(texts(books.test))
    assert np.mean(whole.train.lengths == LENGTH) < 0.1
    assert not connections
