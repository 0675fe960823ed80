"""Speech as `deepspeech2` reads it: recordings to spectrograms."""

import io
import os
import wave
from pathlib import Path

import numpy as np

from ..errors import CanonError

SAMPLING_RATE = 16_000  # samples a second
_WINDOW, _HOP = 320, 160  # 20 and 10 milliseconds
_FLOOR = 1e-4


def spectrogram(samples, sampling_rate: int) -> np.ndarray:
    r"""Return the log-spectrogram of a recording, of power-normalised sound, in windows of 20 ms, one every 10 ms.

    $$S_{t,f} = \log\left(\left|\sum_{n=0}^{319} w_n \frac{x_{160 t + n}}{\mathrm{rms}(x)} e^{-2 \pi i f n / 320}\right|^2
    + 10^{-4}\right) \tag{1}$$

    w is the Hann window.

    Args:
        samples: x, numbers of shape (samples,), of any loudness.
        sampling_rate: samples a second, which must be 16,000.

    Returns:
        float32 of shape (frames, 161); what fills no whole window at the end is left out.

    Raises:
        CanonError: another rate, another rank, fewer than 320 samples, values that are no numbers, or silence alone.

    Reference:
        Amodei et al., 2015, "Deep Speech 2: end-to-end speech recognition in English and Mandarin", section 3.1, arXiv:1512.02595.

    Example:
        >>> import numpy as np
        >>> from keras_canon import zoo
        >>> zoo.spectrogram(np.sin(np.arange(16_000)), 16_000).shape
        (99, 161)
    """
    if sampling_rate != SAMPLING_RATE:
        raise CanonError(f"Spectrograms are of recordings with {SAMPLING_RATE} samples a second, got {sampling_rate}: resample it first.")
    values = np.asarray(samples)
    if values.ndim != 1 or values.dtype.kind not in "fiu":
        raise CanonError(f"A recording is a vector of numbers, got {values.dtype} of shape {values.shape}: mix channels to one first.")
    if len(values) < _WINDOW:
        raise CanonError(f"A recording must have at least {_WINDOW} samples, a window of 20 ms, got {len(values)}.")
    values = values.astype("float64")
    loudness = float(np.sqrt(np.mean(values**2)))
    if not np.isfinite(loudness) or loudness == 0.0:
        raise CanonError("A recording must hold sound, got " + ("silence alone." if loudness == 0.0 else "values that are not finite."))
    frames = np.lib.stride_tricks.sliding_window_view(values / loudness, _WINDOW)[::_HOP]  # (frames, 320)
    spectrum = np.fft.rfft(frames * np.hanning(_WINDOW + 1)[:-1], axis=1)  # (frames, 161)
    return np.log(np.abs(spectrum) ** 2 + _FLOOR).astype("float32")


def read_wave(source: bytes | str | os.PathLike) -> tuple[np.ndarray, int]:
    """Read a WAV file of one channel and 16 bits.

    Args:
        source: its path or its content.

    Returns:
        (samples from -1 to 1, float32 of shape (samples,); samples a second).

    Raises:
        CanonError: no such file, no WAV file, several channels, or another width of samples.

    Example:
        >>> from keras_canon import zoo
        >>> zoo.read_wave(b"RIFF")
        Traceback (most recent call last):
        keras_canon.zoo.errors.CanonError: The recording is no WAV file: give one of one channel with 16 bits.
    """
    what = "The recording" if isinstance(source, bytes) else repr(os.fspath(source))
    try:
        content = source if isinstance(source, bytes) else Path(source).read_bytes()
        with wave.open(io.BytesIO(content)) as file:
            channels, width, rate = file.getnchannels(), file.getsampwidth(), file.getframerate()
            raw = file.readframes(file.getnframes())
    except OSError as error:
        raise CanonError(f"{what} cannot be read: {error.strerror}.") from error
    except (wave.Error, EOFError) as error:
        raise CanonError(f"{what} is no WAV file: give one of one channel with 16 bits.") from error
    if channels != 1 or width != 2:
        raise CanonError(f"{what} has {channels} channels of {8 * width} bits: give a WAV file of one channel with 16 bits.")
    return np.frombuffer(raw[: len(raw) // 2 * 2], "<i2").astype("float32") / 32768.0, rate
