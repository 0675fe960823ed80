"""One worker of a cluster that `TF_CONFIG` describes; it leaves its weights and figures in FOLDER/workerINDEX.npz.

usage: python tests/training/worker_run.py FOLDER INDEX [--kill-at UPDATE]
"""

import argparse
import os
import signal
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

from keras_canon.training.callbacks import HistoryFile
from keras_canon.training.checkpoints import Checkpoints
from keras_canon.training.distribution import is_chief, make_strategy, told_when_lost
from keras_canon.training.loop import train
from keras_canon.training.pipeline import epoch_order


class KillSelf(keras.callbacks.Callback):
    def __init__(self, update):
        super().__init__()
        self.get_state = dict
        self.set_state = lambda state: None
        self.left = update

    def on_train_batch_end(self, batch, logs=None):
        self.left -= 1
        if not self.left:
            os.kill(os.getpid(), signal.SIGKILL)


def batches(epoch):
    random = np.random.default_rng(0)
    inputs, labels = random.normal(size=(21, 6, 6, 1)).astype("float32"), random.integers(0, 3, 21)
    order = epoch_order(21, 0, epoch)
    return tf.data.Dataset.from_tensor_slices((inputs[order], labels[order])).batch(8)  # 8, 8 and 5


def network():
    keras.utils.set_random_seed(2)
    layers = [keras.layers.Conv2D(4, 3, activation="relu"), keras.layers.Flatten(), keras.layers.Dense(3)]
    model = keras.Sequential([keras.Input((6, 6, 1)), *layers])
    model.compile(keras.optimizers.Adam(0.01), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model


def one_step(strategy):
    """M1 of the cases: one weight, one update."""
    with strategy.scope():
        model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1, use_bias=False, kernel_initializer="zeros")])
        model.compile(keras.optimizers.SGD(0.1), loss="mse")
    data = tf.data.Dataset.from_tensor_slices((np.ones((2, 1), "float32"), np.ones((2, 1), "float32"))).batch(2)
    train(model, lambda epoch: data, epochs=1, metrics={})
    return model.get_weights()[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("index", type=int)
    parser.add_argument("--kill-at", type=int)
    options = parser.parse_args()
    strategy = make_strategy("multi_worker")
    chief = is_chief(strategy)
    assert chief == (options.index == 0)
    begun = []
    callbacks = [keras.callbacks.LambdaCallback(on_epoch_begin=lambda epoch, logs: begun.append(epoch))]
    callbacks += [HistoryFile(options.folder / "history.csv")] if chief else []
    callbacks += [KillSelf(options.kill_at)] if options.kill_at and not chief else []
    with told_when_lost():
        found = {"m1": one_step(strategy)}
        with strategy.scope():
            model = network()
        kept = Checkpoints(options.folder / "checkpoints", steps=1, writes=chief)
        history = train(model, batches, epochs=3, validation=batches(9), callbacks=callbacks, checkpoints=kept)
    found |= {f"weight{number}": value for number, value in enumerate(model.get_weights())}
    found |= {f"history_{name}": np.array(values) for name, values in history.items() if name != "seconds"}
    np.savez(options.folder / f"worker{options.index}.npz", **found, begun=begun[0])


if __name__ == "__main__":
    main()
