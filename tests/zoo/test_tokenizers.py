"""Tokenizers in Python: by bytes, by characters, by pieces of words; their files, their special tokens, bad input."""

import json
import random
import sys

import pytest

from keras_canon import zoo
from keras_canon.zoo.tokenizers_subword import BERT_SPECIAL

TEXT = """The quick brown fox jumps over the lazy dog, and the dog does not mind: it was asleep.
Le cœur a ses raisons que la raison ne connaît point; on le sait en mille choses.
Over the hills and far away the fox is jumping still, quicker and quicker, and the hills are brown.
"""
PIECES = [
    "a",
    " ",
    "the",
    "é",
    "e\u0301",
    "🙂",
    "👩‍👩‍👧",
    "\n\n",
    "\u0000",
    "<end>",
    "[MASK]",
    "漢字",
    "\ufffd",
    "n't",
    ".",
    "don't",
    "ing",
    "\u00a0",
    "'s",
]
BROKEN = [b"\xff", b"\xc0\x80", b"\xe2\x82", b"\xf0\x9f\x99", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\x80"]


def fuzzed(count: int, seed: int = 0) -> list[str]:
    draw = random.Random(seed)
    return ["", *("".join(draw.choices(PIECES, k=draw.randint(1, 12))) for _ in range(count))]


def fuzzed_bytes(count: int, seed: int = 0) -> list[bytes]:
    """Texts of which most are no UTF-8."""
    draw = random.Random(seed)
    pieces = [piece.encode() for piece in PIECES] + BROKEN * 3
    return [b"", *(b"".join(draw.choices(pieces, k=draw.randint(1, 10))) for _ in range(count))]


@pytest.fixture(scope="module")
def text_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text(TEXT * 3, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def tokenizers(text_file) -> dict[str, zoo.Tokenizer]:
    return {
        "bytes": zoo.ByteTokenizer(),
        "characters": zoo.CharacterTokenizer.of_text(TEXT + "🙂"),
        "bpe": zoo.train_bpe(text_file, 400),
        "wordpiece": zoo.train_wordpiece(text_file, 200),
    }


KINDS = ["bytes", "characters", "bpe", "wordpiece"]


# ---- laws of every tokenizer


@pytest.mark.parametrize("kind", KINDS)
def test_a_folder_carries_it(kind, tokenizers, tmp_path):
    tokenizer = tokenizers[kind]
    path = tokenizer.save(tmp_path / "run")
    assert [file.name for file in path.parent.iterdir()] == ["tokenizer.json"]
    read = zoo.load_tokenizer(tmp_path / "run")
    assert type(read) is type(tokenizer)
    assert (read.vocabulary_size, read.special_tokens) == (tokenizer.vocabulary_size, tokenizer.special_tokens)
    for text in [TEXT, *fuzzed(50)]:
        assert read.encode(text) == tokenizer.encode(text)
    assert read.to_json() == tokenizer.to_json()


@pytest.mark.parametrize("kind", ["bytes", "bpe"])
def test_any_text_comes_back(kind, tokenizers):
    for text in [TEXT, *fuzzed(300)]:
        ids = tokenizers[kind].encode(text)
        assert max(ids, default=0) < tokenizers[kind].vocabulary_size
        assert tokenizers[kind].decode(ids) == text
        assert tokenizers[kind].encode(text.encode()) == ids


@pytest.mark.parametrize("kind", KINDS)
def test_special_tokens_have_names(kind, tokenizers):
    tokenizer = tokenizers[kind]
    names = list(tokenizer.special_tokens)
    first, last = names[0], names[-1]
    assert tokenizer.special_id(first) == 0, "padding"
    plain = tokenizer.encode("the fox")
    ids = tokenizer.encode("the fox", start=first, end=last)
    assert ids == [0, *plain, tokenizer.special_id(last)]
    assert tokenizer.decode(ids) == "the fox"
    assert tokenizer.decode(ids, keep_special=True).split(first, 1)[1].rsplit(last, 1)[0].strip() == "the fox"
    with pytest.raises(zoo.CanonError, match=r"no special token '<stop>'"):
        tokenizer.encode("the fox", end="<stop>")


@pytest.mark.parametrize("kind", KINDS)
def test_text_becomes_no_special_token_unless_asked(kind, tokenizers):
    tokenizer = tokenizers[kind]
    name = list(tokenizer.special_tokens)[-1]
    special = tokenizer.special_id(name)
    assert special not in tokenizer.encode(f"the {name} fox")
    ids = tokenizer.encode(f"the {name} fox", read_special=True)
    assert ids.count(special) == 1
    place = ids.index(special)
    assert ids[:place] == tokenizer.encode("the ")
    assert ids[place + 1 :] == tokenizer.encode(" fox")


@pytest.mark.parametrize("kind", KINDS)
def test_text_id_by_id_is_the_whole_text(kind, tokenizers):
    tokenizer = tokenizers[kind]
    rows = [tokenizer.encode(text) for text in fuzzed(200)]
    if kind == "bytes":
        rows += [tokenizer.encode(text) for text in fuzzed_bytes(300)]
    draw = random.Random(1)
    rows += [[draw.randrange(tokenizer.vocabulary_size) for _ in range(draw.randint(1, 15))] for _ in range(300)]
    for ids in rows:
        stream = zoo.TextStream(tokenizer)
        pieces = [stream.add(token) for token in ids]
        assert "".join(pieces) + stream.end() == tokenizer.decode(ids)
        assert stream.end() == ""


@pytest.mark.parametrize("kind", KINDS)
def test_ids_of_another_vocabulary_are_refused(kind, tokenizers):
    size = tokenizers[kind].vocabulary_size
    for ids, wrong in (([0, size], size), ([-1], -1)):
        with pytest.raises(zoo.CanonError, match=f"The id {wrong} is none of the tokenizer's {size}"):
            tokenizers[kind].decode(ids)
    with pytest.raises(zoo.CanonError, match="ids must be integers of one text"):
        tokenizers[kind].decode([0.5])
    assert tokenizers[kind].decode([]) == ""


def test_a_model_of_another_vocabulary_is_refused(tokenizers):
    tokenizers["bytes"].check_vocabulary(259, "gpt2_tiny")
    with pytest.raises(zoo.CanonError, match=r"The tokenizer has 259 tokens and 'gpt2_tiny' 2048: .*\"vocabulary_size\": 259"):
        tokenizers["bytes"].check_vocabulary(2048, "gpt2_tiny")


# ---- bytes and characters


def test_bytes_are_ids_behind_the_special_tokens():
    tokenizer = zoo.ByteTokenizer(["<pad>"])
    assert tokenizer.vocabulary_size == 257
    assert tokenizer.encode(bytes(range(256))) == list(range(1, 257))
    for text in fuzzed_bytes(300):
        assert tokenizer.decode_bytes(tokenizer.encode(text)) == text
        assert tokenizer.decode(tokenizer.encode(text)) == text.decode("utf-8", "replace")


def test_characters_outside_the_table_are_one_token():
    tokenizer = zoo.CharacterTokenizer("xyé", ["<pad>", "<unk>"])
    assert tokenizer.encode("éx?y") == [4, 2, 1, 3]
    assert tokenizer.encode(b"x\xffy") == [2, 1, 3]
    assert tokenizer.decode([4, 2, 1, 0, 3]) == "éx\ufffdy"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: zoo.ByteTokenizer([]), "special_tokens must be names, each once"),
        (lambda: zoo.ByteTokenizer(["<pad>", "<pad>"]), "each once"),
        (lambda: zoo.CharacterTokenizer("abca"), "got 'a' twice"),
        (lambda: zoo.CharacterTokenizer(""), "got none"),
        (lambda: zoo.CharacterTokenizer("abc", ["<pad>"]), "must begin with padding and the unknown"),
    ],
)
def test_impossible_tables_are_refused(make, message):
    with pytest.raises(zoo.CanonError, match=message):
        make()


