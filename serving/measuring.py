"""How far, how right and how fast a written model is beside the float32 SavedModel."""

import statistics
import time
from collections.abc import Callable, Mapping

import numpy as np

from .bundle import Measurement
from .samples import Samples
from .signatures import LOGITS

Predictor = Callable[[Mapping[str, np.ndarray]], dict[str, np.ndarray]]

BATCH = 16
_ROUNDS = 9


def measure(what: str, candidate: Predictor, reference: Predictor, samples: Samples, classes: str | None = LOGITS) -> Measurement:
    """Run two predictors on the same rows, and time them in turn.

    Args:
        what: name of the candidate, such as "saved_model bfloat16".
        candidate: what was written.
        reference: the float32 model.
        samples: rows, and their classes where known.
        classes: the output whose largest value is the class.
    """
    batches = [samples.rows(start, start + BATCH) for start in range(0, len(samples), BATCH)]
    got, expected = (_join([predict(batch) for batch in batches]) for predict in (candidate, reference))
    name = classes if classes in expected and expected[classes].ndim == 2 else None
    seconds = _time_in_turn([candidate, reference], batches[0])
    return Measurement(
        what=what,
        examples=len(samples),
        difference=difference(got, expected),
        agreement=None if name is None else float(np.mean(got[name].argmax(-1) == expected[name].argmax(-1))),
        accuracy=_accuracy(got, name, samples),
        float32_accuracy=_accuracy(expected, name, samples),
        batch=len(next(iter(batches[0].values()))),
        milliseconds=1000 * seconds[0],
        float32_milliseconds=1000 * seconds[1],
    )


def difference(got: Mapping[str, np.ndarray], expected: Mapping[str, np.ndarray]) -> float:
    """Return the largest difference over all outputs, as a share of that output's largest absolute value."""
    worst = 0.0
    for name, value in expected.items():
        if value.size:
            gap = np.abs(np.asarray(got[name], "float64") - value).max()
            worst = max(worst, float(gap / max(np.abs(value).max(), 1e-12)))
    return worst


def _accuracy(outputs: Mapping[str, np.ndarray], name: str | None, samples: Samples) -> float | None:
    if name is None or samples.targets is None:
        return None
    return float(np.mean(outputs[name].argmax(-1) == samples.targets))


def _join(parts: list[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _time_in_turn(predictors: list[Predictor], batch: Mapping[str, np.ndarray]) -> list[float]:
    """Return the median seconds of each; they take turns, so that whatever else the machine does slows all of them."""
    taken: list[list[float]] = [[] for _ in predictors]
    for _ in range(_ROUNDS):
        for predict, times in zip(predictors, taken, strict=True):
            start = time.perf_counter()
            predict(batch)
            times.append(time.perf_counter() - start)
    return [statistics.median(times) for times in taken]
