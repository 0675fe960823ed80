"""Lines of text to be read: how they are drawn, their loss, figures and recipe, and what is refused."""

import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_canon import serving, training, zoo
from keras_canon.layers import ctc_loss
from keras_canon.training.data import lines, load_sequences
from keras_canon.training.data.sequences import Ragged, SequenceDataset, SequenceSplit
from keras_canon.training.evaluation import evaluate
from keras_canon.training.recipe import change_recipe, load_recipe
from keras_canon.training.sequence_pipeline import sequence_reader
from keras_canon.training.transcripts import TranscriptLoss, refuse_infeasible, whole_lines
from keras_canon.zoo import CanonError

WORDS = tuple(sorted({"".join(letters) for letters in itertools.product("abdeil", "aeiou", "lmnrt", "sty")}))
NAME = "lines:examples=60,width=128"


@pytest.fixture
def few_words(monkeypatch):
    """Words without reading the whole library."""
    monkeypatch.setattr(lines, "words", lambda: WORDS)


@pytest.fixture
def data(few_words, tmp_path):
    return load_sequences(NAME, data_dir=tmp_path)


def test_lines_hold_what_they_say(data):
    assert (data.kind, data.input_shape) == ("transcripts", (32, None, 1))
    assert [len(split) for split in data.splits.values()] == [54, 6, 6]
    names = data.class_names
    texts = {name: ["".join(names[i] for i in split.labels[row]) for row in range(len(split))] for name, split in data.splits.items()}
    for name, split in data.splits.items():
        assert {lines.is_test_word(word) for text in texts[name] for word in text.split()} == {name == "test"}
        for row in range(len(split)):
            columns = split.inputs["images"][row].any(axis=(0, 2))
            assert columns[: split.lengths[row]].all()
            assert not columns[split.lengths[row] :].any()
    assert any(text[:1].isupper() for text in texts["train"])
    assert all(1 <= len(text) <= 14 for text in itertools.chain(*texts.values()))


def test_a_line_is_dark_on_light_and_long_ones_fit():
    picture = lines.draw(np.random.default_rng(3), "Mmmmmmmm Wwwww", 128)
    assert picture.shape == (32, 128)
    assert picture.min() > 0
    assert np.median(picture) > 140
    assert picture.min() < 100
    narrow = lines.draw(np.random.default_rng(3), "lllll", 128)
    assert narrow.shape[1] // 4 - 1 >= 9  # frames for five letters and the blanks between them


def test_batches_are_as_wide_as_needed(data):
    pictures, labels = next(iter(sequence_reader(data.train, 4)(np.argsort(data.train.lengths)[:4])))
    widest = int(np.sort(data.train.lengths)[3])
    assert widest <= pictures.shape[2] < widest + 8
    assert 0.0 <= float(tf.reduce_min(pictures)) <= float(tf.reduce_max(pictures)) <= 1.0
    assert labels.shape[1] % 8 == 0


def test_the_loss_is_that_of_each_transcript():
    random = np.random.default_rng(0)
    outputs = {"logits": random.standard_normal((2, 6, 4)).astype("float32"), "lengths": np.asarray([6, 4], "int32")}
    found = TranscriptLoss(reduction="none")([[1, 2, 2], [3, 0, 0]], outputs)
    alone = [ctc_loss([[1, 2, 2]], outputs["logits"][:1])[0], ctc_loss([[3]], outputs["logits"][1:, :4])[0]]
    np.testing.assert_allclose(found, alone, rtol=1e-5)
    again = TranscriptLoss.from_config(TranscriptLoss().get_config())
    assert float(again([[1, 2, 2], [3, 0, 0]], outputs)) == pytest.approx(np.mean(alone), rel=1e-5)


def test_a_line_counts_when_every_letter_is_right():
    best = np.asarray([[1, 0, 1, 2, 2], [1, 1, 0, 0, 3], [0, 0, 0, 0, 0]])
    outputs = {"logits": keras.ops.one_hot(best, 4), "lengths": np.asarray([5, 4, 5], "int32")}
    assert np.asarray(whole_lines([[1, 1, 2], [1, 0, 0], [1, 0, 0]], outputs)).tolist() == [1.0, 1.0, 0.0]
    assert np.asarray(whole_lines([[1, 1, 2, 0, 0, 0, 3], [1, 0, 0, 0, 0, 0, 0], [0] * 7], outputs)).tolist() == [0.0, 1.0, 1.0]


def test_a_line_longer_than_its_frames_is_refused():
    pictures = np.full((2, 32, 24, 1), 9, "uint8")
    split = SequenceSplit("train", {"images": pictures}, Ragged.of([[4, 5], [4, 4, 5, 4, 4]]), np.asarray([24, 24]))
    names = ("<pad>", "<unk>", "<start>", "<end>", "a", "b")
    data = SequenceDataset("few", "transcripts", names, (32, None, 1), split, split, split, {})
    model = zoo.create("crnn_ctc", num_classes=6, overrides={"filters": (4,) * 7, "units": (4,)})
    refuse_infeasible(model, data, split.part("train", np.asarray([0])))
    with pytest.raises(CanonError, match="The line 'aabaa' of 'few' has more characters than"):
        refuse_infeasible(model, data, split)


@pytest.mark.slow
def test_the_recipe_runs_small_and_its_model_reads_pictures(few_words, tmp_path):
    recipe = change_recipe(load_recipe("crnn_ctc_lines", smoke=True), {"data.name": NAME})
    result = training.run(recipe, tmp_path / "run", verbose=False)
    assert np.isfinite(result.history["val_loss"]).all()
    assert {"ctc", "exact_match", "character_error_rate", "word_error_rate"} < set(result.test_metrics)
    assert evaluate(tmp_path / "run").metrics() == pytest.approx(result.test_metrics, abs=1e-4)
    bundle = serving.export(tmp_path / "run", tmp_path / "bundle")
    assert set(bundle.manifest.signatures) == {"bytes", "serving_default"}
    picture = lines.draw(np.random.default_rng(1), "line", 96)[..., None]
    encoded = tf.io.encode_png(picture).numpy()
    found = serving.load(tmp_path / "bundle").predict([encoded])
    outputs = result.model(zoo.preprocess([encoded], result.model))
    # a blank is no letter, and padding no frame
    frames = int(outputs["lengths"][0])
    assert frames == picture.shape[1] // 4 - 1
    best = [int(label) for label in np.argmax(outputs["logits"][0, :frames], axis=-1)]
    letters = [label for label, before in zip(best, [0, *best], strict=False) if label not in (0, before)]
    words = zoo.load_tokenizer(tmp_path / "run")
    assert found["text"][0].decode("utf-8") == words.decode(letters)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"data.name": "lines:examples=10"}, "examples of lines must be 50 to 1000000, got 10"),
        ({"data.name": "lines:width=9"}, "width of lines must be 96 to 1024 pixels, got 9"),
        ({"train.loss": "cross_entropy"}, "are transcripts, whose loss is 'ctc'"),
        ({"train.loss_options": {"blank": 1}}, "The loss 'ctc' has no options"),
        ({"data.name": "digits"}, "reads sequences, and 'digits' holds pictures"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_sentence(changes, message, few_words, tmp_path):
    recipe = change_recipe(load_recipe("crnn_ctc_lines", smoke=True), {"data.name": NAME, **changes})
    with pytest.raises(CanonError, match=message):
        training.run(recipe, tmp_path / "run", verbose=False)
