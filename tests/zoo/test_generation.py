"""Generation from small models of every family that writes text, against a loop over the whole model."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_canon import zoo
from keras_canon.zoo.generation import Generation, Generator

GPT = {"vocabulary_size": 31, "max_length": 48, "depth": 1, "model_dim": 16, "num_heads": 2, "feedforward_dim": 32}
TRANSFORMER = {"vocabulary_size": 31, "depth": [1, 1], "model_dim": 16, "num_heads": 2, "feedforward_dim": 32}
NAMES = ["gpt2_tiny", "transformer_tiny_rotary"]
PROMPTS = [[3, 7, 2, 9, 11], [5], [8, 1, 4]]
SOURCES = [[6, 2, 9], [12, 4, 7, 3, 20], [1]]
NEW = 4


@pytest.fixture(scope="module")
def models() -> dict[str, zoo.Model]:
    made = {}
    for name in NAMES:
        made[name] = zoo.create(name, overrides=TRANSFORMER if name.startswith("transformer") else GPT)
        for number, weight in enumerate(made[name].trainable_weights):
            if len(weight.shape) > 1:  # far from uniform, so that no two ids are nearly as likely
                weight.assign(np.random.RandomState(number).standard_normal(weight.shape) * 0.6)
    return made


@pytest.fixture(autouse=True)
def eager(request):
    """Without tracing, which costs more than the few ids of these tests; those named so do trace."""
    tf.config.run_functions_eagerly("traced" not in request.node.name)
    yield
    tf.config.run_functions_eagerly(False)


def prompts_of(name, rows=slice(None)):
    if name.startswith("transformer"):
        return {"source_ids": SOURCES[rows], "target_ids": PROMPTS[rows]}
    return PROMPTS[rows]


def whole_model_logits(model, name, row, ids) -> np.ndarray:
    """Logits after the last of `ids`, by the whole model on one row without padding."""
    tokens = np.asarray([ids], "int32")
    if not name.startswith("transformer"):
        return np.asarray(model(tokens, training=False))[0, -1]
    logits = np.array(model({"source_ids": np.asarray([SOURCES[row]], "int32"), "target_ids": tokens}, training=False))[0, -1]
    logits[0] = -np.inf
    return logits


@pytest.mark.parametrize("name", NAMES)
def test_greedy_is_the_likeliest_id_of_the_whole_model(name, models):
    found = zoo.generate(models[name], prompts_of(name), Generation(max_new_tokens=NEW))
    for row, prompt in enumerate(PROMPTS):
        ids = list(prompt)
        for _ in range(NEW):
            ids.append(int(whole_model_logits(models[name], name, row, ids).argmax()))
        assert found[row] == ids[len(prompt) :]
    first = zoo.generate(models[name], prompts_of(name), Generation(max_new_tokens=1))
    assert first == [row[:1] for row in found]


@pytest.mark.parametrize("name", NAMES)
def test_beam_width_1_is_greedy(name, models):
    """With an end id that no row reaches: `beam_search` of one hypothesis takes the likeliest id each time."""
    greedy = zoo.generate(models[name], prompts_of(name), Generation(max_new_tokens=NEW))
    generator = Generator(models[name], Generation(max_new_tokens=NEW))
    read = generator._read(prompts_of(name))
    beams = generator._search(read.token_ids, read.lengths, read.source_ids)
    assert np.asarray(beams).tolist() == greedy


@pytest.mark.parametrize("name", NAMES)
def test_beams_find_at_least_the_score_of_greedy(name, models):
    def score(row, ids):
        total = 0.0
        for count in range(NEW):
            logits = whole_model_logits(models[name], name, row, PROMPTS[row] + ids[:count])
            total += logits[ids[count]] - np.log(np.exp(logits - logits.max()).sum()) - logits.max()
        return total

    greedy = zoo.generate(models[name], prompts_of(name), Generation(max_new_tokens=NEW))
    beams = zoo.generate(models[name], prompts_of(name), Generation(max_new_tokens=NEW, beam_width=4))
    assert all(score(row, beams[row]) >= score(row, greedy[row]) - 1e-4 for row in range(len(PROMPTS)))


@pytest.mark.parametrize("settings", [{}, {"temperature": 1.0, "top_k": 5, "top_p": 0.9, "repetition_penalty": 1.3}])
def test_stream_gives_the_ids_of_a_call(settings, models):
    generator = Generator(models["gpt2_tiny"], Generation(max_new_tokens=NEW, stop_ids=(14, 3), **settings))
    called = generator(PROMPTS, seed=5)
    rows: list[list[int]] = [[] for _ in PROMPTS]
    for ids in generator.stream(PROMPTS, seed=5):
        for row, token in zip(rows, ids, strict=True):
            if token is not None:
                row.append(token)
    assert rows == called


def test_a_stop_id_ends_its_row_alone(models):
    generator = Generator(models["gpt2_tiny"], Generation(max_new_tokens=NEW))
    free = generator(PROMPTS)
    stop = free[0][2]
    stopped = Generator(models["gpt2_tiny"], Generation(max_new_tokens=NEW, stop_ids=(stop,)))(PROMPTS)
    for one, other in zip(free, stopped, strict=True):
        assert other == (one[: one.index(stop) + 1] if stop in one else one)


def test_draws_follow_the_seed(models):
    generator = Generator(models["gpt2_tiny"], Generation(max_new_tokens=NEW, temperature=2.0))
    assert generator(PROMPTS, seed=1) == generator(PROMPTS, seed=1)
    assert generator(PROMPTS, seed=1) != generator(PROMPTS, seed=2)
    assert generator(PROMPTS, seed=(1, 100)) != generator(PROMPTS, seed=1)
    assert generator(PROMPTS, seed=np.int64(1)) == generator(PROMPTS, seed=1)
    for wrong in (1.5, (1, 2, 3), "seed", (1, "2")):
        with pytest.raises(zoo.CanonError, match="seed must be an integer or two integers, got"):
            generator(PROMPTS, seed=wrong)
    assert generator(PROMPTS, seed=-(2**31))
    for large in (2**31, -(2**31) - 1, 2**63, (1, 2**32)):
        with pytest.raises(zoo.CanonError, match="seed must fit in 32 bits, from -2147483648 to 2147483647, got"):
            generator(PROMPTS, seed=large)
        with pytest.raises(zoo.CanonError, match="seed must fit in 32 bits"):
            generator.stream(PROMPTS, seed=large)


def test_a_narrow_draw_is_greedy(models):
    greedy = zoo.generate(models["gpt2_tiny"], PROMPTS, Generation(max_new_tokens=NEW))
    for narrow in ({"top_k": 1}, {"top_p": 1e-6}):
        assert zoo.generate(models["gpt2_tiny"], PROMPTS, Generation(max_new_tokens=NEW, temperature=1.0, **narrow)) == greedy


def test_a_strong_penalty_repeats_nothing(models):
    found = zoo.generate(models["gpt2_tiny"], PROMPTS, Generation(max_new_tokens=NEW, repetition_penalty=1e6))
    for prompt, row in zip(PROMPTS, found, strict=True):
        assert len(set(prompt + row)) == len(prompt) + len(row)


def test_one_shape_is_traced_once_and_gives_the_same_ids(models):
    settings = Generation(max_new_tokens=NEW, temperature=1.0, top_k=5, top_p=0.9, repetition_penalty=1.3)
    generator = Generator(models["gpt2_tiny"], settings)
    found = [generator(prompts) for prompts in ([[1], [2], [3]], PROMPTS)]
    assert generator._loop.experimental_get_tracing_count() == 1
    tf.config.run_functions_eagerly(True)
    assert found[1] == generator(PROMPTS)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"stop_ids": (14, 3), "repetition_penalty": 1.3}, {"temperature": 1.0, "top_k": 5}])
def test_traced_by_xla(options, models):
    """The whole loop is compiled for the likeliest ids, the step alone for a draw."""
    settings = Generation(max_new_tokens=NEW, **options)
    assert Generator(models["gpt2_tiny"], settings, jit_compile=True)(PROMPTS) == Generator(models["gpt2_tiny"], settings)(PROMPTS)


@pytest.mark.slow
def test_traced_and_exported_gives_the_same_ids(models, tmp_path):
    """Batch of any size, without the package's Python: the ops are TensorFlow's."""
    generator = Generator(models["gpt2_tiny"], Generation(max_new_tokens=NEW, temperature=1.0, top_k=5))
    module = tf.Module()
    module.model = models["gpt2_tiny"]
    signature = [tf.TensorSpec((None, 16), tf.int32), tf.TensorSpec((None,), tf.int32), tf.TensorSpec((2,), tf.int32)]
    module.write = tf.function(generator.write, input_signature=signature, autograph=False)
    tf.saved_model.save(module, str(tmp_path))
    loaded = tf.saved_model.load(str(tmp_path))
    read = generator._read(PROMPTS)
    assert np.asarray(loaded.write(read.token_ids, read.lengths, tf.constant([7, 0]))).tolist() == generator(PROMPTS, seed=7)


@pytest.mark.parametrize(
    ("prompts", "message"),
    [
        ([[]], r"prompt 0 has no ids"),
        ([], r"at least one row"),
        ("text", r"list of lists of ids"),
        ([[1.5]], r"prompt 0 must hold integer ids, got float64"),
        ([[1], [31]], r"prompt 1 has the id 31, and 'gpt2_tiny' has 31 tokens"),
        ([[-1]], r"prompt 0 has the id -1"),
        ([[[1], [1, 2]]], r"prompt 0 must be one list of ids, got \[\[1\], \[1, 2\]\]: give each text a row of its own"),
        ([[1] * 45], r"A prompt of 45 ids and 4 new ones are more than the context of 'gpt2_tiny', 48"),
    ],
)
def test_bad_prompts(prompts, message, models):
    with pytest.raises(zoo.CanonError, match=message):
        zoo.generate(models["gpt2_tiny"], prompts, Generation(max_new_tokens=NEW))


TRANSLATORS = {
    "seq2seq_luong_location": {"source_vocabulary_size": 31, "target_vocabulary_size": 31, "embedding_dim": 4, "units": [5]},
    "transformer_tiny_learned": {**TRANSFORMER, "positions": 50},
}


@pytest.mark.parametrize("name", TRANSLATORS)
def test_sources_up_to_the_last_place(name):
    options = {"max_length": 50} if name.startswith("seq2seq") else {}
    model = zoo.create(name, overrides={**TRANSLATORS[name], **options})
    for length in (49, 50):
        assert zoo.generate(model, {"source_ids": [[3] * length], "target_ids": [[1]]}, Generation(max_new_tokens=1))
    with pytest.raises(zoo.CanonError, match=f"A source of 51 ids is more than '{name}' can read, 50"):
        zoo.generate(model, {"source_ids": [[3] * 51], "target_ids": [[1]]}, Generation(max_new_tokens=1))


@pytest.mark.parametrize("name", ["seq2seq_luong_location", "transformer_tiny_learned"])
def test_sources_of_a_model_with_fixed_steps(name):
    model, free = (zoo.create(name, input_shape=shape, overrides=TRANSLATORS[name]) for shape in ((20,), (None,)))
    free.set_weights(model.get_weights())
    prompts = {"source_ids": [[3] * 18], "target_ids": [[1]]}
    assert zoo.generate(model, prompts, Generation(max_new_tokens=1)) == zoo.generate(free, prompts, Generation(max_new_tokens=1))
    with pytest.raises(zoo.CanonError, match=f"A source of 21 ids is more than '{name}' can read, 20"):
        zoo.generate(model, {"source_ids": [[3] * 21], "target_ids": [[1]]}, Generation(max_new_tokens=1))


def test_the_id_0_is_no_prompt_of_a_recurrent_writer():
    model = zoo.create("char_rnn_lstm", overrides={"units": [5], "vocabulary_size": 11, "embedding_dim": 4})
    for prompt in ([0], [5, 6, 0]):
        with pytest.raises(zoo.CanonError, match="The prompt holds the id 0, which is padding to 'char_rnn_lstm'"):
            zoo.generate(model, [[1], prompt])


def test_bad_sources(models):
    model = models["transformer_tiny_rotary"]
    with pytest.raises(zoo.CanonError, match="must be a dict of source_ids and target_ids"):
        zoo.generate(model, PROMPTS)
    with pytest.raises(zoo.CanonError, match="target_ids hold the id 0, which is padding"):
        zoo.generate(model, {"source_ids": [[1]], "target_ids": [[2, 0, 3]]})
    with pytest.raises(zoo.CanonError, match="as many rows, got 1 and 3"):
        zoo.generate(model, {"source_ids": [[1]], "target_ids": PROMPTS})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_new_tokens": 0}, r"max_new_tokens must be an integer of at least 1, got 0"),
        ({"temperature": -1.0}, r"temperature must be at least 0, where 0 is greedy, got -1.0"),
        ({"top_k": 3}, r"give a temperature above 0"),
        ({"beam_width": 2, "temperature": 1.0}, r"A beam search takes no temperature"),
        ({"temperature": "1"}, r"temperature must be a number, got '1'"),
        ({"temperature": float("nan")}, r"temperature must be at least 0, where 0 is greedy, got nan"),
        ({"temperature": 1.0, "top_p": "x"}, r"top_p must be a number, got 'x'"),
        ({"repetition_penalty": None}, r"repetition_penalty must be a number, got None"),
        ({"stop_ids": 3}, r"stop_ids must be a tuple of ids, integers of at least 0, got 3"),
        ({"stop_ids": (-1,)}, r"stop_ids must be a tuple of ids, integers of at least 0, got \(-1,\)"),
        ({"stop_ids": ("<end>",)}, r"stop_ids must be a tuple of ids"),
        ({"length_penalty": "x"}, r"length_penalty must be one of 'none', 'length', 'gnmt', got 'x'"),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises(zoo.CanonError, match=message):
        Generation(**settings)


def test_models_that_write_no_text_and_streams_that_cannot_be(models):
    with pytest.raises(zoo.CanonError, match=r"Model 'lenet5' writes no text: give one of the families gpt1, gpt2 and transformer"):
        Generator(zoo.create("lenet5"))
    with pytest.raises(zoo.CanonError, match="cannot stream"):
        Generator(models["gpt2_tiny"], Generation(beam_width=2)).stream(PROMPTS)


@pytest.mark.parametrize("width", [1, 2])
def test_a_stop_id_that_is_no_token_is_refused(width, models):
    with pytest.raises(zoo.CanonError, match="The stop id 40 is no token of 'gpt2_tiny', which has 31"):
        Generator(models["gpt2_tiny"], Generation(stop_ids=(40,), beam_width=width))
    Generator(models["gpt2_tiny"], Generation(stop_ids=(np.int64(30),), beam_width=width))


def test_a_model_of_elsewhere_is_refused():
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)], name="foreign")
    with pytest.raises(zoo.CanonError, match="'foreign' is no model of the zoo, whose record would say what it is"):
        zoo.generate(model, [[1]])
    with pytest.raises(zoo.CanonError, match="'foreign' is no model of the zoo"):
        zoo.load_weights(model, {"dense/kernel": np.zeros((3, 2), "float32")})