# ---- text that cannot be read


@pytest.mark.parametrize("kind", KINDS)
def test_half_a_surrogate_pair_is_one_sentence(kind, tokenizers):
    with pytest.raises(zoo.CanonError, match=r"half of a surrogate pair, U\+D83D at 3"):
        tokenizers[kind].encode("ab \ud83d c")
    with pytest.raises(zoo.CanonError, match="not UTF-8: the byte 0xff at 1"):
        tokenizers[kind].encode(b"a\xff".decode("utf-8", "surrogateescape"))
    with pytest.raises(zoo.CanonError, match="A text must be a string or bytes, got int"):
        tokenizers[kind].encode(7)


@pytest.mark.parametrize("kind", KINDS[2:])
def test_invalid_utf8_is_one_sentence(kind, tokenizers):
    with pytest.raises(zoo.CanonError, match=r"The text is not UTF-8: the byte 0xff at 2 has no meaning there\."):
        tokenizers[kind].encode(b"ab\xffc")


@pytest.mark.parametrize("train", ["train_bpe", "train_wordpiece"])
def test_files_that_are_no_text(train, tmp_path):
    for content, message in ((b"caf\xe9\n", "is not UTF-8 at byte 3"), (b" \n", "There is no text in the files")):
        (tmp_path / "text.txt").write_bytes(content)
        with pytest.raises(zoo.CanonError, match=message):
            getattr(zoo, train)(tmp_path / "text.txt", 300)
    with pytest.raises(zoo.CanonError, match="cannot be read"):
        getattr(zoo, train)([tmp_path / "none.txt"], 300)


