"""The measured gain of transfer: run by hand, about half an hour on 2 cores; the figures are in docs/transfer.md."""

import importlib.util
import statistics
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "transfer.py"
LEAST_GAIN = 0.03  # over training from scratch, in at least one setting


@pytest.fixture(scope="module")
def benchmark():
    spec = importlib.util.spec_from_file_location("transfer_benchmark", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_staged_fine_tuning_is_best_or_within_the_spread_and_beats_training_from_scratch(benchmark, tmp_path):
    found = {setting: benchmark.measure(setting, tmp_path) for setting in benchmark.SETTINGS}
    print(f"\n{benchmark.table(found)}")
    gains = []
    for setting, by_method in found.items():
        mean = {method: statistics.mean(values) for method, values in by_method.items()}
        best = max(mean, key=mean.get)
        within = max(benchmark.spread(by_method["staged"]), benchmark.spread(by_method[best]))
        assert mean["staged"] >= mean[best] - within, setting
        gains.append(mean["staged"] - mean["scratch"])
    assert max(gains) >= LEAST_GAIN
