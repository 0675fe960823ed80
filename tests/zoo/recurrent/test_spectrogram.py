"""Recordings to spectrograms: values against ones counted by hand, and recordings that are none."""

import io
import wave

import numpy as np
import pytest

from keras_canon import zoo

RATE = 16_000


def recording(samples, rate=RATE, channels=1, width=2) -> bytes:
    """Return a WAV file."""
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(width)
        file.setframerate(rate)
        file.writeframes(np.asarray(samples, f"<i{width}").tobytes())
    return buffer.getvalue()


def test_a_tone_stands_at_its_frequency():
    tone = np.sin(2 * np.pi * 1000 * np.arange(RATE) / RATE)
    found = zoo.spectrogram(tone, RATE)
    assert found.shape == (99, 161)
    assert found.dtype == "float32"
    assert set(found.argmax(axis=1)) == {20}  # 1000 Hz in steps of 50 Hz
    # of loudness 1 it is sqrt(2) high; the Hann window sums to 160, half of which falls to the positive frequency
    np.testing.assert_allclose(found[:, 20], np.log((np.sqrt(2) * 80) ** 2 + 1e-4), rtol=1e-5)
    np.testing.assert_allclose(found[:, 60:], np.log(1e-4), atol=1e-2)


def test_loudness_and_what_fills_no_window_change_nothing():
    sound = np.random.default_rng(0).standard_normal(1000)
    found = zoo.spectrogram(sound[:960], RATE)
    np.testing.assert_allclose(zoo.spectrogram(0.01 * sound[:960], RATE), found, atol=1e-4)
    assert zoo.spectrogram(sound, RATE).shape == found.shape == (5, 161)
    assert np.all(np.any(found != 0.0, axis=1)), "no real frame is padding"


def test_files_are_read(tmp_path):
    samples = np.asarray([0, 16384, -32768, 32767], "int16")
    content = recording(samples, 22_050)
    (tmp_path / "a.wav").write_bytes(content)
    for source in (content, tmp_path / "a.wav", str(tmp_path / "a.wav")):
        values, rate = zoo.read_wave(source)
        assert rate == 22_050
        np.testing.assert_allclose(values, [0.0, 0.5, -1.0, 32767 / 32768])


@pytest.mark.parametrize(
    ("samples", "rate", "message"),
    [
        (np.ones(22_050), 22_050, "are of recordings with 16000 samples a second, got 22050: resample it first"),
        (np.ones((400, 2)), RATE, r"is a vector of numbers, got float64 of shape \(400, 2\)"),
        (["a"] * 400, RATE, "is a vector of numbers, got <U1"),
        ([], RATE, "at least 320 samples, a window of 20 ms, got 0"),
        (np.ones(319), RATE, "got 319"),
        (np.zeros(400), RATE, "must hold sound, got silence alone"),
        (np.full(400, np.nan), RATE, "got values that are not finite"),
        (np.full(400, np.inf), RATE, "got values that are not finite"),
    ],
)
def test_what_is_no_recording_is_refused(samples, rate, message):
    with pytest.raises(zoo.CanonError, match=message):
        zoo.spectrogram(samples, rate)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "The recording is no WAV file"),
        (b"RIFF\0\0\0\0WAVE", "The recording is no WAV file"),
        (recording([1] * 4, channels=2), "has 2 channels of 16 bits: give a WAV file of one channel with 16 bits"),
        (recording([1] * 4, width=4), "has 1 channels of 32 bits"),
        ("/no/such.wav", r"'/no/such\.wav' cannot be read: No such file or directory"),
    ],
)
def test_what_is_no_file_of_sound_is_refused(content, message):
    with pytest.raises(zoo.CanonError, match=message):
        zoo.read_wave(content)
