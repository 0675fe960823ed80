"""Data sets of sequences: what they hold, that splits are disjoint, and that nothing is asked of a network."""

import struct

import numpy as np
import pytest

from keras_canon.training.data import load, load_sequences
from keras_canon.training.data.dates import written
from keras_canon.training.data.gettext_pairs import gettext_source, read_catalogue
from keras_canon.training.data.memory_tasks import BLANK, GO, MemoryOptions, adding, copying, parity
from keras_canon.training.data.text import documentation, text_source, windows
from keras_canon.training.data.vocabulary import END, START, UNKNOWN, Characters
from keras_canon.zoo import CanonError

SMALL = ["rows:digits", "adding:length=12,examples=100", "copying:delay=3,symbols=2,examples=100", "parity:length=9,examples=200"]


def generator():
    return np.random.default_rng(3)


@pytest.mark.parametrize("name", [*SMALL, "dates:examples=100"])
def test_splits_are_disjoint_and_repeatable(name, data_dir, connections):
    first, again = (load_sequences(name, data_dir=data_dir) for _ in range(2))
    seen = []
    for part, other in zip(first.splits.values(), again.splits.values(), strict=True):
        column, same = next(iter(part.inputs.values())), next(iter(other.inputs.values()))
        assert len(part) == len(column) == len(part.labels) == len(part.lengths) > 0
        rows = [np.asarray(column[place]).tobytes() for place in range(len(part))]
        assert rows == [np.asarray(same[place]).tobytes() for place in range(len(part))]
        seen.append(set(rows))
    if not name.startswith(("parity", "copying")):  # few of them are possible
        assert not seen[0] & seen[2]
    assert not seen[0] & seen[1]
    assert not connections


def test_rows_are_the_pictures(data_dir):
    pictures, rows = load("digits", data_dir=data_dir), load_sequences("rows:digits", data_dir=data_dir)
    assert rows.class_names == pictures.class_names
    assert rows.input_shape == (None, 8)
    np.testing.assert_allclose(rows.test.inputs["sequences"][5], pictures.test.image(5)[..., 0] / 255.0, rtol=1e-6)
    np.testing.assert_array_equal(rows.test.labels, pictures.test.labels)
    few = load_sequences("rows:digits[per_class=3]", data_dir=data_dir)
    assert len(few.train) == 30


def test_adding_asks_for_the_sum_of_two_marked_numbers():
    sequence, label = adding(generator(), MemoryOptions(length=21))
    marked = np.flatnonzero(sequence[:, 1])
    assert sequence.shape == (21, 2)
    assert len(marked) == 2
    assert marked[0] < 10 <= marked[1]
    assert label == pytest.approx(sequence[marked, 0].sum())


def test_copying_asks_for_the_symbols_after_the_sign():
    sequence, label = copying(generator(), MemoryOptions(delay=4, symbols=3))
    assert len(sequence) == len(label) == 10
    np.testing.assert_array_equal(sequence[3:], [BLANK, BLANK, BLANK, GO, BLANK, BLANK, BLANK])
    np.testing.assert_array_equal(label, [BLANK] * 7 + sequence[:3].tolist())
    assert set(sequence[:3]) <= set(range(1, 9))


def test_parity_counts_ones(data_dir):
    sequence, label = parity(generator(), MemoryOptions(length=9))
    assert label == (sequence == 1).sum() % 2
    data = load_sequences("parity:length=9,examples=200", data_dir=data_dir)
    values = data.test.inputs["sequences"]
    assert [int(np.count_nonzero(row)) for row in values] == data.test.lengths.tolist()
    assert data.test.lengths.min() < 4
    assert data.test.lengths.max() == 9


def test_dates_are_the_same_day_in_every_form(data_dir):
    import datetime

    day = datetime.date(1983, 2, 3)
    assert [written(day, form) for form in (0, 1, 2, 6, 8)] == [
        "3 February 1983", "February 3, 1983", "3 Feb 1983", "03.02.1983", "the 3rd of February 1983"
    ]  # fmt: skip
    assert [written(datetime.date(2000, 1, number), 8)[:9].split()[1] for number in (1, 2, 11, 12, 13, 21, 22, 23)] == [
        "1st", "2nd", "11th", "12th", "13th", "21st", "22nd", "23rd"
    ]  # fmt: skip
    data = load_sequences("dates:examples=100", data_dir=data_dir)
    targets = [{Characters(data.class_names).decode(row) for row in split.labels} for split in data.splits.values()]
    assert not targets[0] & targets[2]
    assert not targets[1] & targets[2]


