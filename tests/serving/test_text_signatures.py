"""Text in and text out: exported text is the text of Python, in this process, in one without the package, and over REST."""

import base64
import json
import subprocess
import sys

import keras
import numpy as np
import pytest
import requests
import tensorflow as tf
import typer
from checks.serving import encode
from typer.testing import CliRunner

from keras_canon import serving, zoo
from keras_canon.cli.export import export
from keras_canon.layers import ctc_greedy_decode
from keras_canon.serving import Text
from keras_canon.serving.streaming import Stream
from keras_canon.serving.text_signatures import _Writer, _written_lengths
from keras_canon.serving.warmup import WARMUP
from keras_canon.zoo import ByteTokenizer, CanonError, CharacterTokenizer, Generation, Generator
from keras_canon.zoo.records import Preprocessing

# Runs with plain TensorFlow: any import of this package fails.
FRESH = """
import json, sys
sys.modules["keras_canon"] = None
import tensorflow as tf
given = json.load(sys.stdin)
for name, (folder, inputs) in given.items():
    function = tf.saved_model.load(folder).signatures["generate"]
    outputs = function(**{key: tf.constant(value) for key, value in inputs.items()})
    given[name] = [text.decode("utf-8") for text in outputs["text"].numpy()]
print(json.dumps(given))
"""
PROMPTS = ["In the beginning", "é", "x", "été ☃"]
SEEDS = [5, 6, 7, 5]
NEW = 6
DRAWN = Generation(max_new_tokens=NEW, temperature=1.0, top_k=20, repetition_penalty=1.2, stop_ids=(2,))


def small(name, **overrides):
    keras.utils.set_random_seed(3)
    return zoo.create(name, overrides={"vocabulary_size": 259, **overrides})


@pytest.fixture(scope="module")
def gpt2():
    return small("gpt2_tiny", depth=1, model_dim=32, num_heads=2, max_length=32)


@pytest.fixture(scope="module")
def char_rnn():
    return small("char_rnn_lstm", embedding_dim=16, units=(24, 24))


@pytest.fixture(scope="module")
def writers(tmp_path_factory, gpt2, char_rnn):
    """A folder of bundles that write text: gpt2 draws, char_rnn takes the likeliest."""
    folder = tmp_path_factory.mktemp("writers")
    serving.export(gpt2, folder / "gpt2", text=Text(ByteTokenizer(), DRAWN, stream=True))
    serving.export(char_rnn, folder / "char_rnn", text=Text(ByteTokenizer(), Generation(max_new_tokens=NEW), start="<start>", stream=True))
    return folder


@pytest.fixture(scope="module")
def expected(gpt2, char_rnn):
    """What Python writes: gpt2 for each prompt by itself, with its seed."""
    words, generator = ByteTokenizer(), Generator(gpt2, DRAWN)
    drawn = [words.decode(generator([words.encode(prompt)], seed=seed)[0]) for prompt, seed in zip(PROMPTS, SEEDS, strict=True)]
    prompts = [words.encode(prompt, start="<start>") for prompt in PROMPTS]
    likeliest = [words.decode(row) for row in zoo.generate(char_rnn, prompts, Generation(max_new_tokens=NEW))]
    return {"gpt2": drawn, "char_rnn": likeliest}


@pytest.fixture(scope="module")
def url(writers):
    with serving.Server(writers, port=0, grpc_port=None, quiet=True) as server:
        yield f"{server.url}/v1/models"


def texts(outputs):
    return [text.decode("utf-8") for text in outputs["text"]]


def test_the_text_is_that_of_python(writers, expected):
    found = serving.load(writers / "gpt2").predict({"prompt": PROMPTS, "seed": SEEDS}, "generate")
    assert texts(found) == expected["gpt2"]
    servable = serving.load(writers / "char_rnn")
    assert texts(servable.predict(PROMPTS, "generate")) == expected["char_rnn"]
    # a text alone is the text in company, and no text at all is no error
    assert texts(servable.predict(PROMPTS[1:2], "generate")) == expected["char_rnn"][1:2]
    assert servable.predict(np.zeros(0, object), "generate")["text"].shape == (0,)


