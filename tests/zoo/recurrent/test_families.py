"""What sets each recurrent family apart, beyond what the sweep holds all of them to."""

import keras
import numpy as np
import pytest

from keras_canon import layers, zoo

RANDOM = np.random.RandomState(1)


def test_identity_rnn_starts_as_an_identity():
    model = zoo.create("identity_rnn", overrides={"units": 7})
    cell = model.get_layer("recurrent").cell
    np.testing.assert_array_equal(np.asarray(cell.recurrent_kernel), np.eye(7))
    assert np.abs(np.asarray(cell.kernel)).max() < 0.01
    assert keras.activations.serialize(cell.activation) == "relu"


def test_identity_rnn_keeps_what_it_saw():
    """The point of the start: after a thousand empty steps the state is what it was."""
    model = zoo.create("identity_rnn_mnist", num_classes=0, input_shape=(None, 1), overrides={"units": 5})
    signal = np.zeros((1, 1000, 1), "float32")
    signal[0, 0] = 100.0
    state = np.asarray(model(signal))
    np.testing.assert_allclose(state, np.asarray(model(signal[:, :1])), rtol=1e-5)
    assert state.max() > 0.0


def test_only_the_readout_of_an_echo_state_network_is_trained():
    model = zoo.create("echo_state", overrides={"units": 30, "density": 0.2})
    assert [weight.path for weight in model.trainable_weights] == ["logits/kernel", "logits/bias"]
    reservoir = np.asarray(model.get_layer("recurrent").cell.recurrent_kernel)
    assert np.abs(np.linalg.eigvals(reservoir)).max() == pytest.approx(0.9, abs=1e-5)


def test_tdnn_is_the_same_at_every_step():
    """Shifted in time, the evidence is the same; windows that reach over the ends do not count."""
    model = zoo.create("tdnn", input_shape=(None, 4), overrides={"padding": "none"})
    pulse = np.zeros((1, 21, 4), "float32")
    pulse[0, 8:11] = RANDOM.standard_normal((3, 4))
    np.testing.assert_allclose(model(pulse), model(np.roll(pulse, 3, axis=1)), atol=1e-6)
    with pytest.raises(zoo.CanonError, match="at least 7 steps"):
        zoo.create("tdnn", input_shape=(6, 4))


def test_tdnn_answers_a_row_shorter_than_its_delays_span_as_in_a_longer_batch():
    model = zoo.create("tdnn", input_shape=(None, 4), num_classes=3)
    rows = RANDOM.standard_normal((2, 12, 4)).astype("float32")
    rows[1, 3:] = 0.0  # three steps, where two layers span seven
    together = np.asarray(model(rows))
    np.testing.assert_array_equal(together[1:], model(rows[1:, :3]))
    np.testing.assert_allclose(together[:1], model(rows[:1]), atol=1e-6)


def test_padding_none_reads_zeros():
    zeros = np.zeros((1, 4, 28), "float32")
    data = RANDOM.standard_normal((1, 3, 28)).astype("float32")
    rows = np.concatenate([data, zeros], axis=1)
    for padding, equal in (("zeros", True), ("none", False)):
        model = zoo.create("gru_classifier", overrides={"units": [4], "padding": padding})
        assert np.allclose(model(rows), model(data), atol=1e-6) is equal


def test_seq2seq_reads_the_source_from_its_end():
    sizes = {"source_vocabulary_size": 9, "target_vocabulary_size": 7, "embedding_dim": 4, "units": [5, 4]}
    forward = zoo.create("seq2seq", overrides={**sizes, "reverse_source": False})
    backward = zoo.create("seq2seq", overrides=sizes)
    backward.set_weights(forward.get_weights())
    source = np.array([[3, 4, 5, 6], [7, 8, 0, 0]], "int32")
    turned = np.array([[6, 5, 4, 3], [8, 7, 0, 0]], "int32")
    for name, expected in zoo.encoder_model(forward)(turned).items():
        np.testing.assert_allclose(zoo.encoder_model(backward)(source)[name], expected, atol=1e-6)


def test_word2vec_scores_are_products():
    model = zoo.create("word2vec_cbow", input_shape=(None,), overrides={"vocabulary_size": 9, "embedding_dim": 3})
    logits = model({"token_ids": np.array([[3, 4, 0]], "int32"), "candidate_ids": np.array([[5, 6]], "int32")})
    vectors, candidates = (np.asarray(model.get_layer(name).embeddings) for name in ("embedding", "candidates"))
    np.testing.assert_allclose(logits[0], candidates[[5, 6]] @ vectors[[3, 4]].mean(0), atol=1e-6)


def test_crnn_frames_are_a_quarter_of_the_width_less_one():
    model = zoo.create("crnn_ctc", num_classes=5, overrides={"filters": [2] * 7, "units": [3]})
    images = np.ones((3, 32, 40, 1), "float32")
    images[1, :, 22:] = 0.0
    images[2] = 0.0
    outputs = model(images)
    assert outputs["logits"].shape == (3, 9, 5)
    assert np.asarray(outputs["lengths"]).tolist() == [9, 4, 0]
    labels, scores = layers.ctc_greedy_decode(outputs["logits"], outputs["lengths"])
    assert np.all(np.isfinite(scores))
    assert np.all(np.asarray(labels)[2] == -1)
    losses = layers.ctc_loss(np.array([[1, 2]] * 3), outputs["logits"], logit_lengths=outputs["lengths"])
    assert np.all(np.isfinite(losses))


def test_deepspeech2_halves_the_time():
    sizes = {"filters": [2, 2, 3], "units": [3], "dense_units": 4}
    outputs = zoo.create("deepspeech2", input_shape=(None, 33), num_classes=4, overrides=sizes)(np.ones((1, 15, 33), "float32"))
    assert outputs["logits"].shape == (1, 8, 4)
    assert np.asarray(outputs["lengths"]).tolist() == [8]


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("elman", {"input_shape": (5,)}, "token ids need a vocabulary_size"),
        ("elman", {"input_shape": (5, None)}, "known features"),
        ("elman", {"overrides": {"units": 0}}, "units in .* must be"),
        ("lstm_classifier", {"overrides": {"units": []}}, "units in .* must hold at least one entry"),
        ("lstm_classifier", {"overrides": {"direction": "back"}}, "direction"),
        ("word2vec_skipgram", {"input_shape": (2,)}, "one word"),
        ("gated_convnet_14", {"overrides": {"blocks": [[5]], "vocabulary_size": 9, "embedding_dim": 2}}, "pairs of filters"),
        ("crnn_ctc", {"input_shape": (31, None, 1)}, "must be .32, width"),
        ("deepspeech2", {"input_shape": (None, None)}, "known frequencies"),
        ("seq2seq_luong_general", {"overrides": {"score": "cosine"}}, "score"),
    ],
)
def test_errors(name, options, message):
    with pytest.raises(zoo.CanonError, match=message):
        zoo.create(name, **options)