def test_pairs_begin_and_end(data_dir):
    data = load_sequences("dates:examples=100", data_dir=data_dir)
    split = data.train
    for place in range(5):
        target, labels, source = split.inputs["target_ids"][place], split.labels[place], split.inputs["source_ids"][place]
        assert target[0] == START == data.start_id
        assert labels[-1] == END == data.end_id == source[-1]
        np.testing.assert_array_equal(target[1:], labels[:-1])
        assert split.lengths[place] == max(len(source), len(target))
    assert data.sizes == {"source_vocabulary_size": len(data.source_names), "target_vocabulary_size": len(data.class_names)}


def test_characters():
    alphabet = Characters.of(["ab", "é"])
    assert alphabet.symbols[4:] == ("a", "b", "é")
    assert alphabet.encode("béx").tolist() == [5, 6, UNKNOWN]
    assert alphabet.encode("").shape == (0,)
    assert alphabet.decode([START, 4, 0, 6, END, 4]) == "aé"


def test_text_is_cut_into_windows_that_lose_nothing(tmp_path, data_dir):
    path = tmp_path / "book.txt"
    text = "".join(f"line {number} of the book, ünïcode\n" for number in range(2000))
    path.write_text(text, encoding="utf-8")
    data = load_sequences(f"text:{path}[window=50]", data_dir=data_dir)
    alphabet = Characters(data.class_names)
    assert sum(data.facts["characters"].values()) == len(text)
    for split in data.splits.values():
        inputs, labels = split.inputs["token_ids"], split.labels
        assert inputs.shape == labels.shape
        assert inputs.shape[1] == 50
        np.testing.assert_array_equal(inputs.reshape(-1)[1:], labels.reshape(-1)[:-1])
        assert alphabet.decode(inputs[0]) in text
    # equal text under another name is prepared once
    other = tmp_path / "copy.txt"
    other.write_text(text, encoding="utf-8")
    assert load_sequences(f"text:{other}", data_dir=data_dir).facts["prepared_in"] == data.facts["prepared_in"]


def test_windows():
    inputs, labels = windows(np.arange(10), 4)
    np.testing.assert_array_equal(inputs, [[0, 1, 2, 3], [4, 5, 6, 7]])
    np.testing.assert_array_equal(labels, [[1, 2, 3, 4], [5, 6, 7, 8]])


def test_documentation_strings_are_collected(tmp_path):
    (tmp_path / "b.py").write_text('"""Module b."""\n\ndef f():\n    """Function f."""\n', encoding="utf-8")
    (tmp_path / "a.py").write_text('class A:\n    """Class A."""\n', encoding="utf-8")
    (tmp_path / "c.py").write_text("print 'of another version'\n", encoding="utf-8")
    (tmp_path / "test").mkdir()
    (tmp_path / "test" / "d.py").write_text('"""A test."""\n', encoding="utf-8")
    assert documentation(tmp_path) == "Class A.\n\nModule b.\n\nFunction f."


@pytest.mark.slow
def test_the_default_text_is_large(data_dir):
    data = load_sequences("text", data_dir=data_dir)
    assert data.facts["characters"]["train"] > 1_000_000
    assert data.train.inputs["token_ids"].shape[1] == 128


