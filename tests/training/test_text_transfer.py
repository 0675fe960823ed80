"""What pre-training without labels gives 200 labels: run by hand, about 20 minutes on 2 cores; the figures are in docs/few-labels.md."""

import shutil
import statistics

import pytest

from keras_canon import training

SEEDS = (0, 1, 2)
LEAST_GAIN = 0.05
START_RATES = {"random weights": 0.0005, "bert_tiny_mlm": 0.0005}  # by the validation split of seed 100


def table(found):
    lines = [f"| start | {' | '.join(f'seed {seed}' for seed in SEEDS)} | mean |", f"|{'---|' * (len(SEEDS) + 2)}"]
    for start, values in found.items():
        lines.append(f"| {start} | {' | '.join(f'{value:.4f}' for value in values)} | {statistics.mean(values):.4f} |")
    return "\n".join(lines)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bible") is None, reason="Debian's package bible-kjv is not installed")
def test_pretraining_beats_random_weights_on_200_labels(tmp_path):
    training.run("bert_tiny_mlm", tmp_path / "pretrained", verbose=False)
    starts = {"random weights": {}, "bert_tiny_mlm": {"transfer.weights": str(tmp_path / "pretrained")}}
    found = {start: [] for start in starts}
    for seed in SEEDS:
        for start, changes in starts.items():
            folder = tmp_path / f"{start.replace(' ', '_')}_{seed}"
            result = training.run(
                "bert_tiny_books",
                folder,
                overrides=changes | {"optimizer.learning_rate": START_RATES[start], "data.seed": seed, "train.seed": seed},
                verbose=False,
            )
            assert result.test_metrics["examples"] >= 1000
            found[start].append(result.test_metrics["accuracy"])
    print(f"\n{table(found)}")
    assert statistics.mean(found["bert_tiny_mlm"]) - statistics.mean(found["random weights"]) >= LEAST_GAIN
