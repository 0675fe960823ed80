"""Kill a run again and again, go on each time, and compare the end, bit for bit, with a run that was never killed.

usage: python tests/training/kill_run.py CASE FOLDER [--kills N] [--seed N]

Moments are drawn at random: while an update or an evaluation is going on, and while a checkpoint is written (half a file, before it
is flushed, before it is renamed, before the old ones are removed). Prints one line of JSON. Every attempt is a process of its own,
forked before TensorFlow has started anything.
"""

import argparse
import csv
import json
import os
import random
import signal
import sys
import threading
import time
import zipfile
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import h5py
import keras
import numpy as np
import tensorflow as tf

from keras_canon import training
from keras_canon.training import checkpoints as checkpoints_module
from keras_canon.training.callbacks import BestWeights, HistoryFile
from keras_canon.training.checkpoints import Checkpoints
from keras_canon.training.loop import train
from keras_canon.training.pipeline import epoch_order

MOMENTS = ("update", "half a file", "flush", "rename", "removal", "update")


def recipe(name, **overrides):
    """A recipe's small version."""

    def run(folder, callbacks):
        changes = {key.replace("__", "."): value for key, value in overrides.items()}
        training.run(name, folder, overrides=changes, smoke=True, verbose=False, callbacks=callbacks)

    return run


def loop(make, policy="float32"):
    """A model in the bare loop, with everything that has a state: dropout, schedule, counters, best weights."""

    def run(folder, callbacks):
        tf.config.experimental.enable_op_determinism()
        keras.utils.set_random_seed(0)
        keras.config.set_dtype_policy(policy)
        model, inputs, labels = make()
        optimizer = keras.optimizers.Adam(0.01)
        if policy == "mixed_float16":
            # scales that grow and overflow within the run
            optimizer = keras.optimizers.LossScaleOptimizer(optimizer, initial_scale=2.0**15, dynamic_growth_steps=3)
        model.compile(optimizer, keras.losses.SparseCategoricalCrossentropy(from_logits=True), jit_compile=False)

        def batches(epoch):
            order = epoch_order(len(labels), 0, epoch)
            return tf.data.Dataset.from_tensor_slices((inputs[order], labels[order])).batch(16)

        folder.mkdir(parents=True, exist_ok=True)
        own = [
            HistoryFile(folder / "history.csv"),
            BestWeights(folder / "best.weights.h5"),
            keras.callbacks.ReduceLROnPlateau(patience=1, factor=0.5),
            keras.callbacks.EarlyStopping(patience=6, restore_best_weights=True),
        ]
        kept = Checkpoints(folder / "checkpoints", steps=2)
        train(model, batches, epochs=8, validation=batches(99), callbacks=[*own, *callbacks], checkpoints=kept)
        np.savez(folder / "weights.npz", *model.get_weights(), *[item.numpy() for item in model.optimizer.variables])

    return run


def batch_norm():
    data = np.random.default_rng(0)
    model = [keras.layers.Conv2D(8, 3), keras.layers.BatchNormalization(), keras.layers.ReLU(), keras.layers.Dropout(0.3)]
    model = keras.Sequential([keras.Input((10, 10, 2)), *model, keras.layers.Flatten(), keras.layers.Dense(4)])
    return model, data.normal(size=(90, 10, 10, 2)).astype("float32"), data.integers(0, 4, 90)


def lstm():
    data = np.random.default_rng(0)
    layers = [keras.layers.LSTM(12, dropout=0.2, recurrent_dropout=0.2), keras.layers.Dense(4)]
    return keras.Sequential([keras.Input((9, 3)), *layers]), data.normal(size=(90, 9, 3)).astype("float32"), data.integers(0, 4, 90)


# twenty kills must find it still going
SMALL = {"train__epochs": 14, "train__checkpoint_steps": 2, "train__patience": 14}
CASES = {
    "lenet5": recipe("lenet5_digits", **SMALL),
    "lenet5_modern": recipe("lenet5_modern_fashion_mnist", **SMALL),
    "resnet20": recipe("resnet20_fashion_mnist", **SMALL),
    "batch_norm": loop(batch_norm),
    "lstm": loop(lstm),
    "mixed_precision": loop(batch_norm, "mixed_float16"),
}


class Kill(keras.callbacks.Callback):
    """End the process as `kill -9` does, some time after a number of updates or in the midst of a write."""

    def __init__(self, moment, after, delay):
        super().__init__()
        self.get_state = dict
        self.set_state = lambda state: None
        self.moment, self.left, self.delay = moment, after, delay

    def on_train_batch_end(self, batch, logs=None):
        self.left -= 1
        if self.left:
            return
        if self.moment == "update":
            threading.Thread(target=self.kill_soon, daemon=True).start()
        else:
            self.spoil()

    def kill_soon(self):
        time.sleep(self.delay)
        os.kill(os.getpid(), signal.SIGKILL)

    def spoil(self):
        """Let the next checkpoint be the end."""

        def kill(*arguments):
            os.kill(os.getpid(), signal.SIGKILL)

        if self.moment == "half a file":

            def half(file, **arrays):
                file.write(b"PK" + bytes(5000))
                file.flush()
                kill()

            checkpoints_module.np = type("HalfWritten", (), {"savez": staticmethod(half), "frombuffer": np.frombuffer})
        elif self.moment == "flush":
            checkpoints_module.os = type("Unflushed", (), {"fsync": staticmethod(kill)})
        elif self.moment == "rename":
            Path.replace = kill
        else:
            checkpoints_module._flush_folder = kill


def attempt(case, folder, callbacks):
    """Run in a process of its own and return how it ended."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            CASES[case](folder, callbacks)
            status = 0
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def weights(folder):
    """All that a run ends with, by name."""
    if (folder / "weights.npz").exists():
        with np.load(folder / "weights.npz") as stored:
            return {name: stored[name] for name in stored.files}
    found = {}
    with zipfile.ZipFile(folder / "model.keras") as archive, archive.open("model.weights.h5") as file, h5py.File(file) as stored:
        stored.visititems(lambda name, item: found.update({name: item[()]}) if isinstance(item, h5py.Dataset) else None)
    return found


def history(folder):
    rows = csv.DictReader((folder / "history.csv").read_text(encoding="utf-8").splitlines())
    return [{key: value for key, value in row.items() if key != "seconds"} for row in rows]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("case", choices=CASES)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    draw = random.Random(options.seed)
    assert attempt(options.case, options.folder / "unbroken", []) == 0
    killed = []
    while True:
        # the first ones go through all kinds of moments
        moment = MOMENTS[len(killed) % len(MOMENTS)]
        kill = [Kill(moment, draw.randint(1, 3), draw.uniform(0.0, 0.05))] if len(killed) < options.kills else []
        status = attempt(options.case, options.folder / "killed", kill)
        if status == 0:
            break
        assert status == -signal.SIGKILL, status
        killed.append(moment)
    expected, found = weights(options.folder / "unbroken"), weights(options.folder / "killed")
    different = [name for name in expected if not np.array_equal(expected[name], found[name])]
    same_history = history(options.folder / "unbroken") == history(options.folder / "killed")
    report = {"kills": len(killed), "moments": sorted(set(killed)), "different": different, "arrays": len(found), "history": same_history}
    print(json.dumps(report))
    sys.exit(bool(different) or not same_history or list(expected) != list(found))


if __name__ == "__main__":
    main()
