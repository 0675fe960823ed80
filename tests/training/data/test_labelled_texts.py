"""Texts of the user's own with their classes."""

import csv

import numpy as np
import pytest

from keras_canon import training, zoo
from keras_canon.training.data import load_sequences

pytest.importorskip("tokenizers", reason="the extra `text` is not installed")
WORDS = {"good": ["sun", "warm", "bright", "joy"], "bad": ["rain", "cold", "dark", "grief"]}


def write(path, rows, header=("text", "label"), delimiter=","):
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter=delimiter).writerows([header, *rows])
    return path


def sentences(number=120, seed=0):
    rng = np.random.default_rng(seed)
    return [(" ".join([f"Day {place}:", *rng.choice(WORDS[label], 4)]), label) for place in range(number) for label in WORDS]


@pytest.fixture
def reviews(tmp_path):
    return write(tmp_path / "reviews.csv", sentences())


def decoded(data, part):
    ids = data.splits[part].inputs["token_ids"]
    return [data.tokenizer.decode(ids[row].tolist()) for row in range(len(ids))]


def test_splits_are_disjoint_and_every_class_is_in_each(reviews):
    data = load_sequences(f"texts:{reviews}[pieces=200]")
    assert data.class_names == ("bad", "good")
    assert [len(split) for split in data.splits.values()] == [194, 22, 24]
    texts = [set(decoded(data, part)) for part in data.splits]
    assert sum(map(len, texts)) == len(set.union(*texts)) == 240
    assert all(np.bincount(split.labels).min() >= 10 for split in data.splits.values())
    assert data.sizes == {"vocabulary_size": data.tokenizer.vocabulary_size}
    first = data.train.inputs["token_ids"][0]
    assert [first[0], first[-1]] == [data.tokenizer.special_id(name) for name in ("[CLS]", "[SEP]")]
    other = load_sequences(f"texts:{reviews}[pieces=200]", seed=1)
    assert decoded(other, "test") == decoded(data, "test")
    assert decoded(other, "validation") != decoded(data, "validation")


def test_a_text_that_stands_twice_is_on_one_side(tmp_path):
    data = load_sequences(f"texts:{write(tmp_path / 'twice.csv', sentences() * 2)}")
    texts = [set(decoded(data, part)) for part in data.splits]
    assert sum(map(len, texts)) == len(set.union(*texts))


def test_tabs_other_columns_and_splits_of_its_own(tmp_path):
    rows = [(label, part, text) for seed, part in enumerate(("train", "validation", "test")) for text, label in sentences(6, seed)]
    path = write(tmp_path / "own.TSV", rows, ("stars", "part", "review"), "\t")
    data = load_sequences(f"texts:{path}[text=review,label=stars,split=part,length=5]")
    assert [len(split) for split in data.splits.values()] == [12, 12, 12]
    assert max(data.train.lengths) == 5
    assert all(row[-1] == data.tokenizer.special_id("[SEP]") for row in (data.train.inputs["token_ids"][place] for place in range(12)))


def test_ids_are_those_of_a_tokenizer_that_is_given(reviews, tmp_path):
    words = zoo.CharacterTokenizer.of_text("".join(text for text, _ in sentences()))
    words.save(tmp_path / "words")
    data = load_sequences(f"texts:{reviews}[tokenizer={tmp_path / 'words'}]")
    assert data.tokenizer.to_json() == words.to_json()
    first = data.train.inputs["token_ids"][0]
    assert [first[0], first[-1]] == [words.special_id(name) for name in ("<start>", "<end>")]


@pytest.mark.parametrize(
    ("rows", "header", "options", "message"),
    [
        ([("a", "x")], ("words", "label"), "", r"has no column 'text' but words, label: name it, as in texts:own\.csv\[text=COLUMN\]"),
        ([], ("text", "label"), "", "has no column 'text' but no row"),
        ([("a", "x"), ("b", "")], ("text", "label"), "", "Row 3 of .* has no label"),
        ([("a", "x"), (" ", "y")], ("text", "label"), "", "Row 3 of .* has no text"),
        ([("a", "x"), ("b", "x")], ("text", "label"), "", "has the one class x"),
        ([("a", "x"), ("b", "y")], ("text", "label"), "", "has too few texts: none is left for test and validation"),
        ([("a", "x", "tarin")], ("text", "label", "split"), "", "Row 2 of .* has the split 'tarin': allowed"),
        ([("a", "x", "train"), ("b", "x", "train"), ("c", "y", "test")], ("text", "label", "split"), "", "no text to train with in y"),
        (sentences(9), ("text", "label"), "[length=3]", "length must be a whole number of at least 4, got '3'"),
        (sentences(9), ("text", "label"), "[pieces=many]", "pieces must be a whole number of at least 100, got 'many'"),
        (sentences(9), ("text", "label"), "[pieces=300,tokenizer=there]", "either tokenizer, which has its pieces, or pieces"),
        (sentences(9), ("text", "label"), "[tokenizer=nowhere]", "nowhere"),
        (sentences(9), ("text", "label"), "[window=9]", "takes text, label, split, length, pieces, tokenizer in brackets"),
    ],
)
def test_what_cannot_be_read_is_told(rows, header, options, message, tmp_path):
    path = write(tmp_path / "own.csv", rows, header)
    with pytest.raises(zoo.CanonError, match=message):
        load_sequences(f"texts:{path}{options}")


@pytest.mark.parametrize("name", ["texts", "texts:none.csv", "texts:none.docx"])
def test_a_file_that_is_not_there(name):
    with pytest.raises(zoo.CanonError, match=r"texts:PATH"):
        load_sequences(name)


def test_a_bert_learns_them_from_the_recipe_of_books(reviews, tmp_path):
    changes = {
        "data.name": f"texts:{reviews}[pieces=300,length=16]",
        "model.overrides": {"depth": 1, "model_dim": 32, "num_heads": 2, "feedforward_dim": 64, "max_length": 16},
        "optimizer.learning_rate": 3e-3,
        "train.epochs": 6,
    }
    result = training.run("bert_tiny_books", out=tmp_path / "run", overrides=changes)
    assert result.test.accuracy > 0.9
    assert zoo.load_tokenizer(tmp_path / "run").to_json() == load_sequences(changes["data.name"]).tokenizer.to_json()
    assert "bad" in (tmp_path / "run" / "report.md").read_text(encoding="utf-8")
