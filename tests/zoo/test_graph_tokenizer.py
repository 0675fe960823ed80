"""Tokenizers as TensorFlow ops against the Python ones, on fuzzed text, and inside a SavedModel."""

import random

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_canon import zoo
from keras_canon.zoo.generation import Generation, Generator
from keras_canon.zoo.graph_byte_pairs import byte_letters

TEXTS = ["a", " ", "the", "é", "e\u0301", "🙂", "👩‍👩‍👧", "\n", "\u0000", "<end>", "漢字", "\ufffd", "\U0010ffff"]
PIECES = [piece.encode() for piece in TEXTS]
BROKEN = [b"\xff", b"\xc0\x80", b"\xe2\x82", b"\xf0\x9f\x99", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\x80"]
TOKENIZERS = {
    "bytes": zoo.ByteTokenizer(),
    "bytes, padding only": zoo.ByteTokenizer(["<pad>"]),
    "characters": zoo.CharacterTokenizer("the a🙂é\u0301字\n\x00"),
    "one character": zoo.CharacterTokenizer("t", ["<pad>", "<unk>"]),
    "characters and U+FFFD": zoo.CharacterTokenizer("ta\ufffd"),
}


def fuzzed(count: int, seed: int = 0) -> list[bytes]:
    draw = random.Random(seed)
    return [b"", *(b"".join(draw.choices(PIECES * 2 + BROKEN, k=draw.randint(1, 12))) for _ in range(count))]


def rows_of(ids, lengths) -> list[list[int]]:
    """Rows without padding, after a look that nothing else stands behind them."""
    ids, lengths = np.asarray(ids), np.asarray(lengths)
    assert ids.dtype == lengths.dtype == np.int32
    assert ids.shape == (len(lengths), max(1, lengths.max(initial=0)))
    assert not ids[np.arange(ids.shape[1]) >= lengths[:, None]].any()
    return [row[:length].tolist() for row, length in zip(ids, lengths, strict=True)]


@pytest.mark.parametrize("name", TOKENIZERS)
def test_ids_and_text_are_those_of_python(name):
    tokenizer = TOKENIZERS[name]
    graph = zoo.GraphTokenizer(tokenizer)
    texts = fuzzed(2000)
    ids, lengths = graph.encode(texts)
    rows = rows_of(ids, lengths)
    assert rows == [tokenizer.encode(text) for text in texts]
    assert graph.decode(ids).numpy().tolist() == [tokenizer.decode(row).encode() for row in rows]
    draw = np.random.RandomState(0)
    ids = draw.randint(0, tokenizer.vocabulary_size, (500, 9))
    assert graph.decode(ids).numpy().tolist() == [tokenizer.decode(row.tolist()).encode() for row in ids]


@pytest.mark.parametrize("name", ["bytes", "characters"])
def test_special_tokens_around_the_text(name):
    tokenizer = TOKENIZERS[name]
    graph = zoo.GraphTokenizer(tokenizer)
    texts = [b"", b"the", "a 🙂".encode(), b"\xff"]
    for start, end in (("<start>", None), (None, "<end>"), ("<start>", "<end>")):
        ids, lengths = graph.encode(texts, start=start, end=end)
        assert rows_of(ids, lengths) == [tokenizer.encode(text, start=start, end=end) for text in texts]
        assert graph.decode(ids).numpy().tolist() == [tokenizer.decode(tokenizer.encode(text)).encode() for text in texts]
    with pytest.raises(zoo.CanonError, match="no special token '<stop>'"):
        graph.encode(texts, end="<stop>")


@pytest.mark.parametrize("name", ["bytes", "characters"])
@pytest.mark.parametrize("texts", [[], [b""], [b"", b""]])
def test_batches_without_text(name, texts):
    graph = zoo.GraphTokenizer(TOKENIZERS[name])
    texts = tf.constant(texts, tf.string, shape=(len(texts),))
    assert rows_of(*graph.encode(texts)) == [[]] * len(texts)
    end = TOKENIZERS[name].special_id("<end>")
    assert rows_of(*graph.encode(texts, end="<end>")) == [[end]] * len(texts)


def test_an_id_of_another_vocabulary_is_an_error():
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"= 259 is not in \[0, 259\)"):
        zoo.GraphTokenizer(TOKENIZERS["bytes"]).decode([[3, 259]])


def test_other_tokenizers_are_refused(corpus):
    with pytest.raises(zoo.CanonError, match="A graph takes a tokenizer of bytes, characters or byte-level BPE, got str"):
        zoo.GraphTokenizer("bytes")
    with pytest.raises(zoo.CanonError, match="byte-level BPE, got WordPiece: export the model for ids instead"):
        zoo.GraphTokenizer(zoo.train_wordpiece(corpus, 300))


