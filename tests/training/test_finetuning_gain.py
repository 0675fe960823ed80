"""The measured gain of transfer: run by hand, about an hour on 2 cores; the figures go to docs/transfer.md."""

import numpy as np
import pytest

from keras_canon import training

# name -> (pre-training data, data with few labels)
SETTINGS = {
    "classes_0_4_to_5_9": ("fashion_mnist[classes=0-4]", "fashion_mnist[classes=5-9,per_class=20]"),
    "fashion_mnist_to_digits": ("fashion_mnist", "digits[per_class=10]"),
}
METHODS = ("staged", "full", "probe", "scratch")
SEEDS = (0, 1, 2)


@pytest.mark.slow
@pytest.mark.parametrize("setting", SETTINGS)
def test_staged_fine_tuning_is_best_or_within_the_spread(setting, tmp_path):
    source, target = SETTINGS[setting]
    overrides = {"data.name": source, "train.epochs": 3}
    base = training.run("resnet20_fashion_mnist", tmp_path / "base", overrides=overrides, verbose=False).folder
    accuracy = {method: [] for method in METHODS}
    for method in METHODS:
        for seed in SEEDS:
            changes = {"train.seed": seed, "data.seed": seed, "train.epochs": 40, "train.batch_size": 16, "train.patience": 10}
            model, weights = (base, None) if method != "scratch" else ("resnet20", "random")
            changes |= {"model.input_shape": [28, 28, 1]} if method == "scratch" else {"transfer.method": method}
            result = training.finetune(model, target, tmp_path / f"{method}_{seed}", weights=weights, overrides=changes, verbose=False)
            accuracy[method].append(result.test.accuracy)
    print(f"\n| {setting} | test accuracy, mean of {len(SEEDS)} | spread |\n| --- | --- | --- |")
    for method, values in accuracy.items():
        print(f"| {method} | {np.mean(values):.4f} | {np.ptp(values):.4f} |")
    mean = {method: float(np.mean(values)) for method, values in accuracy.items()}
    spread = max(float(np.ptp(values)) for values in accuracy.values())
    assert mean["staged"] >= max(mean.values()) - spread
    assert mean["staged"] >= mean["scratch"]
