"""`canon generate`: a prompt on the command line, the text of the model on the screen."""

import json

import keras
import numpy as np
import pytest
import tensorflow as tf
from typer.testing import CliRunner

from keras_canon import zoo
from keras_canon.cli.generate import load_words
from keras_canon.cli.main import app
from keras_canon.zoo.generation import Generation

SIZES = {"vocabulary_size": 259, "depth": 1, "model_dim": 16, "num_heads": 2}
TOKENIZER = zoo.ByteTokenizer()


def writer(name, overrides) -> zoo.Model:
    """A model whose logits lie so far apart that no rounding decides which token is the likeliest."""
    model = zoo.create(name, overrides={**SIZES, **overrides})
    for number, weight in enumerate(model.trainable_weights):
        if len(weight.shape) > 1:
            weight.assign(np.random.RandomState(number).standard_normal(weight.shape) * 0.6)
    return model


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The folder of a run: a model that writes, and its tokenizer."""
    folder = tmp_path_factory.mktemp("run")
    writer("gpt2_tiny", {"max_length": 48}).save(folder / "model.keras")
    TOKENIZER.save(folder)
    return folder


@pytest.fixture(autouse=True)
def eager():
    """Without tracing, which costs more than the few ids of these tests."""
    tf.config.run_functions_eagerly(True)
    yield
    tf.config.run_functions_eagerly(False)


def generate(*arguments) -> str:
    found = CliRunner().invoke(app, ["generate", *map(str, arguments)], catch_exceptions=False)
    assert found.exit_code == 0, found.output
    return found.output


def test_the_text_is_that_of_python(run):
    model = zoo.load_model(run / "model.keras")
    settings = Generation(max_new_tokens=6, temperature=1.0, stop_ids=(2,))
    rows = zoo.generate(model, [TOKENIZER.encode("the fox"), TOKENIZER.encode("é")], settings, seed=3)
    options = ["--max-new-tokens", 6, "--temperature", 1.0, "--seed", 3]
    both = ["--prompt", "the fox", "--prompt", "é"]
    answers = json.loads(generate(run, *both, *options, "--json"))
    assert answers == [
        {"prompt": text, "text": TOKENIZER.decode(row), "ids": row} for text, row in zip(["the fox", "é"], rows, strict=True)
    ]
    assert generate(run / "model.keras", *both, *options) == "".join(f"{answer['prompt']}{answer['text']}\n" for answer in answers)
    # one prompt is written token by token
    (row,) = zoo.generate(model, [TOKENIZER.encode("é")], settings, seed=3)
    assert generate(run, "--prompt", "é", *options) == f"é{TOKENIZER.decode(row)}\n"


def test_a_translator_reads_the_prompt(tmp_path):
    model = writer("transformer_tiny", {"depth": [1, 1]})
    model.save(tmp_path / "model.keras")
    TOKENIZER.save(tmp_path)
    prompts = {"source_ids": [TOKENIZER.encode("the fox", end="<end>")], "target_ids": [[TOKENIZER.special_id("<start>")]]}
    (row,) = zoo.generate(model, prompts, Generation(max_new_tokens=3, stop_ids=(2,)))
    assert generate(tmp_path, "--prompt", "the fox", "--max-new-tokens", 3) == f"{TOKENIZER.decode(row)}\n"


def test_bad_input_is_one_sentence(run, tmp_path):
    def fails(message, *arguments):
        with pytest.raises(zoo.CanonError, match=message):
            generate(*arguments)

    fails(r"The prompt is empty: write something, or .* --start \(<pad>, <start>, <end>\)", run, "--prompt", "")
    fails("no special token '<stop>'", run, "--prompt", "a", "--stop", "<stop>")
    fails("no special token '<bos>'", run, "--prompt", "a", "--start", "<bos>")
    fails("the byte 0xff at 1", run, "--prompt", "a\udcff")
    fails("top_p must be above 0", run, "--prompt", "a", "--max-new-tokens", 2, "--temperature", 1, "--top-p", 3)
    fails("A prompt of 40 ids and 64 new ones are more than the context", run, "--prompt", "a" * 40)
    zoo.ByteTokenizer(["<pad>"]).save(tmp_path / "other")
    fails("The tokenizer has 257 tokens and 'gpt2_tiny' 259", run, "--prompt", "a", "--tokenizer", tmp_path / "other")
    fails(r"There is no tokenizer\.json", run, "--prompt", "a", "--tokenizer", tmp_path)
    fails(r"There is no model\.keras in", tmp_path, "--prompt", "a")
    fails(r"'gpt2' is untrained: give --weights .*\(hf:gpt2\)", "gpt2", "--prompt", "a")
    fails("There is no model 'gpt7'", "gpt7", "--prompt", "a")
    with pytest.raises(zoo.CanonError, match="'gpt2' brings no tokenizer: give --tokenizer"):
        load_words(None, "gpt2")


def test_an_empty_prompt_begins_with_a_special_token(run):
    assert generate(run, "--prompt", "", "--start", "<start>", "--max-new-tokens", 1).endswith("\n")


def test_the_files_of_gpt2_are_a_tokenizer(tmp_path):
    (tmp_path / "text.txt").write_text("the fox and the dog\n" * 5, encoding="utf-8")
    trained = zoo.train_bpe(tmp_path / "text.txt", 270, special_tokens=["<|endoftext|>"])
    model = trained.to_json()["model"]
    (tmp_path / "vocab.json").write_text(json.dumps(model["vocab"]), encoding="utf-8")
    (tmp_path / "merges.txt").write_text("\n".join(" ".join(pair) for pair in model["merges"]), encoding="utf-8")
    assert load_words(tmp_path, "gpt2").encode("the fox") == trained.encode("the fox")


def test_a_run_with_two_alphabets_reads_the_one_and_writes_the_other(tmp_path):
    special = ["<pad>", "<unk>", "<start>", "<end>"]
    source, target = (zoo.CharacterTokenizer(characters, special) for characters in ("abcd", "xyz"))
    sizes = {"source_vocabulary_size": 8, "target_vocabulary_size": 7}
    model = zoo.create("seq2seq_attention", overrides=sizes)
    model.save(tmp_path / "model.keras")
    (tmp_path / "vocabulary.json").write_text(json.dumps({"source": special + list("abcd"), "target": special + list("xyz")}))
    prompts = {"source_ids": [source.encode("dab", end="<end>")], "target_ids": [[2]]}
    (row,) = zoo.generate(model, prompts, Generation(max_new_tokens=5, stop_ids=(3,)))
    assert generate(tmp_path, "--prompt", "dab", "--max-new-tokens", 5) == f"{target.decode(row)}\n"
    with pytest.raises(zoo.CanonError, match="A text to translate is empty: write at least one character"):
        generate(tmp_path, "--prompt", "")


def test_a_model_of_elsewhere_and_a_seed_that_is_too_large(run, tmp_path):
    keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)], name="foreign").save(tmp_path / "foreign.keras")
    TOKENIZER.save(tmp_path)
    with pytest.raises(zoo.CanonError, match="'foreign' is no model of the zoo"):
        generate(tmp_path / "foreign.keras", "--prompt", "a")
    found = CliRunner().invoke(app, ["explain", str(tmp_path / "foreign.keras"), "--text", "a", "--out", str(tmp_path / "a.png")])
    assert "'foreign' is no model of the zoo" in str(found.exception)
    for seed in (2**31, 2**63):
        with pytest.raises(zoo.CanonError, match="seed must fit in 32 bits"):
            generate(run, "--prompt", "a", "--max-new-tokens", 2, "--temperature", 1, "--seed", seed)