# ---- pieces of words


def test_training_joins_what_is_frequent(tokenizers, text_file):
    tokenizer = tokenizers["bpe"]
    assert len(tokenizer.encode(TEXT)) < 0.6 * len(TEXT.encode())
    assert len(tokenizer.encode(" the")) == 1
    assert list(tokenizer.special_tokens.values()) == [0, 1]
    assert zoo.train_bpe([text_file], 400).to_json() == tokenizer.to_json()
    with pytest.raises(zoo.CanonError, match="vocabulary_size must be at least 258"):
        zoo.train_bpe(text_file, 257)


def test_wordpiece_lowers_and_knows_its_unknown(tokenizers, text_file):
    tokenizer = tokenizers["wordpiece"]
    assert tokenizer.encode("THE Fox") == tokenizer.encode("the fox")
    assert tokenizer.encode("漢") == [tokenizer.special_id("[UNK]")]
    assert tokenizer.decode(tokenizer.encode("the 漢 dog, asleep.", start="[CLS]", end="[SEP]")) == "the [UNK] dog, asleep."
    assert zoo.train_wordpiece([text_file], 200).to_json() == tokenizer.to_json()
    with pytest.raises(zoo.CanonError, match=r"vocabulary_size must be at least [0-9]+, the characters of the text, got 20"):
        zoo.train_wordpiece(text_file, 20)
    cased = zoo.train_wordpiece(text_file, 200, lowercase=False)
    assert cased.encode("The") != cased.encode("the")
    with pytest.raises(zoo.CanonError, match=r"must hold '\[UNK\]'"):
        zoo.train_wordpiece(text_file, 200, special_tokens=["[PAD]"])


@pytest.fixture
def gpt2_files(tokenizers, tmp_path):
    """Files in the form of those that GPT-2 was published with: the special token comes last."""
    model = tokenizers["bpe"].to_json()["model"]
    pieces = [piece for piece in model["vocab"] if piece not in tokenizers["bpe"].special_tokens]
    vocabulary = {piece: token for token, piece in enumerate([*pieces, "<|endoftext|>"])}
    (tmp_path / "vocab.json").write_text(json.dumps(vocabulary), encoding="utf-8")
    merges = [" ".join(pair) for pair in model["merges"]]
    (tmp_path / "merges.txt").write_text("\n".join(["#version: 0.2", *merges, ""]), encoding="utf-8")
    return tmp_path