def catalogue(path, pairs, order="<"):
    """Write a .mo file as the GNU manual draws it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    number, tables, texts = len(pairs), b"", b""
    start = 28 + 16 * number
    for side in (0, 1):
        for pair in pairs:
            raw = pair[side].encode()
            tables += struct.pack(f"{order}2I", len(raw), start + len(texts))
            texts += raw + b"\0"
    head = struct.pack(f"{order}7I", 0x950412DE, 0, number, 28, 28 + 8 * number, 0, 0)
    path.write_bytes(head + tables + texts)


@pytest.mark.parametrize("order", ["<", ">"])
def test_catalogues_are_read(tmp_path, order):
    pairs = [("", "header"), ("Cancel", "Annuler"), ("file\0files", "fichier\0fichiers"), ("menu\4Open", "Ouvrir"), ("Save", "Enregistrer")]
    catalogue(tmp_path / "a.mo", pairs, order)
    assert list(read_catalogue(tmp_path / "a.mo")) == [("", "header"), ("Cancel", "Annuler"), ("Save", "Enregistrer")]
    (tmp_path / "b.mo").write_bytes(b"no catalogue")
    (tmp_path / "c.mo").write_bytes((tmp_path / "a.mo").read_bytes()[:60])
    assert list(read_catalogue(tmp_path / "b.mo")) == []
    assert len(list(read_catalogue(tmp_path / "c.mo"))) < 3
    (tmp_path / "d.mo").write_bytes((tmp_path / "a.mo").read_bytes()[:-4])  # within the last translation
    assert list(read_catalogue(tmp_path / "d.mo")) == [("", "header"), ("Cancel", "Annuler")]


def test_pairs_of_messages(tmp_path):
    pairs = [(f"Message number {number} of a program", f"Message {number} d'un programme") for number in range(100)]
    pairs += [("Use %s", "Utilisez %s"), ("Same", "Same"), ("x" * 61, "long"), ("--help", "--aide"), ("12", "13")]
    catalogue(tmp_path / "fr" / "LC_MESSAGES" / "a.mo", pairs)
    splits = gettext_source("en-fr", [tmp_path]).splits()
    assert len(splits["train"]) + len(splits["test"]) == 100
    assert 2 <= len(splits["test"]) <= 25
    with pytest.raises(CanonError, match=r"No installed program has a catalogue for 'de': there are fr\."):
        gettext_source("en-de", [tmp_path])


def test_what_is_no_file_is_no_catalogue(tmp_path):
    folder = tmp_path / "fr" / "LC_MESSAGES"
    pairs = [(f"Message number {number} of a program", f"Message {number} d'un programme") for number in range(100)]
    catalogue(folder / "a.mo", pairs)
    alone = gettext_source("en-fr", [tmp_path])
    (folder / "dangling.mo").symlink_to(tmp_path / "removed.mo")
    (folder / "folder.mo").mkdir()
    (folder / "linked.mo").symlink_to(folder / "a.mo")
    (tmp_path / "de" / "LC_MESSAGES" / "folder.mo").mkdir(parents=True)
    found = gettext_source("en-fr", [tmp_path])
    assert found.origin == "2 message catalogues of installed programs"
    assert found.splits() == alone.splits()
    with pytest.raises(CanonError, match=r"No installed program has a catalogue for 'de': there are fr\."):
        gettext_source("en-de", [tmp_path])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("digits", "'digits' holds pictures: read them row by row as rows:digits"),
        ("rows:text", "'text' holds sequences: name pictures"),
        ("rows:", "Pictures read row by row are named rows:NAME"),
        ("adding:delay=3", "adding takes whole numbers for length, examples, as in adding:length=100, got 'delay=3'"),
        ("copying:delay=0", "delay of a memory task must be 1 to 10000, got 0"),
        ("dates:examples=3", "examples of dates must be 50 to 1000000, got 3"),
        ("dates[window=3]", "'dates' takes alphabet in brackets"),
        ("gettext:fr-en", "gettext takes English and one other language"),
        ("text[window=3]", "window must be a whole number from 8 to 4096, got '3'"),
        ("text:/no/such/file", "There is no text file '/no/such/file'"),
    ],
)
def test_bad_names_are_refused(name, message, data_dir):
    with pytest.raises(CanonError, match=message):
        load_sequences(name, data_dir=data_dir)


def test_pictures_are_not_loaded_from_sequences():
    with pytest.raises(CanonError, match="'adding' holds sequences, and pictures are asked for"):
        load("adding")


def test_texts_that_cannot_be_read_are_refused(tmp_path):
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9" * 1000)
    with pytest.raises(CanonError, match=r"is no UTF-8 text \(byte 3\)"):
        text_source(str(tmp_path / "latin.txt"))
    (tmp_path / "short.txt").write_text("short\n", encoding="utf-8")
    with pytest.raises(CanonError, match="has 6 characters: give at least 5,120"):
        text_source(str(tmp_path / "short.txt")).splits()


def test_pairs_can_share_one_alphabet(data_dir):
    data = load_sequences("dates:examples=60[alphabet=shared]", data_dir=data_dir)
    assert data.class_names == data.source_names
    assert data.sizes == {"vocabulary_size": len(data.class_names)}
    alphabet = Characters(data.class_names)
    assert all(symbol in alphabet.symbols for symbol in "JanTue0123456789-")
    with pytest.raises(CanonError, match="alphabet must be shared or separate, got 'own'"):
        load_sequences("dates:examples=60[alphabet=own]", data_dir=data_dir)


def test_a_byte_order_mark_is_no_character(tmp_path, data_dir):
    path = tmp_path / "book.txt"
    path.write_text("".join(f"line {number} of a book\n" for number in range(2000)), encoding="utf-8-sig")
    assert "\ufeff" not in load_sequences(f"text:{path}", data_dir=data_dir).class_names
