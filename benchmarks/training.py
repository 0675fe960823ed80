"""Speed of a recipe's run against the bare training step, as ratios measured in one run.

usage: python benchmarks/training.py [RECIPE ...] [--most-steps N] [--rounds N]

The bare step is what anyone would write by hand: a `tf.function` with a gradient tape and `optimizer.apply`, fed from a batch that lies
in memory. The run is our loop with everything that a recipe brings: input pipeline, sums of figures, callbacks, the watch for numbers
that are none, and checkpoints. Both train equal models and take turns, so that whatever else the machine does slows both. A ratio of
0.95 means that a run does 0.95 of the bare step's images a second. A round is an epoch, up to a number of updates.
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

from keras_canon import training
from keras_canon.training.building import build
from keras_canon.training.callbacks import BestWeights, Events, HistoryFile
from keras_canon.training.checkpoints import Checkpoints
from keras_canon.training.loop import train
from keras_canon.training.pipeline import epoch_order, load_data, reader
from keras_canon.training.recipe_parts import recipe_augmentation, recipe_rule

AT_LEAST = 0.95
RECIPES = ("lenet5_digits", "lenet5_modern_fashion_mnist", "resnet20_fashion_mnist")


def bare_step(model, inputs, labels):
    """The step that a tutorial would show."""
    loss, optimizer = model.loss, model.optimizer
    optimizer.build(model.trainable_variables)

    @tf.function(autograph=False)
    def step(inputs, labels):
        with tf.GradientTape() as tape:
            value = loss(labels, model(inputs, training=True))
        optimizer.apply(tape.gradient(value, model.trainable_variables), model.trainable_variables)
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


def measure(name, most_steps, rounds):
    recipe = training.load_recipe(name)
    keras.utils.set_random_seed(recipe.train.seed)
    if recipe.train.deterministic:
        tf.config.experimental.enable_op_determinism()
    data = load_data(recipe.data)
    model, bare_model = build(recipe, data), build(recipe, data)
    batch_size = recipe.train.batch_size
    steps = min(most_steps, len(data.train) // batch_size)
    read = reader(data.train, model.record.preprocessing, batch_size, recipe_augmentation(recipe, data.num_classes))
    inputs, labels = next(iter(read(epoch_order(len(data.train), 0, 0), 0)))
    step, bare = bare_step(bare_model, inputs, labels), []

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
    parser.add_argument("recipes", nargs="*", default=RECIPES)
    parser.add_argument("--most-steps", type=int, default=400, help="most updates of a round; an epoch where it has fewer")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    print(f"{'recipe':<32} {'run':>12} {'bare step':>12} {'ratio':>7}   lowest to highest   (images a second; at least {AT_LEAST})")
    for name in options.recipes:
        run, bare, ratio, ratios = measure(name, options.most_steps, options.rounds)
        print(f"{name:<32} {run:>12,.0f} {bare:>12,.0f} {ratio:>7.3f}   {min(ratios):.3f} to {max(ratios):.3f}", flush=True)


if __name__ == "__main__":
    main()
