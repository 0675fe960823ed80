"""Numbers spoken by espeak-ng in several voices, to be written down."""

import hashlib
import shutil
import subprocess
from collections.abc import Iterator
from typing import Any

import numpy as np

from ...zoo.errors import CanonError
from ...zoo.recurrent.spectrogram import SAMPLING_RATE, read_wave, spectrogram
from .sequence_builder import SequenceSource

NAMES = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
VOICES = ("en-us", "en-gb", "en-gb-scotland", "en-gb-x-rp")
_VARIANTS = ("", "+m3", "+m7", "+f2", "+f4")
FRAMES = 200  # of 10 ms, which an utterance has at most
_FREQUENCIES = 161
_SEED = 2024
_SECONDS = 60


def speech_source(examples: int = 1000) -> SequenceSource:
    """Return utterances of one to three digits, spoken in four voices of English with five timbres, at various heights and speeds.

    There are `examples` for training and a tenth of that for the test, whose sequences of digits are none of training's. An utterance
    is the log-spectrogram (200, 161) that `zoo.spectrogram` gives; behind it, frames are 0, which stands for padding.

    Args:
        examples: utterances for training.

    Raises:
        CanonError: for fewer than 50 or more than 100,000.
    """
    if not 50 <= examples <= 100_000:
        raise CanonError(f"examples of speech must be 50 to 100000, got {examples}.")

    def some(split: int, number: int) -> Iterator[dict[str, Any]]:
        for row in range(number):
            generator = np.random.default_rng([_SEED, split, row])
            text = utterance(generator)
            while is_test(text) != bool(split):
                text = utterance(generator)
            frames = spectrogram(resampled(*speak(text, generator)), SAMPLING_RATE)
            if len(frames) > FRAMES:
                raise CanonError(f"espeak-ng takes {len(frames)} frames of 10 ms to say {text!r}, and {FRAMES} are kept: use version 1.51.")
            stored = np.zeros((FRAMES, _FREQUENCIES), "float32")
            stored[: len(frames)] = frames
            yield {"sequence": stored, "text": text, "length": len(frames)}

    return SequenceSource(
        f"speech_{examples}",
        "One to three digits, spoken by espeak-ng in several voices.",
        {"sequence": ((FRAMES, _FREQUENCIES), "float32"), "text": None, "length": ((), "int64")},
        lambda: {"train": some(0, examples), "test": some(1, examples // 10)},
        origin="digits spoken by espeak-ng",
    )


def utterance(generator: np.random.Generator) -> str:
    """Return one to three names of digits; three are the likeliest, since most sequences are that long."""
    number = int(generator.choice(3, p=[0.1, 0.3, 0.6])) + 1
    return " ".join(NAMES[int(digit)] for digit in generator.integers(0, len(NAMES), number))


def is_test(text: str) -> bool:
    """Return whether a sequence of digits belongs to the test: a tenth, the same on every machine."""
    return hashlib.sha256(text.encode()).digest()[0] < 26


def speak(text: str, generator: np.random.Generator) -> tuple[np.ndarray, int]:
    """Return what espeak-ng says, without the silence around it, and its samples a second.

    Args:
        text: to be said.
        generator: draws voice, timbre, height and speed.

    Raises:
        CanonError: where espeak-ng is not installed, or says nothing.
    """
    program = shutil.which("espeak-ng")
    if program is None:
        raise CanonError(
            "The data set 'speech' needs espeak-ng: install it (apt install espeak-ng), or take 'lines', drawn texts to be read."
        )
    voice = VOICES[int(generator.integers(len(VOICES)))] + _VARIANTS[int(generator.integers(len(_VARIANTS)))]
    pitch, speed = int(generator.integers(25, 76)), int(generator.integers(150, 221))
    command = [program, "-v", voice, "-p", str(pitch), "-s", str(speed), "--stdout", text]
    found = subprocess.run(command, capture_output=True, check=False, timeout=_SECONDS)
    if found.returncode or not found.stdout:
        reason = " ".join(found.stderr.decode(errors="replace").split())
        raise CanonError(f"espeak-ng could not say {text!r} in the voice {voice}: {reason or 'it wrote no sound'}.")
    samples, rate = read_wave(found.stdout)
    heard = np.flatnonzero(samples)
    return samples[heard[0] : heard[-1] + 1] if len(heard) else samples, rate


def resampled(samples: np.ndarray, rate: int) -> np.ndarray:
    """Return sound at 16,000 samples a second, (samples,), without the frequencies that those cannot hold.

    The discrete Fourier transform of the whole is cut, or filled up with zeros.

    Args:
        samples: (samples,).
        rate: samples a second.
    """
    number = round(len(samples) * SAMPLING_RATE / rate)
    if not number:
        return np.zeros(0)
    spectrum = np.fft.rfft(samples)
    if len(samples) % 2 == 0 and number > len(samples):
        spectrum[-1] /= 2.0  # the highest frequency is counted once, and in the longer spectrum twice
    return np.fft.irfft(spectrum[: number // 2 + 1], number) * (number / len(samples))
