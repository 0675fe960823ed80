"""Pictures are drawn for one epoch and many, few classes and many, grey and colour."""

import numpy as np
import pytest
from PIL import Image

from keras_canon.training.figures import draw_confusion, draw_contact_sheet, draw_curves


def pixels(path):
    with Image.open(path) as opened:
        return np.asarray(opened.convert("RGB"))


@pytest.mark.parametrize("epochs", [3, *(pytest.param(size, marks=pytest.mark.slow) for size in (1, 200))])
def test_curves(epochs, tmp_path):
    falling = np.geomspace(10.0, 0.01, epochs).tolist()
    history = {"loss": falling, "val_loss": falling, "accuracy": falling, "val_accuracy": falling, "learning_rate": falling}
    draw_curves(history, tmp_path / "curves.png", title="title", best_epoch=0)
    drawn = pixels(tmp_path / "curves.png")
    assert drawn.shape[1] > 1000
    assert len(np.unique(drawn.reshape(-1, 3), axis=0)) > 50


@pytest.mark.parametrize("classes", [10, *(pytest.param(size, marks=pytest.mark.slow) for size in (2, 30))])
def test_confusion(classes, tmp_path):
    counts = np.eye(classes, dtype="int64") * 5
    counts[0, 1] = 2
    draw_confusion(counts, [f"class {i}" for i in range(classes)], tmp_path / "confusion.png", title="title")
    assert len(np.unique(pixels(tmp_path / "confusion.png").reshape(-1, 3), axis=0)) > 50


@pytest.mark.parametrize("count", [7, *(pytest.param(size, marks=pytest.mark.slow) for size in (1, 24))])
def test_contact_sheet(count, tmp_path):
    random = np.random.default_rng(0)
    images = [random.integers(0, 256, (8 + i % 3, 9, 1 if i % 2 else 3), dtype="uint8") for i in range(count)]
    draw_contact_sheet(images, ["a\nb"] * count, tmp_path / "sheet.png", title="title")
    drawn = pixels(tmp_path / "sheet.png")
    assert drawn.shape[0] > 150
    assert len(np.unique(drawn.reshape(-1, 3), axis=0)) > 50