@pytest.mark.slow
def test_a_process_without_the_package_writes_the_same(writers, expected):
    given = {"gpt2": (str(writers / "gpt2" / "1"), {"prompt": PROMPTS, "seed": SEEDS})}
    given["char_rnn"] = (str(writers / "char_rnn" / "1"), {"prompt": PROMPTS})
    run = subprocess.run(
        [sys.executable, "-c", FRESH], input=json.dumps(given), check=True, capture_output=True, text=True, timeout=120, cwd=writers
    )
    assert json.loads(run.stdout) == expected


def test_the_server_takes_text_and_gives_text(url, expected):
    def ask(model, **body):
        return requests.post(f"{url}/{model}:predict", json={"signature_name": "generate", **body}, timeout=60)

    assert ask("char_rnn", instances=PROMPTS).json() == {"predictions": expected["char_rnn"]}
    rows = [{"prompt": prompt, "seed": seed} for prompt, seed in zip(PROMPTS, SEEDS, strict=True)]
    assert ask("gpt2", instances=rows).json() == {"predictions": expected["gpt2"]}
    reply = ask("gpt2", instances=[{"prompt": "", "seed": 0}])
    assert (reply.status_code, reply.json()) == (400, {"error": "A prompt is empty: write at least one character."})
    reply = ask("gpt2", instances=[{"prompt": "x" * 27, "seed": 0}])
    assert reply.json() == {"error": "A prompt is too long: the context has 32 tokens, of which 6 are for the new ones."}
    assert ask("gpt2", instances=[{"prompt": "x" * 26, "seed": 0}]).ok


def test_the_server_sends_a_text_while_it_is_written(url, expected):
    def ask(model, body):
        reply = requests.post(f"{url}/{model}:stream", json=body, timeout=60, stream=True)
        return reply, [line.decode("utf-8") for line in reply.iter_lines() if line]

    for model, body in (("char_rnn", {"prompt": PROMPTS[0]}), ("gpt2", {"prompt": PROMPTS[0], "seed": SEEDS[0]})):
        reply, lines = ask(model, body)
        assert reply.headers["content-type"].startswith("text/event-stream")
        assert lines[-2:] == ["event: end", "data: {}"]
        pieces = [json.loads(line.removeprefix("data: "))["text"] for line in lines[:-2]]
        assert "".join(pieces) == expected[model][0]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"prompt": ""}, "Signature 'begin' needs exactly the inputs 'prompt', 'seed', got 'prompt'."),
        ({"prompt": "", "seed": 1}, "A prompt is empty: write at least one character."),
        ({"prompt": 3, "seed": 1}, "Input 'prompt' must hold strings"),
        ([], "The request must be a JSON object"),
    ],
)
def test_bad_requests_for_a_stream(url, body, message):
    reply = requests.post(f"{url}/gpt2:stream", json=body, timeout=60)
    assert reply.status_code == 400
    assert message in reply.json()["error"]


def test_a_model_exported_without_streaming_says_so(tmp_path, char_rnn):
    serving.export(char_rnn, tmp_path / "model", text=Text(ByteTokenizer(), Generation(max_new_tokens=1)))
    with pytest.raises(CanonError, match="'model' was not exported for streaming"):
        Stream(serving.load(tmp_path / "model"), b'{"prompt": "a"}', 60.0)


def test_bundles_hold_one_set_of_weights_the_tokenizer_and_no_xla(writers, gpt2):
    for name in ("gpt2", "char_rnn"):
        found = serving.inspect(writers / name)
        assert found.content.unsafe_ops == ()
        assert b"_XlaMustCompile" not in (found.path / "saved_model.pb").read_bytes()
        assert zoo.load_tokenizer(found.path / "assets.extra").special_tokens == ByteTokenizer().special_tokens
    weights = 4 * gpt2.count_params()
    assert weights < serving.inspect(writers / "gpt2").sizes["variables/variables.data-00000-of-00001"] < 1.1 * weights