def test_the_files_of_gpt2(gpt2_files, tokenizers):
    tokenizer = zoo.read_gpt2(gpt2_files)
    size = tokenizer.vocabulary_size
    assert tokenizer.special_tokens == {"<|endoftext|>": size - 1}
    # the same pieces in another order, behind no special tokens
    shifted = [token - 2 for token in tokenizers["bpe"].encode(TEXT)]
    pieces = tokenizer.to_json()["model"]["vocab"]
    named = {token: piece for piece, token in tokenizers["bpe"].to_json()["model"]["vocab"].items()}
    assert tokenizer.encode(TEXT) == [pieces[named[token + 2]] for token in shifted]
    assert tokenizer.decode(tokenizer.encode(TEXT, end="<|endoftext|>")) == TEXT


def test_damaged_files_of_gpt2(gpt2_files):
    vocabulary = json.loads((gpt2_files / "vocab.json").read_text(encoding="utf-8"))

    def fails(message):
        with pytest.raises(zoo.CanonError, match=message):
            zoo.read_gpt2(gpt2_files)

    def write(changed):
        (gpt2_files / "vocab.json").write_text(json.dumps(changed), encoding="utf-8")

    write({piece: token for piece, token in vocabulary.items() if piece != "Ġthe"})
    fails(f"{len(vocabulary) - 1} pieces, and none of them has the id {vocabulary['Ġthe']}")
    write({("<none>" if piece == "Ġthe" else piece): token for piece, token in vocabulary.items()})
    fails("does not join two pieces of the vocabulary to a third")
    write({("<none>" if piece == "q" else piece): token for piece, token in vocabulary.items()})
    fails("lacks 1 of the 256 bytes, such as 'q'")
    write({("<none>" if piece == "<|endoftext|>" else piece): token for piece, token in vocabulary.items()})
    fails(r"no special token '<\|endoftext\|>'")
    (gpt2_files / "vocab.json").write_text("{", encoding="utf-8")
    fails("is no JSON at line 1")
    (gpt2_files / "vocab.json").write_text("[]", encoding="utf-8")
    fails("it is no table")
    (gpt2_files / "merges.txt").unlink()
    fails("There is no merges.txt")


def test_the_file_of_bert(tokenizers, tmp_path):
    vocabulary = tokenizers["wordpiece"].to_json()["model"]["vocab"]
    pieces = sorted(vocabulary, key=vocabulary.__getitem__)
    (tmp_path / "vocab.txt").write_text("\n".join([*pieces, ""]), encoding="utf-8")
    tokenizer = zoo.read_bert(tmp_path)
    assert tuple(tokenizer.special_tokens) == BERT_SPECIAL
    assert tokenizer.encode(TEXT) == tokenizers["wordpiece"].encode(TEXT)
    assert zoo.read_bert(tmp_path, lowercase=False).encode("The") != tokenizer.encode("The")
    (tmp_path / "vocab.txt").write_text("\n".join([*pieces, pieces[-1]]), encoding="utf-8")
    with pytest.raises(zoo.CanonError, match="holds 1 pieces twice"):
        zoo.read_bert(tmp_path)
    (tmp_path / "vocab.txt").write_text("\n".join(pieces[1:]), encoding="utf-8")
    with pytest.raises(zoo.CanonError, match=r"no special token '\[PAD\]'"):
        zoo.read_bert(tmp_path)