WORDS = [
    "don't",
    "we'll",
    "I'm",
    "'s",
    "'re",
    "'",
    "''",
    "'S",
    "the",
    "tokenizer",
    "aaa",
    "aaaaaaa",
    " ",
    "  ",
    "   ",
    "\n",
    "\r\n",
    "\t",
    "1",
    "2024",
]
WORDS += ["-", "...", "\u00a0", "\u2003", "\u0085", "\u200b", "²", "Ⅷ", "٣", "𝔘", "ǅ", "ﬃ", "한", "ß", "_", "\x1c", "\ufeff", *TEXTS]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    path = tmp_path_factory.mktemp("corpus") / "text.txt"
    draw = random.Random(1)
    lines = (
        " ".join(draw.choices(["the", "tokenizer", "don't", "aaaa", "2024", "漢字", "🙂", "we'll", "é", "  "], k=9)) for _ in range(200)
    )
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def byte_pairs(corpus):
    tokenizer = zoo.train_bpe(corpus, 330)
    return tokenizer, zoo.GraphTokenizer(tokenizer)


def test_byte_pairs_are_those_of_the_library(byte_pairs):
    tokenizer, graph = byte_pairs
    draw = random.Random(2)
    texts = ["", *WORDS, *("".join(draw.choices(WORDS, k=draw.randint(1, 12))) for _ in range(1000))]
    ids, lengths = graph.encode([text.encode() for text in texts])
    rows = rows_of(ids, lengths)
    for text, row in zip(texts, rows, strict=True):
        assert row == tokenizer.encode(text), repr(text)
    assert graph.decode(ids, lengths).numpy().tolist() == [text.encode() for text in texts]
    ids = np.random.RandomState(0).randint(0, tokenizer.vocabulary_size, (500, 9))
    assert graph.decode(ids).numpy().tolist() == [tokenizer.decode(row.tolist()).encode() for row in ids]


@pytest.mark.parametrize("texts", [[], [b""], [b"", b"the", b""]])
def test_byte_pairs_of_batches_with_empty_texts(byte_pairs, texts):
    tokenizer, graph = byte_pairs
    texts = tf.constant(texts, tf.string, shape=(len(texts),))
    assert rows_of(*graph.encode(texts, end="<end>")) == [tokenizer.encode(text, end="<end>") for text in texts.numpy()]


def test_every_character_is_cut_as_the_library_cuts_it(byte_pairs):
    tokenizer, graph = byte_pairs
    draw = random.Random(3)
    points = [*range(0x3000), *(draw.choice([draw.randrange(0x3000, 0xD800), draw.randrange(0xE000, 0x110000)]) for _ in range(3000))]
    texts = [f"a{chr(point)}1{chr(point)}  {chr(point)}'s" for point in points]
    assert rows_of(*graph.encode(texts)) == [tokenizer.encode(text) for text in texts]


def test_byte_pairs_refuse_what_python_refuses(byte_pairs):
    tokenizer, graph = byte_pairs
    for text in BROKEN:
        with pytest.raises(tf.errors.InvalidArgumentError, match="A text is not UTF-8"):
            graph.encode([b"the", text])
        with pytest.raises(zoo.CanonError, match="not UTF-8"):
            tokenizer.encode(text)


class Writer(tf.Module):
    """Text in, text out: a byte tokenizer around the generation of a small model."""

    def __init__(self, model, tokenizer):
        super().__init__()
        self.model = model
        self.graph = zoo.GraphTokenizer(tokenizer)
        stop = tokenizer.special_id("<end>")
        self.generator = Generator(model, Generation(max_new_tokens=6, temperature=1.0, stop_ids=(stop,)))

    @tf.function(input_signature=[tf.TensorSpec((None,), tf.string), tf.TensorSpec((2,), tf.int32)])
    def generate(self, texts, seed):
        ids, lengths = self.graph.encode(texts, start="<start>")
        ids = ids[:, :16]
        ids = tf.ensure_shape(tf.pad(ids, [[0, 0], [0, 16 - tf.shape(ids)[1]]]), (None, 16))
        return self.graph.decode(self.generator.write(ids, lengths, seed))


def test_a_saved_model_writes_the_text_that_python_writes(tmp_path):
    tokenizer = zoo.ByteTokenizer()
    overrides = {"vocabulary_size": 259, "max_length": 32, "depth": 1, "model_dim": 16, "num_heads": 2}
    keras.utils.set_random_seed(0)
    writer = Writer(zoo.create("gpt2_tiny", overrides=overrides), tokenizer)
    tf.saved_model.save(writer, str(tmp_path / "saved"), signatures=writer.generate)
    texts = ["the fox", "", "🙂"]
    saved = tf.saved_model.load(str(tmp_path / "saved")).signatures["serving_default"]
    found = saved(texts=tf.constant(texts), seed=tf.constant([5, 0]))["output_0"].numpy()
    rows = writer.generator([tokenizer.encode(text, start="<start>") for text in texts], seed=5)
    assert [text.decode() for text in found] == [tokenizer.decode(row) for row in rows]


def test_pieces_outside_the_letters_of_bytes_are_written_as_they_are():
    vocabulary = {letter: token for token, letter in enumerate(byte_letters())} | {"a b": 256, "日": 257, "a\u0120日": 258, "<end>": 259}
    tokenizer = zoo.SubwordTokenizer(vocabulary, [], ["<end>"])
    rows = [[256, 257, 258, 259], [257, 65, 66, 67]]
    found = zoo.GraphTokenizer(tokenizer).decode(rows).numpy()
    assert [text.decode() for text in found] == [tokenizer.decode(row) for row in rows]
    assert found[0].decode() == "a b日a\u0120日"