def test_step_carries_the_state_through_a_text(writers, char_rnn):
    servable = serving.load(writers / "char_rnn")
    ids = np.asarray([[5, 9, 30, 7]], "int32")
    state = {name: np.zeros((1, 24), "float32") for name in servable.signatures["step"].inputs if name != "token_ids"}
    logits = []
    for part in (ids[:, :1], ids[:, 1:3], ids[:, 3:]):
        outputs = servable.predict({"token_ids": part, **state}, "step")
        logits.append(outputs["logits"])
        state = {name: outputs[name] for name in state}
    np.testing.assert_allclose(np.concatenate(logits, axis=1), char_rnn.predict(ids, verbose=0), rtol=0, atol=1e-5)


def test_a_translator_reads_the_source(tmp_path):
    words = CharacterTokenizer("abcdefgh ")
    size = words.vocabulary_size
    keras.utils.set_random_seed(3)
    sizes = {"vocabulary_size": size, "depth": (1, 1), "model_dim": 16, "num_heads": 2}
    model = zoo.create("transformer_tiny", overrides=sizes)
    settings = Generation(max_new_tokens=NEW, beam_width=2, stop_ids=(words.special_id("<end>"),))
    serving.export(model, tmp_path / "model", text=Text(words, settings))
    sources = ["abc", "h g f", "dead"]
    found = serving.load(tmp_path / "model").predict(sources, "generate")
    prompts = {"source_ids": [words.encode(text, end="<end>") for text in sources], "target_ids": [[words.special_id("<start>")]] * 3}
    assert texts(found) == [words.decode(row) for row in zoo.generate(model, prompts, settings)]


def test_a_source_longer_than_the_table_of_places_is_refused():
    words = CharacterTokenizer("abcdefgh ")
    size = words.vocabulary_size
    sizes = {"source_vocabulary_size": size, "target_vocabulary_size": size, "embedding_dim": 4, "units": (5,), "max_length": 8}
    writer = _Writer(zoo.create("seq2seq_luong_location", overrides=sizes), Text(words))
    assert writer.read(["abcdefg"])[2].shape == (1, 8)  # with the end token
    with pytest.raises(tf.errors.InvalidArgumentError, match="A source is too long: the model reads 8 tokens at most"):
        writer.read(["abcdefgh"])


@pytest.mark.slow
def test_a_recognizer_reads_images(tmp_path):
    words = CharacterTokenizer("abcdefgh", special_tokens=("<blank>", "<unk>"))
    keras.utils.set_random_seed(3)
    model = zoo.create("crnn_ctc", num_classes=10, overrides={"filters": (4, 4, 4, 4, 8, 8, 8), "units": (8, 8)})
    model.set_weights([3 * weight for weight in model.get_weights()])  # so that not every frame says the same
    model.update_record(preprocessing=Preprocessing(size=(32, 96), resize="pad", channels=1))
    serving.export(model, tmp_path / "model", text=Text(words))
    rng = np.random.default_rng(0)
    pictures = [encode(rng.integers(0, 256, (20, width, 3), dtype=np.uint8)) for width in (40, 60)]
    found = serving.load(tmp_path / "model").predict(pictures)
    outputs = model.predict(zoo.preprocess(pictures, model), verbose=0)
    labels = ctc_greedy_decode(outputs["logits"], outputs["lengths"])[0].numpy()
    assert texts(found) == [words.decode(row[row > 0]) for row in labels]
    assert any(texts(found))
    rows = [{"b64": base64.b64encode(picture).decode()} for picture in pictures]
    with serving.Server(tmp_path / "model", port=0, grpc_port=None, quiet=True) as server:
        body = {"signature_name": "bytes", "instances": rows}
        reply = requests.post(f"{server.url}/v1/models/model:predict", json=body, timeout=60)
    assert reply.json() == {"predictions": texts(found)}


