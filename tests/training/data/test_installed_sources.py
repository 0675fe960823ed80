"""Data out of what Debian ships: the King James Bible, and speech of espeak-ng."""

import shutil

import numpy as np
import pytest

from keras_canon import serving, training, zoo
from keras_canon.training.data import load_sequences
from keras_canon.training.data.bible import verses
from keras_canon.training.data.speech import FRAMES, is_test, resampled, speak, utterance
from keras_canon.training.data.vocabulary import Characters
from keras_canon.training.recipe import change_recipe, load_recipe
from keras_canon.zoo import CanonError


def text_is_installed() -> bool:
    try:
        return bool(verses())
    except CanonError:
        return False


needs_bible = pytest.mark.skipif(not text_is_installed(), reason="Debian's package bible-kjv-text is not installed")
needs_espeak = pytest.mark.skipif(shutil.which("espeak-ng") is None, reason="espeak-ng is not installed")


@needs_bible
def test_verses_stand_on_lines_of_their_own():
    lines = verses().splitlines()
    assert len(lines) == 31_102
    assert lines[0] == "In the beginning God created the heaven and the earth."
    assert lines[-1] == "The grace of our Lord Jesus Christ be with you all. Amen."


@needs_bible
@pytest.mark.slow
def test_the_bible_is_a_text_like_others(data_dir, connections):
    data = load_sequences("bible[window=100,state=carried]", data_dir=data_dir)
    assert sum(data.facts["characters"].values()) == len(verses())
    assert data.train.inputs["token_ids"].shape[1] == 100
    assert (data.kind, data.characters, data.carries) == ("tokens", True, True)
    assert not connections


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("bible", "'bible' needs Debian's package bible-kjv-text: install it .*, or take 'text'"),
        ("speech:examples=50", "'speech' needs espeak-ng: install it .*, or take 'lines'"),
    ],
)
def test_what_is_not_installed_is_said_in_one_sentence(name, message, data_dir, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda program: None)
    with pytest.raises(CanonError, match=message):
        load_sequences(name, data_dir=data_dir / "empty")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("bible:gen1", "'bible' takes options in brackets alone"),
        ("bible[window=3]", "window must be a whole number from 8 to 4096"),
        ("speech:examples=3", "examples of speech must be 50 to 100000, got 3"),
        ("speech:rate=8000", "speech takes whole numbers for examples, .* got 'rate=8000'"),
    ],
)
def test_bad_names_are_refused(name, message, data_dir):
    with pytest.raises(CanonError, match=message):
        load_sequences(name, data_dir=data_dir)


def test_sound_is_resampled():
    time = np.arange(22_050) / 22_050
    wanted = np.sin(2 * np.pi * 440 * np.arange(16_000) / 16_000)
    # what lies above half of the new rate goes, and all else stays
    found = resampled(np.sin(2 * np.pi * 440 * time) + np.sin(2 * np.pi * 9000 * time), 22_050)
    np.testing.assert_allclose(found, wanted, atol=1e-6)
    np.testing.assert_allclose(resampled(np.sin(2 * np.pi * 440 * np.arange(8000) / 8000), 8000), wanted, atol=1e-6)


def test_digits_are_drawn():
    texts = [utterance(np.random.default_rng(row)) for row in range(200)]
    assert {len(text.split()) for text in texts} == {1, 2, 3}
    assert 5 < sum(map(is_test, texts)) < 40


@needs_espeak
def test_espeak_says_a_text():
    (samples, rate), (again, _) = (speak("three seven", np.random.default_rng(2)) for _ in range(2))
    assert rate == 22_050
    assert 0.3 < len(samples) / rate < 2.0
    assert samples[0] != 0.0 != samples[-1]
    np.testing.assert_array_equal(samples, again)
    assert zoo.spectrogram(resampled(samples, rate), 16_000).shape[0] < FRAMES


@needs_espeak
@pytest.mark.slow
def test_speech_is_learned_from_and_written_down(data_dir, tmp_path, monkeypatch):
    monkeypatch.setenv("KERAS_CANON_DATA", str(data_dir))
    data = load_sequences("speech:examples=60")
    alphabet = Characters(data.class_names)
    texts = {name: {alphabet.decode(row) for row in split.labels} for name, split in data.splits.items()}
    assert not texts["test"] & (texts["train"] | texts["validation"])
    for split in data.splits.values():
        frames = split.inputs["sequences"]
        assert frames.shape[1:] == (FRAMES, 161)
        assert np.all(np.any(frames != 0.0, axis=2).sum(axis=1) == split.lengths)
    sizes = {"filters": [4], "units": [8], "dense_units": 8}
    changes = {"data.name": "speech:examples=60", "model.name": "deepspeech2", "model.overrides": sizes}
    recipe = change_recipe(load_recipe("crnn_ctc_lines", smoke=True), changes)
    result = training.run(recipe, tmp_path / "run", verbose=False)
    assert np.isfinite(result.history["val_loss"]).all()
    assert {"ctc", "character_error_rate"} < set(result.test_metrics)
    bundle = serving.export(tmp_path / "run", tmp_path / "bundle")
    assert set(bundle.manifest.signatures) == {"serving_default", "transcribe"}
    found = serving.load(tmp_path / "bundle").predict({"sequences": data.test.inputs["sequences"][:2]}, "transcribe")
    assert len(found["text"]) == 2
    # the other recognizer reads pictures
    with pytest.raises(CanonError, match="'crnn_ctc' cannot be built with input_shape"):
        training.run(change_recipe(recipe, {"model.name": "crnn_ctc", "model.overrides": {}}), tmp_path / "other", verbose=False)


def test_the_highest_frequency_of_a_slow_recording_keeps_its_height():
    np.testing.assert_allclose(resampled(np.array([1.0, -1.0] * 4), 8000)[::2], [1.0, -1.0] * 4, atol=1e-12)
    assert len(resampled(np.zeros(0), 8000)) == 0
