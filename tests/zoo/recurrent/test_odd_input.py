"""Input that is nothing, too long or unknown: a typed error or the documented treatment, and never a number that is none."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_canon import zoo
from keras_canon.training.data import load_sequences
from keras_canon.training.data.sequences import Ragged, SequenceDataset, SequenceSplit
from keras_canon.training.data.text import text_source
from keras_canon.training.data.vocabulary import END, SPECIALS, START, UNKNOWN, Characters
from keras_canon.training.sequence_losses import SequenceCrossEntropy, token_accuracy
from keras_canon.training.sequence_pipeline import sequence_reader
from keras_canon.training.text_metrics import bleu, character_error_rate, exact_match, word_error_rate
from keras_canon.training.transcripts import TranscriptLoss, refuse_infeasible, whole_lines
from keras_canon.zoo import CanonError

ALPHABET = Characters.of(["abcde"])
SHORT = zoo.Generation(max_new_tokens=3)


@pytest.fixture(scope="module")
def writer():
    keras.utils.set_random_seed(3)
    return zoo.create("char_rnn_lstm", overrides={"vocabulary_size": len(ALPHABET), "units": (4,), "embedding_dim": 4})


@pytest.fixture(scope="module")
def translator():
    keras.utils.set_random_seed(3)
    sizes = {"source_vocabulary_size": len(ALPHABET), "target_vocabulary_size": len(ALPHABET), "units": 4, "embedding_dim": 4}
    return zoo.create("seq2seq_attention", overrides={**sizes, "attention_units": 4, "readout_units": 4})


def utterances(*texts):
    """Recordings of six frames each, with what is said in them."""
    frames = np.random.default_rng(0).standard_normal((len(texts), 6, 161)).astype("float32")
    split = SequenceSplit("train", {"sequences": frames}, Ragged.of([ALPHABET.encode(text) for text in texts]), np.full(len(texts), 6))
    return split, SequenceDataset("spoken", "transcripts", ALPHABET.symbols, (None, 161), split, split, split, {})


def test_an_empty_text_is_no_data(tmp_path):
    (tmp_path / "empty.txt").touch()
    with pytest.raises(CanonError, match="has 0 characters: give at least 5,120"):
        text_source(str(tmp_path / "empty.txt")).splits()


def test_a_text_too_short_for_its_window_is_no_data(tmp_path):
    (tmp_path / "short.txt").write_text("some words\n" * 600, encoding="utf-8")
    with pytest.raises(CanonError, match=r"The validation split of '.*' has \d+ characters, too few for a window of 4096"):
        load_sequences(f"text:{tmp_path}/short.txt[window=4096]", data_dir=tmp_path)


def test_an_empty_prompt_is_refused(writer):
    with pytest.raises(CanonError, match="prompt 1 has no ids"):
        zoo.generate(writer, [[4], ALPHABET.encode("")], SHORT)


def test_an_empty_source_is_its_end_alone(translator):
    with pytest.raises(CanonError, match="source_ids 0 has no ids"):
        zoo.generate(translator, {"source_ids": [[]], "target_ids": [[START]]}, SHORT)
    source = np.append(ALPHABET.encode(""), END)
    assert np.all(np.isfinite(translator({"source_ids": source[None], "target_ids": np.asarray([[START]])})))
    assert len(zoo.generate(translator, {"source_ids": [source], "target_ids": [[START]]}, SHORT)[0]) == 3


def test_rows_without_steps_stand_in_a_batch():
    rows = Ragged.of([[], [4, 5, 6], []])
    split = SequenceSplit("train", {"token_ids": rows}, rows, rows.lengths)
    inputs, labels = next(iter(sequence_reader(split, 3)(None)))
    assert inputs.shape == labels.shape == (3, 8)
    logits = tf.random.stateless_normal((3, 8, 7), (0, 0))
    losses = SequenceCrossEntropy(reduction="none")(labels, logits)
    assert losses[1] > 0.0
    assert losses[0] == losses[2] == 0.0
    assert np.all(np.isfinite(token_accuracy(labels, logits)))


def test_an_empty_transcript_costs_the_blanks():
    random = np.random.default_rng(0).standard_normal((2, 4, 5)).astype("float32")
    logits = tf.constant(random)
    outputs = {"logits": logits, "lengths": tf.constant([4, 0])}
    with tf.GradientTape() as tape:
        tape.watch(logits)
        losses = TranscriptLoss(reduction="none")(tf.zeros((2, 0), "int32"), outputs)
    np.testing.assert_allclose(losses[0], -tf.nn.log_softmax(random)[0, :, 0].numpy().sum(), rtol=1e-5)
    assert float(losses[1]) == 0.0, "no frames and no symbols"
    assert np.all(np.isfinite(tape.gradient(losses, logits)))
    assert np.all(np.isfinite(whole_lines(tf.zeros((2, 0), "int32"), outputs)))


def test_an_utterance_longer_than_its_frames_is_refused():
    model = zoo.create("deepspeech2", num_classes=len(ALPHABET), overrides={"filters": (2,), "units": (2,), "dense_units": 2})
    split, data = utterances("abc", "", "abca", "aab")
    with pytest.raises(CanonError, match="The utterance 'abca' of 'spoken' has more characters than 'deepspeech2' has frames for it"):
        refuse_infeasible(model, data, split)
    refuse_infeasible(model, data, split.part("train", np.asarray([0, 1])))
    with pytest.raises(CanonError, match="The utterance 'aab'"):  # between letters that are equal stands a blank
        refuse_infeasible(model, data, split.part("train", np.asarray([3])))


def test_an_unknown_character_is_one_token_and_is_counted(tmp_path, writer):
    assert ALPHABET.encode("aéb").tolist() == [4, UNKNOWN, 5]
    assert ALPHABET.decode([4, UNKNOWN, 5]) == "a\ufffdb" == zoo.CharacterTokenizer("abcde", SPECIALS).decode([4, UNKNOWN, 5])
    assert len(zoo.generate(writer, [ALPHABET.encode("é")], SHORT)[0]) == 3
    # a text read as something else is wrong there
    truth, said = (ALPHABET.decode(ALPHABET.encode(text)) for text in ("aé", "ab"))
    assert character_error_rate([truth], [said]) == 0.5
    # blocks of 27 lines, every twentieth of which belongs to the test
    text = "".join(f"{number:02}{'c' if number % 20 < 19 else 'é'}d\n" * 27 for number in range(39))
    (tmp_path / "book.txt").write_text(text + "00éd\n", encoding="utf-8")
    data = load_sequences(f"text:{tmp_path}/book.txt[window=32]", data_dir=tmp_path)
    counted = {name: int(np.sum(split.labels == UNKNOWN)) for name, split in data.splits.items()}
    assert data.facts["unknown_characters"] == counted
    assert counted["test"] > 20
    assert counted["train"] == 0


def test_pairs_that_do_not_match_are_refused(translator):
    with pytest.raises(CanonError, match="as many rows, got 2 and 1"):
        zoo.generate(translator, {"source_ids": [[4], [5]], "target_ids": [[START]]}, SHORT)
    for figure in (exact_match, character_error_rate, word_error_rate, bleu):
        with pytest.raises(CanonError, match="as many texts as references and at least one, got 1 and 2"):
            figure(["a", "b"], ["a"])


def test_figures_of_empty_texts_are_numbers():
    assert character_error_rate(["", "ab"], ["x", "ab"]) == 0.5
    assert exact_match([""], [""]) == 1.0
    assert bleu(["a b", "c d"], ["", ""]) == 0.0
    with pytest.raises(CanonError, match="at least one text that is not empty"):
        character_error_rate([""], ["a"])


def test_a_recording_of_another_rate_is_refused():
    with pytest.raises(CanonError, match="16000 samples a second, got 44100: resample it first"):
        zoo.spectrogram(np.ones(44_100), 44_100)