def test_a_classifier_reads_text(tmp_path):
    words = ByteTokenizer()
    keras.utils.set_random_seed(3)
    sizes = {"vocabulary_size": words.vocabulary_size, "depth": 1, "model_dim": 16, "num_heads": 2, "max_length": 16}
    model = zoo.create("bert_tiny_classifier", num_classes=3, overrides=sizes)
    serving.export(model, tmp_path / "model", text=Text(words, start="<start>", end="<end>"), labels=("a", "b", "c"))
    servable = serving.load(tmp_path / "model")
    for text in ("good", "Straße"):
        found = servable.predict([text.encode()])["logits"]
        ids = np.asarray([words.encode(text, start="<start>", end="<end>")], "int32")
        inputs = {"token_ids": ids, "segment_ids": np.zeros_like(ids)}
        expected = model.predict({name: inputs[name] for name in model.input}, verbose=0)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)
    with pytest.raises(CanonError, match="A text is too long: the model reads 16 tokens at most"):
        servable.predict([b"x" * 15])


def test_text_that_does_not_fit_the_model(tmp_path, gpt2, lenet5):
    with pytest.raises(CanonError, match="The tokenizer has 257 tokens and 'gpt2_tiny' 259"):
        serving.export(gpt2, tmp_path / "model", text=Text(ByteTokenizer(["<pad>"])))
    with pytest.raises(CanonError, match="reads images and writes no text"):
        serving.export(lenet5, tmp_path / "model", text=Text(ByteTokenizer()))
    with pytest.raises(CanonError, match="no special token '<go>'"):
        Text(ByteTokenizer(), start="<go>")
    with pytest.raises(CanonError, match="A beam search cannot stream"):
        Text(ByteTokenizer(), Generation(beam_width=2), stream=True)
    assert not list(tmp_path.iterdir())


def test_a_tokenizer_beside_the_model_is_taken(tmp_path, char_rnn):
    char_rnn.save(tmp_path / "model.keras")
    ByteTokenizer().save(tmp_path)
    bundle = serving.export(tmp_path, tmp_path / "out")
    assert set(bundle.manifest.signatures) == {"generate", "serving_default", "step"}


def test_the_command_exports_text(tmp_path, char_rnn):
    char_rnn.save(tmp_path / "model.keras")
    ByteTokenizer().save(tmp_path)
    app = typer.Typer()
    app.command()(export)
    options = ["--out", str(tmp_path / "out"), "--max-new-tokens", "2", "--temperature", "0.5", "--stream"]
    result = CliRunner().invoke(app, [str(tmp_path), *options])
    assert result.exit_code == 0, result.output
    servable = serving.load(tmp_path / "out")
    assert set(servable.signatures) == {"begin", "generate", "next", "serving_default", "step"}
    assert set(servable.signatures["generate"].inputs) == {"prompt", "seed"}


def test_the_command_writes_what_a_short_context_has_room_for(tmp_path):
    sizes = {"vocabulary_size": ByteTokenizer().vocabulary_size, "max_length": 32, "depth": 1, "model_dim": 16, "num_heads": 2}
    zoo.create("gpt2_tiny", overrides={**sizes, "feedforward_dim": 32}).save(tmp_path / "model.keras")
    ByteTokenizer().save(tmp_path)
    app = typer.Typer()
    app.command()(export)
    result = CliRunner().invoke(app, [str(tmp_path), "--out", str(tmp_path / "out"), "--stream"])
    assert result.exit_code == 0, result.output
    servable = serving.load(tmp_path / "out")
    answer = servable.predict({"prompt": ["ab"]}, signature="generate")
    assert len(answer["text"]) == 1
    result = CliRunner().invoke(app, [str(tmp_path), "--out", str(tmp_path / "drawn"), "--temperature", "0.7"])
    assert result.exit_code == 0, result.output
    assert set(serving.load(tmp_path / "drawn").signatures["generate"].inputs) == {"prompt", "seed"}


def test_a_temperature_stands_beside_no_generation():
    with pytest.raises(CanonError, match="without a generation"):
        Text(ByteTokenizer(), Generation(max_new_tokens=NEW), temperature=0.7)


