"""Write what a release leaves behind, for later releases to load. Run once at each release, before the tag:

    python tests/compatibility/make.py

It writes tests/compatibility/VERSION/: for small forms of a few models a `.keras` file, a `.weights.h5` file, a bundle and answers; and a
resolved recipe.
"""

import json
import os
import sys
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np

import keras_canon
from keras_canon import serving, training, zoo

MODELS = {
    "resnet20": {"overrides": {"blocks_per_stage": 1, "widths": (4, 8, 8)}, "input_shape": (16, 16, 3), "num_classes": 3},
    "lstm_classifier": {"overrides": {"units": (6,)}, "input_shape": (None, 4), "num_classes": 3},
    "char_rnn_gru": {"overrides": {"vocabulary_size": 12, "embedding_dim": 4, "units": (6, 6)}, "num_classes": 0},
}


def inputs(name: str) -> np.ndarray:
    """Return a small batch, the same in every release."""
    rng = np.random.RandomState(0)
    if name == "char_rnn_gru":
        return rng.randint(1, 12, (2, 5)).astype("int32")
    shape = (2, 16, 16, 3) if name == "resnet20" else (2, 5, 4)
    return rng.standard_normal(shape).astype("float32")


def main(folder: Path) -> None:
    """Write the folder of a release."""
    answers = {}
    for name, arguments in MODELS.items():
        keras.utils.set_random_seed(1)
        model = zoo.create(name, **arguments)
        answers[name] = np.asarray(model(inputs(name), training=False)).tolist()
        (folder / name).mkdir(parents=True)
        model.save(folder / name / "model.keras")
        model.save_weights(folder / name / "model.weights.h5")
        if name == "resnet20":
            serving.export(model, folder / name / "bundle", labels=["a", "b", "c"])
    (folder / "answers.json").write_text(json.dumps(answers) + "\n", encoding="utf-8")
    recipes = {name: training.recipe_toml(training.load_recipe(name)) for name in training.list_recipes()}
    (folder / "recipe.toml").write_text(recipes["lenet5_digits"], encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / keras_canon.__version__)
