"""Recurrent models write text: greedy, sampled, streamed, by beam search, and from an exported graph."""

import numpy as np
import pytest
import tensorflow as tf

from keras_canon import zoo

OVERRIDES = {"units": [6, 5], "vocabulary_size": 11, "embedding_dim": 6}


@pytest.fixture(scope="module")
def model():
    found = zoo.create("char_rnn_lstm", overrides=OVERRIDES)
    random = np.random.RandomState(4)
    for weight in found.trainable_weights:
        weight.assign(random.standard_normal(weight.shape))
    return found


def greedy_written_out(model, prompt, count):
    ids = list(prompt)
    for _ in range(count):
        logits = np.array(model(np.array([ids], "int32")))[0, -1]
        logits[0] = -np.inf
        ids.append(int(logits.argmax()))
    return ids[len(prompt) :]


def test_greedy_is_the_whole_model_again_and_again(model):
    prompts = [[3, 4, 5, 6], [7], [2, 2]]
    found = zoo.Generator(model, zoo.Generation(max_new_tokens=6))(prompts)
    assert found == [greedy_written_out(model, prompt, 6) for prompt in prompts]


def test_draws_follow_the_seed_and_stream_alike(model):
    write = zoo.Generator(model, zoo.Generation(max_new_tokens=8, temperature=1.2, top_k=5, top_p=0.95))
    found = write([[3, 4], [5]], seed=7)
    assert found == write([[3, 4], [5]], seed=7)
    assert found != write([[3, 4], [5]], seed=8)
    assert [list(row) for row in zip(*write.stream([[3, 4], [5]], seed=7), strict=True)] == found
    assert 0 not in found[0] + found[1]


def test_a_graph_that_writes_can_be_exported(model, tmp_path):
    write = zoo.Generator(model, zoo.Generation(max_new_tokens=4))
    module = tf.Module()
    module.model = model
    specs = [tf.TensorSpec((None, 16), tf.int32), tf.TensorSpec((None,), tf.int32), tf.TensorSpec((2,), tf.int32)]
    module.write = tf.function(write.write, input_signature=specs, autograph=False)
    tf.saved_model.save(module, str(tmp_path))
    ids = np.zeros((2, 16), "int32")
    ids[0, :3], ids[1, :1] = [3, 4, 5], [6]
    loaded = tf.saved_model.load(str(tmp_path))
    found = loaded.write(ids, np.array([3, 1], "int32"), np.array([0, 0], "int32"))
    assert np.asarray(found).tolist() == write([[3, 4, 5], [6]])


@pytest.mark.parametrize(
    "name", ["seq2seq_attention", *(pytest.param(name, marks=pytest.mark.slow) for name in ("seq2seq", "seq2seq_luong_dot"))]
)
def test_translators_write(name):
    sizes = {
        "source_vocabulary_size": 9,
        "target_vocabulary_size": 7,
        "embedding_dim": 4,
        "units": 6 if name == "seq2seq_attention" else [6],
    }
    translator = zoo.create(name, overrides=sizes)
    prompts = {"source_ids": [[3, 4, 5], [6]], "target_ids": [[1], [1]]}
    greedy = zoo.Generator(translator, zoo.Generation(max_new_tokens=4))(prompts)
    searched = zoo.Generator(translator, zoo.Generation(max_new_tokens=4, beam_width=3, stop_ids=(2,)))(prompts)
    assert [len(row) for row in greedy] == [4, 4]
    assert all(row and 0 not in row for row in searched)


def test_models_that_write_nothing_say_so():
    with pytest.raises(zoo.CanonError, match="cannot be run step by step"):
        zoo.Generator(zoo.create("elman", overrides={"units": 2}))


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_one_generator_writes_for_any_number_of_rows(model, temperature):
    write = zoo.Generator(model, zoo.Generation(max_new_tokens=3, temperature=temperature))
    for rows in (2, 1, 3, 2):
        assert [len(row) for row in write([[5]] * rows)] == [3] * rows


@pytest.mark.parametrize("name", ["seq2seq", "seq2seq_attention"])
def test_one_generator_translates_sources_of_any_length(name):
    sizes = {"source_vocabulary_size": 7, "target_vocabulary_size": 7, "embedding_dim": 4, "units": (5,) if name == "seq2seq" else 5}
    write = zoo.Generator(zoo.create(name, overrides=sizes), zoo.Generation(max_new_tokens=2))
    for rows, length in ((1, 3), (1, 20), (3, 20), (2, 5)):
        assert len(write({"source_ids": [[3] * length] * rows, "target_ids": [[2]] * rows})) == rows
    with pytest.raises(zoo.CanonError, match="A source holds the id 0 alone"):
        write({"source_ids": [[3, 4], [0, 0]], "target_ids": [[2], [2]]})
