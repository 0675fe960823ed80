"""Speed of a recipe's run against the bare training step, as ratios measured in one run.

usage: python benchmarks/training.py [RECIPE ...] [--most-seconds S] [--rounds N]

The bare step is what anyone would write by hand for the same update: a `tf.function` with a gradient tape, the recipe's weight penalties
and clipping by global norm where it has them, and `optimizer.apply`, fed from a batch that lies in memory. The run is our loop with
everything that a recipe brings: input pipeline, sums of figures, callbacks, the watch for numbers that are none, and checkpoints. Both
train equal models and take turns, so that whatever else the machine does slows both. A ratio of 0.95 means that a run does 0.95 of the
bare step's images a second. A round is an epoch, or as much of it as the time allows. Without names of recipes the result goes to
benchmarks/results/training.json.
"""

import argparse
import os
import statistics
import tempfile
import time
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import tensorflow as tf
from report import Report

from keras_canon import training
from keras_canon.training.building import build
from keras_canon.training.callbacks import BestWeights, Events, HistoryFile
from keras_canon.training.checkpoints import Checkpoints
from keras_canon.training.loop import train
from keras_canon.training.pipeline import epoch_order, load_data, reader
from keras_canon.training.recipe_parts import recipe_augmentation, recipe_rule

AT_LEAST = 0.95
RECIPES = (
    "lenet5_digits",
    "lenet5_modern_fashion_mnist",
    "resnet20_fashion_mnist",
    "fitnet1_fashion_mnist",
    "mobilenet_v1_025_fashion_mnist",
    "convnext_fashion_mnist",
)


def bare_step(model, inputs, labels, clip_global_norm=None):
    """The step that a tutorial would show, of the same update."""
    loss, optimizer = model.loss, model.optimizer
    optimizer.build(model.trainable_variables)

    @tf.function(autograph=False)
    def step(inputs, labels):
        with tf.GradientTape() as tape:
            value = loss(labels, model(inputs, training=True)) + sum(model.losses)
        gradients = tape.gradient(value, model.trainable_variables)
        if clip_global_norm is not None:
            gradients, _ = tf.clip_by_global_norm(gradients, clip_global_norm)
        optimizer.apply(gradients, model.trainable_variables)
        return value

    step(inputs, labels)
    return lambda: step(inputs, labels)


class Clock(keras.callbacks.Callback):
    """Notes what each epoch's updates took; the loop measures it itself."""

    def __init__(self, turn):
        super().__init__()
        self.turn, self.seconds = turn, []

    def on_epoch_end(self, epoch, logs=None):
        self.seconds.append(logs["seconds"])
        self.turn()


def measure(name, most_seconds, rounds):
    recipe = training.load_recipe(name)
    keras.utils.set_random_seed(recipe.train.seed)
    if recipe.train.deterministic:
        tf.config.experimental.enable_op_determinism()
    data = load_data(recipe.data)
    model, bare_model = build(recipe, data), build(recipe, data)
    batch_size = recipe.train.batch_size
    read = reader(data.train, model.record.preprocessing, batch_size, recipe_augmentation(recipe, data.num_classes))
    inputs, labels = next(iter(read(epoch_order(len(data.train), 0, 0), 0)))
    step, bare = bare_step(bare_model, inputs, labels, recipe.optimizer.clip_global_norm), []
    began = time.perf_counter()
    for _ in range(10):
        value = step()
    float(value)
    steps = min(len(data.train) // batch_size, max(int(10 * most_seconds / (time.perf_counter() - began)), 10))

    def turn():
        value, began = None, time.perf_counter()
        for _ in range(steps):
            value = step()
        float(value)
        bare.append(time.perf_counter() - began)

    clock = Clock(turn)
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        callbacks = [HistoryFile(folder / "history.csv"), Events(folder / "events"), BestWeights(folder / "best.weights.h5"), clock]
        validation = reader(data.validation, model.record.preprocessing, 256)(None).take(1)
        train(
            model,
            lambda epoch: read(epoch_order(len(data.train), 0, epoch), epoch).take(steps),
            epochs=rounds + 1,
            validation=validation,
            callbacks=callbacks,
            checkpoints=Checkpoints(folder / "checkpoints"),
            rule=recipe_rule(recipe, None),
        )
    # the first round warms up
    ratios = [one / other for one, other in zip(bare[1:], clock.seconds[1:], strict=True)]
    images = batch_size * steps
    return images / statistics.median(clock.seconds[1:]), images / statistics.median(bare[1:]), statistics.median(ratios), ratios


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipes", nargs="*", default=[])
    parser.add_argument("--most-seconds", type=float, default=3.0, help="about how long a round may take; an epoch may take less")
    parser.add_argument("--rounds", type=int, default=21)
    options = parser.parse_args()
    rows = []
    for name in options.recipes or RECIPES:
        run, bare, ratio, ratios = measure(name, options.most_seconds, options.rounds)
        low, _, high = statistics.quantiles(ratios, n=4, method="inclusive")
        spread = {"low": low, "high": high, "lowest": min(ratios), "highest": max(ratios)}
        rows.append({"recipe": name, "run": run, "bare": bare, "ratio": ratio, "least": AT_LEAST, **spread})
        print(report(rows[-1:]).table()[-1], flush=True)
    if not options.recipes:
        report(rows).save()


def report(rows):
    return Report(
        name="training",
        title="A run against the bare training step",
        page="",
        command="python benchmarks/training.py",
        columns=[
            ["recipe", "`{recipe}`"],
            ["run, images a second", "{run:,.0f}"],
            ["bare step, images a second", "{bare:,.0f}"],
            ["ratio", "{ratio:.3f}"],
            ["aim", "{least:.2f}"],
            ["lowest to highest", "{lowest:.3f} to {highest:.3f}"],
        ],
        key=["recipe"],
        rows=rows,
    )


if __name__ == "__main__":
    main()