def test_files_of_other_rules_are_refused(tokenizers, tmp_path):
    def fails(content, message):
        (tmp_path / "tokenizer.json").write_text(json.dumps(content), encoding="utf-8")
        with pytest.raises(zoo.CanonError, match=message):
            zoo.load_tokenizer(tmp_path)

    good = tokenizers["bpe"].to_json()
    fails(good | {"pre_tokenizer": good["pre_tokenizer"] | {"add_prefix_space": True}}, "pre_tokenizer add_prefix_space = True")
    fails(good | {"pre_tokenizer": {"type": "Metaspace"}}, "pre_tokenizer 'Metaspace'")
    fails(good | {"normalizer": {"type": "NFC"}}, "normalizer 'NFC'")
    fails(good | {"model": good["model"] | {"type": "Unigram"}}, "another kind than GPT-2's")
    fails(good | {"model": good["model"] | {"dropout": 0.1}}, "model dropout = 0.1")
    fails({"model": 3}, "is damaged")
    bert = tokenizers["wordpiece"].to_json()
    fails(bert | {"normalizer": bert["normalizer"] | {"strip_accents": False}}, "normalizer strip_accents = False")
    fails({"kind": "words"}, "unknown kind 'words'")
    fails({"kind": "characters", "special_tokens": ["<pad>", "<unk>"]}, "is damaged")
    fails({"kind": "bytes"}, "is damaged")
    old = good | {"model": good["model"] | {"merges": [" ".join(pair) for pair in good["model"]["merges"]], "end_of_word_suffix": ""}}
    (tmp_path / "tokenizer.json").write_text(json.dumps(old), encoding="utf-8")
    assert zoo.load_tokenizer(tmp_path).to_json() == good
    with pytest.raises(zoo.CanonError, match=r"There is no tokenizer\.json"):
        zoo.load_tokenizer(tmp_path / "none")


def test_without_the_package_one_sentence_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    (tmp_path / "vocab.txt").write_text("\n".join(BERT_SPECIAL), encoding="utf-8")
    with pytest.raises(zoo.CanonError, match=r"pip install 'keras-canon\[text\]'"):
        zoo.read_bert(tmp_path)
    zoo.ByteTokenizer().save(tmp_path)
    assert zoo.load_tokenizer(tmp_path).vocabulary_size == 259


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(zoo.CanonError, match="cannot be written"):
        zoo.ByteTokenizer().save(tmp_path / "file")


def test_lines_that_end_as_on_windows(gpt2_files):
    merges = gpt2_files / "merges.txt"
    before = zoo.read_gpt2(gpt2_files).encode(TEXT)
    merges.write_bytes(merges.read_bytes().replace(b"\n", b"\r\n"))
    assert zoo.read_gpt2(gpt2_files).encode(TEXT) == before


@pytest.mark.parametrize("kind", ["bpe", "wordpiece"])
def test_added_tokens_that_are_not_special_are_refused(kind, tokenizers, tmp_path):
    """Hugging Face matches them in a text; read as pieces they would give other ids in silence."""
    tokenizers[kind].save(tmp_path)
    path = tmp_path / "tokenizer.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    extra = {"id": tokenizers[kind].vocabulary_size, "content": "<extra>", "special": False}
    content["added_tokens"].append({"single_word": False, "lstrip": False, "rstrip": False, "normalized": True, **extra})
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(zoo.CanonError, match="added tokens that are not special, such as '<extra>'"):
        zoo.load_tokenizer(tmp_path)


JUNK = [None, 5, "x", [], {}, ["a", 5], [["a"]]]


@pytest.mark.parametrize("kind", ["bpe", "wordpiece"])
def test_any_damage_of_a_file_is_one_sentence(kind, tokenizers, tmp_path):
    content = json.dumps(tokenizers[kind].to_json())
    places = [(part,) for part in json.loads(content)]
    places += [(part, key) for part in ("model", "pre_tokenizer", "normalizer") for key in json.loads(content)[part] or ()]
    places += [("added_tokens", 0), *(("added_tokens", 0, key) for key in ("id", "content", "special"))]
    places += [("model", "merges", 0)] if kind == "bpe" else []
    refused = []
    for *outer, last in places:
        for junk in [*JUNK, "missing"]:
            damaged = json.loads(content)
            node = damaged
            for key in outer:
                node = node[key]
            node[last] = junk
            if junk == "missing":
                del node[last]
            (tmp_path / "tokenizer.json").write_text(json.dumps(damaged), encoding="utf-8")
            try:  # some are no damage, such as another version
                zoo.load_tokenizer(tmp_path)
            except zoo.CanonError as error:
                refused.append(str(error))
    assert len(refused) > len(places)
    assert not any("\n" in message for message in refused)


def test_ids_that_are_no_list_are_one_sentence():
    for wrong in ([[1], [1, 2]], 5):
        with pytest.raises(zoo.CanonError, match="ids must be a list of integers of one text, got"):
            zoo.ByteTokenizer().decode(wrong)
