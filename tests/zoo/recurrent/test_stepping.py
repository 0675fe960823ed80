"""Models that write one token after the other give what they give in one pass, and search and sample from it."""

import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_canon import zoo

SMALL = {"units": [5, 4], "vocabulary_size": 11, "embedding_dim": 6}
PAIR = {"source_vocabulary_size": 9, "target_vocabulary_size": 5, "embedding_dim": 4}
TRANSLATORS = {
    "seq2seq": {**PAIR, "units": [6, 5]},
    "seq2seq_luong_general": {**PAIR, "units": [6, 5]},
    "seq2seq_attention": {**PAIR, "units": 6, "attention_units": 4, "readout_units": 5},
}
RANDOM = np.random.RandomState(3)
START, END = 1, 2


def louder(model):
    """Return the model with larger weights, so that its outputs differ from step to step."""
    for weight in model.trainable_weights:
        weight.assign(np.asarray(weight) * 4)
    return model


@pytest.mark.parametrize("name", ["char_rnn_lstm", "char_rnn_gru"])
def test_stretches_of_text_are_one_text(name):
    """What truncated back-propagation carries: 7 steps are 3 and 4, and seven times one."""
    model = louder(zoo.create(name, overrides=SMALL))
    ids = RANDOM.randint(1, 11, (3, 7)).astype("int32")
    whole = np.asarray(model(ids))
    step = zoo.step_model(model)
    for cuts in ([3, 4], [1] * 7):
        state = {tensor.name: tf.zeros((3, tensor.shape[-1])) for tensor in step.inputs if tensor.name != "token_ids"}
        found, start = [], 0
        for size in cuts:
            outputs = step({"token_ids": tf.constant(ids[:, start : start + size]), **state})
            found.append(np.asarray(outputs["logits"]))
            state = {key: outputs[key] for key in state}
            start += size
        np.testing.assert_allclose(np.concatenate(found, axis=1), whole, atol=1e-6)


def test_the_step_model_trains_the_model():
    model = zoo.create("char_rnn_gru", overrides=SMALL)
    step = zoo.step_model(model)
    assert {id(weight) for weight in step.trainable_weights} == {id(weight) for weight in model.trainable_weights}


def test_step_models_survive_saving(tmp_path):
    model = louder(zoo.create("char_rnn_lstm", overrides=SMALL))
    model.save(tmp_path / "model.keras")
    loaded = zoo.load_model(tmp_path / "model.keras")
    inputs = {tensor.name: np.ones((2, *(size or 1 for size in tensor.shape[1:])), "float32") for tensor in zoo.step_model(model).inputs}
    inputs["token_ids"] = inputs["token_ids"].astype("int32")
    np.testing.assert_allclose(zoo.step_model(loaded)(inputs)["logits"], zoo.step_model(model)(inputs)["logits"], atol=1e-6)


def start_of(model, source):
    """Return the state that the decoder starts from."""
    return dict(zoo.encoder_model(model)(source))


@pytest.mark.parametrize("name", list(TRANSLATORS))
def test_translators_step_by_step(name):
    model = louder(zoo.create(name, overrides=TRANSLATORS[name]))
    source = np.array([[3, 4, 5, 6], [7, 8, 0, 0]], "int32")
    target = RANDOM.randint(1, 5, (2, 5)).astype("int32")
    whole = np.asarray(model({"source_ids": source, "target_ids": target}))
    step, state = zoo.step_model(model), start_of(model, source)
    for t in range(5):
        outputs = step({"token_ids": tf.constant(target[:, t : t + 1]), **state})
        np.testing.assert_allclose(outputs["logits"][:, 0], whole[:, t], atol=1e-5)
        state |= {key: outputs[key] for key in state if key in outputs}
        if "attention" in outputs:
            np.testing.assert_allclose(np.sum(outputs["attention"], axis=-1), 1.0, atol=1e-5)
            assert not np.any(outputs["attention"][1, :, 2:]), "padding gets no attention"


def best_written_out(model, source, length):
    """Return the ids and log-probability of the best of all target sequences."""
    vocabulary = PAIR["target_vocabulary_size"]
    candidates = np.array(list(itertools.product(range(vocabulary), repeat=length)), "int32")
    targets = np.concatenate([np.full((len(candidates), 1), START), candidates[:, :-1]], axis=1).astype("int32")
    logits = without_padding(model({"source_ids": np.repeat(source, len(candidates), axis=0), "target_ids": targets}))
    each = np.take_along_axis(np.asarray(tf.nn.log_softmax(logits)), candidates[:, :, None], axis=-1)[:, :, 0]
    best = (-np.inf, ())
    for row, scores in zip(candidates.tolist(), each, strict=True):
        size = row.index(END) + 1 if END in row else length
        if 0 not in row[:size]:
            best = max(best, (float(scores[:size].sum()), tuple(row[:size])))
    return best


def without_padding(logits):
    """Forbid padding, which no translation contains."""
    return tf.where(tf.range(logits.shape[-1]) == 0, -1e9, logits)


@pytest.mark.parametrize("name", list(TRANSLATORS))
def test_beam_search_finds_the_best_translation(name):
    model = louder(zoo.create(name, overrides=TRANSLATORS[name]))
    step = zoo.step_model(model)
    source = np.array([[3, 4, 5]], "int32")

    def advance(ids, position, state):
        outputs = step({"token_ids": ids[:, None], **state})
        logits = without_padding(outputs["logits"][:, 0])
        return logits, {key: outputs.get(key, state[key]) for key in state}

    found = zoo.beam_search(advance, start_of(model, source), [START], width=64, max_length=3, end_id=END)
    expected = best_written_out(model, source, 3)
    ids = found.ids[0, 0].numpy().tolist()
    assert tuple(ids[: len(expected[1])]) == expected[1]
    assert float(found.scores[0, 0]) == pytest.approx(expected[0], abs=1e-4)
    keras.backend.clear_session(free_memory=False)


def test_other_models_say_that_they_cannot():
    with pytest.raises(zoo.CanonError, match="cannot be run step by step"):
        zoo.step_model(zoo.create("elman", overrides={"units": 2}))
    with pytest.raises(zoo.CanonError, match="as an encoder and a decoder"):
        zoo.encoder_model(zoo.create("char_rnn_lstm", overrides=SMALL))


@pytest.mark.parametrize("name", ["char_rnn_lstm", "seq2seq", "seq2seq_luong_dot", "seq2seq_attention", "gated_convnet_14"])
def test_models_of_language_have_no_classes(name):
    with pytest.raises(zoo.CanonError, match="num_classes must be 0"):
        zoo.create(name, num_classes=3)