@pytest.mark.slow
def test_a_model_with_byte_pairs_takes_text_and_gives_text(tmp_path):
    (tmp_path / "corpus.txt").write_text("the cat and the hat don't sit on the mat\n" * 40, encoding="utf-8")
    words = zoo.train_bpe(tmp_path / "corpus.txt", 290)
    model = small("gpt2_tiny", vocabulary_size=words.vocabulary_size, depth=1, model_dim=32, num_heads=2, max_length=32)
    model.save(tmp_path / "model.keras")
    words.save(tmp_path)
    bundle = serving.export(tmp_path, tmp_path / "out", text=Text(words, Generation(max_new_tokens=NEW, stop_ids=(1,))))
    servable, texts = serving.load(bundle.path.parent), ["the cat", "don't", "été ☃"]
    found = servable.predict(texts, "generate")["text"]
    rows = zoo.generate(model, [words.encode(text) for text in texts], Generation(max_new_tokens=NEW, stop_ids=(1,)))
    assert [text.decode() for text in found] == [words.decode(row) for row in rows]


def test_nothing_is_written_behind_the_end(tmp_path, gpt2):
    # with a vocabulary whose id 0 is a letter, as GPT-2's, what fills a row must not be text
    words = ByteTokenizer(["<pad>"])
    model = small("gpt2_tiny", vocabulary_size=257, depth=1, model_dim=32, num_heads=2, max_length=32)
    (row,) = zoo.generate(model, [words.encode("x")], Generation(max_new_tokens=NEW))
    lengths = _written_lengths(np.array([row, [5, 0, 0, 0, 0, 0]], "int32"), (row[1], 0))
    assert lengths.numpy().tolist() == [min(row.index(token) for token in row if token in (row[1], 0)) + 1, 2]


def test_more_new_tokens_than_the_translator_has_places_for_are_refused():
    tokenizer = ByteTokenizer()
    model = small("transformer_tiny_learned", depth=(1, 1), positions=6, vocabulary_size=tokenizer.vocabulary_size)
    with pytest.raises(CanonError, match="A start token and 9 new ones are more than the context of 'transformer_tiny_learned', 6"):
        _Writer(model, Text(tokenizer, Generation(max_new_tokens=9)))
    _Writer(model, Text(tokenizer, Generation(max_new_tokens=5)))


def test_more_new_tokens_than_the_context_are_refused(gpt2, tmp_path):
    for new in (32, 64):
        with pytest.raises(CanonError, match=f"A prompt of one token and {new} new ones are more than the context of 'gpt2_tiny', 32"):
            serving.export(gpt2, tmp_path / "model", text=Text(ByteTokenizer(), Generation(max_new_tokens=new)))
    assert not list(tmp_path.iterdir())
    _Writer(gpt2, Text(ByteTokenizer(), Generation(max_new_tokens=31)))


def test_without_settings_the_context_has_room_for_a_prompt(gpt2, tmp_path):
    gpt2.save(tmp_path / "model.keras")
    ByteTokenizer().save(tmp_path)
    settings = Generation(max_new_tokens=16, stop_ids=(2,))
    expected = ByteTokenizer().decode(zoo.generate(gpt2, [ByteTokenizer().encode("x" * 16)], settings)[0])
    bundle = serving.export(tmp_path, tmp_path / "out")
    assert texts(serving.load(tmp_path / "out").predict(["x" * 16], "generate")) == [expected]
    # both the ids and the text, which was tried
    assert sum(1 for _ in tf.data.TFRecordDataset(str(bundle.path / WARMUP))) == 2
    translator = small("transformer_tiny_learned", depth=(1, 1), model_dim=16, num_heads=2, positions=6)
    assert _Writer(translator, Text(ByteTokenizer())).settings.max_new_tokens == 5
    assert _Writer(small("char_rnn_lstm", embedding_dim=4, units=(4,)), Text(ByteTokenizer())).settings.max_new_tokens == 64
