"""Going on after a kill: case B30, callbacks, damaged files, full disks, locks."""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_canon import training
from keras_canon.training import checkpoints as checkpoints_module
from keras_canon.training.callbacks import BestWeights, HistoryFile
from keras_canon.training.checkpoints import Checkpoints, Position
from keras_canon.training.loop import train
from keras_canon.training.pipeline import epoch_order
from keras_canon.training.run_folder import check_folder, open_folder
from keras_canon.training.run_lock import locked
from keras_canon.training.state import CallbackState, restore_variables, save_variables
from keras_canon.zoo.errors import CanonError

FAST = "lenet5_modern_fashion_mnist"
SCRIPT = Path(__file__).parent / "kill_run.py"
MOMENTS = {"update", "half a file", "flush", "rename", "removal"}


class Killed(BaseException):
    """Stands for the end of the process."""


class Kill(keras.callbacks.Callback):
    def __init__(self, updates):
        super().__init__()
        self.updates = updates
        self.get_state = dict
        self.set_state = lambda state: None

    def on_train_batch_end(self, batch, logs=None):
        self.updates -= 1
        if not self.updates:
            raise Killed


class KillAtEpoch(keras.callbacks.Callback):
    def __init__(self, epoch):
        super().__init__()
        self.epoch = epoch

    def on_epoch_begin(self, epoch, logs=None):
        if epoch == self.epoch:
            raise Killed


def one_weight():
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1, use_bias=False, kernel_initializer="zeros")])
    model.compile(keras.optimizers.Adam(0.1), loss="mse")
    return model


def shuffled(epoch):
    order = epoch_order(4, 7, epoch)
    return tf.data.Dataset.from_tensor_slices((np.ones((4, 1), "float32"), np.arange(4, dtype="float32")[order, None])).batch(2)


def test_b30_killed_at_the_start_of_an_epoch(tmp_path):
    unbroken = one_weight()
    train(unbroken, shuffled, epochs=10, metrics={})
    with pytest.raises(Killed):
        train(one_weight(), shuffled, epochs=10, metrics={}, callbacks=[KillAtEpoch(4)], checkpoints=Checkpoints(tmp_path))
    seen, model = [], one_weight()
    watch = keras.callbacks.LambdaCallback(on_epoch_begin=lambda epoch, logs: seen.append(epoch))
    history = train(model, shuffled, epochs=10, metrics={}, callbacks=[watch], checkpoints=Checkpoints(tmp_path))
    assert seen == [4, 5, 6, 7, 8, 9]
    assert len(history["loss"]) == 10
    assert int(model.optimizer.iterations) == 20
    np.testing.assert_array_equal(model.get_weights()[0], unbroken.get_weights()[0])
    # started once more, the finished run does nothing
    seen.clear()
    again = one_weight()
    train(again, shuffled, epochs=10, metrics={}, callbacks=[watch], checkpoints=Checkpoints(tmp_path))
    assert seen == []
    np.testing.assert_array_equal(again.get_weights()[0], unbroken.get_weights()[0])


class Unsteady(keras.callbacks.Callback):
    """Draws from the global generators, doubles a bias at each epoch and counts in many kinds of attributes."""

    def __init__(self):
        super().__init__()
        self.drawn, self.table, self.mean, self.pair = [], {1: None}, np.zeros(2), (0, "a")
        self.average = tf.Variable(0.0)

    def on_epoch_begin(self, epoch, logs=None):
        self.model.layers[-1].bias.assign(self.model.layers[-1].bias * 2.0)

    def on_train_batch_end(self, batch, logs=None):
        self.drawn.append(float(np.random.uniform()))  # noqa: NPY002  what a user's callback may do
        self.table[batch] = logs["loss"]
        self.mean = 0.5 * self.mean + logs["loss"]
        self.pair = (self.pair[0] + 1, "b")
        self.average.assign_add(logs["loss"])


def network():
    keras.utils.set_random_seed(1)
    layers = [keras.layers.Dense(8), keras.layers.BatchNormalization(), keras.layers.Dropout(0.4), keras.layers.Dense(3)]
    model = keras.Sequential([keras.Input((5,)), *layers])
    model.compile(keras.optimizers.Adam(0.05), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model


def batches_of(epoch):
    random = np.random.default_rng(0)
    inputs, labels = random.normal(size=(44, 5)).astype("float32"), random.integers(0, 3, 44)
    order = epoch_order(44, 3, epoch)
    return tf.data.Dataset.from_tensor_slices((inputs[order], labels[order])).batch(12)  # 4 batches, the last has 8


def all_callbacks(folder):
    return [
        Unsteady(),
        keras.callbacks.EarlyStopping("val_loss", patience=2, min_delta=0.01, restore_best_weights=True),
        keras.callbacks.ReduceLROnPlateau("val_loss", patience=1, factor=0.5, cooldown=1, min_delta=0.05),
        keras.callbacks.ModelCheckpoint(str(folder / "best.keras"), save_best_only=True),
        keras.callbacks.CSVLogger(str(folder / "log.csv")),
        HistoryFile(folder / "history.csv"),
        BestWeights(folder / "best.weights.h5"),
    ]


def ending(folder, epochs=6, extra=()):
    folder.mkdir(exist_ok=True)
    model, callbacks = network(), all_callbacks(folder)
    kept = Checkpoints(folder / "kept", steps=2, seconds=None)
    history = train(model, batches_of, epochs=epochs, validation=batches_of(9), callbacks=[*callbacks, *extra], checkpoints=kept)
    history.pop("seconds")
    unsteady, stopping, plateau, checkpoint, _, _, best = callbacks
    return {
        "weights": model.get_weights(),
        "optimizer": [item.numpy() for item in model.optimizer.variables],
        "seeds": [item.numpy() for item in model.layers[2].variables],
        "history": history,
        "unsteady": [unsteady.drawn, unsteady.table, unsteady.mean, unsteady.pair, unsteady.average.numpy()],
        "stopping": [stopping.wait, stopping.best, stopping.best_epoch, stopping.stopped_epoch, stopping.min_delta],
        "plateau": [plateau.wait, plateau.best, plateau.cooldown_counter, plateau.min_delta],
        "best": [checkpoint.best, best.best, best.best_epoch],
    }


def without_seconds(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    column = lines[0].split(",").index("seconds")
    return [[field for number, field in enumerate(line.split(",")) if number != column] for line in lines]


@pytest.mark.slow
def test_b30_every_counter_goes_on_after_kills_in_mid_epoch(tmp_path):
    unbroken = ending(tmp_path / "unbroken")
    killed = tmp_path / "killed"
    # one kill in the first epoch, before and after a checkpoint, at an epoch's end and twice in one epoch
    for updates in (1, 3, 4, 1, 7):
        with pytest.raises(Killed):
            ending(killed, extra=[Kill(updates)])
        keras.backend.clear_session()
    resumed = ending(killed)
    for name, expected in unbroken.items():
        for one, other in zip(keras.tree.flatten(resumed[name]), keras.tree.flatten(expected), strict=True):
            np.testing.assert_array_equal(one, other, err_msg=name)
        assert keras.tree.map_structure(type, resumed[name]) == keras.tree.map_structure(type, expected)
    for name in ("log.csv", "history.csv"):
        assert without_seconds(killed / name) == without_seconds(tmp_path / "unbroken" / name)


def test_the_direction_of_min_delta_is_not_turned_twice(tmp_path):
    callback = keras.callbacks.EarlyStopping("val_loss", mode="min", min_delta=0.5)
    callback.set_model(one_weight())
    callback.on_train_begin()
    state = CallbackState([callback])
    callback.on_epoch_end(0, {"val_loss": 1.0})
    arrays = {}
    saved = json.loads(json.dumps(state.save(arrays)))
    other = keras.callbacks.EarlyStopping("val_loss", mode="min", min_delta=0.5)
    other.set_model(one_weight())
    other.on_train_begin()
    CallbackState([other]).restore(saved, arrays)
    other.on_epoch_end(1, {"val_loss": 0.8})  # not better by 0.5
    assert (other.best, other.wait, other.min_delta) == (1.0, 1, -0.5)


def test_variables_of_every_type_are_kept_bit_for_bit(tmp_path):
    values = [np.array([1.1, 2.3], tf.bfloat16.as_numpy_dtype), np.array(3, "int64"), np.array([True, False]), np.float16([0.1])]
    variables = [tf.Variable(value) for value in values]
    arrays = {}
    listed = save_variables(variables, "model", arrays)
    np.savez(tmp_path / "x.npz", **arrays)
    for variable in variables:
        variable.assign(tf.zeros_like(variable))
    with np.load(tmp_path / "x.npz") as stored:
        restore_variables(variables, "model", listed, dict(stored))
    for variable, value in zip(variables, values, strict=True):
        assert variable.numpy().tobytes() == value.tobytes()
    with pytest.raises(CanonError, match="shape"):
        restore_variables([tf.Variable(np.zeros(3)), *variables[1:]], "model", listed, arrays)
    with pytest.raises(CanonError, match=r"of type bfloat16 .* float64 in this run"):
        restore_variables([tf.Variable(np.zeros(2)), *variables[1:]], "model", listed, arrays)
    with pytest.raises(CanonError, match="4 variables"):
        restore_variables(variables[1:], "model", listed, arrays)


def files_of(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_damaged_checkpoint_is_not_used(tmp_path):
    unbroken = one_weight()
    train(unbroken, shuffled, epochs=6, metrics={})
    with pytest.raises(Killed):
        train(one_weight(), shuffled, epochs=6, metrics={}, callbacks=[KillAtEpoch(3)], checkpoints=Checkpoints(tmp_path))
    before, newest = files_of(tmp_path)
    assert newest.startswith("epoch-000003-step-")
    assert before.startswith("epoch-000002-")
    content = bytearray((tmp_path / newest).read_bytes())
    content[len(content) // 2] ^= 1
    (tmp_path / newest).write_bytes(content)
    (tmp_path / "part.checkpoint.npz").write_bytes(b"half")
    model = one_weight()
    with pytest.warns(UserWarning, match=f"{newest} is damaged; the one before it is used"):
        history = train(model, shuffled, epochs=6, metrics={}, checkpoints=Checkpoints(tmp_path))
    assert len(history["loss"]) == 6
    np.testing.assert_array_equal(model.get_weights()[0], unbroken.get_weights()[0])
    for path in tmp_path.glob("epoch-*"):
        path.write_bytes(b"")
    with (
        pytest.warns(UserWarning, match="the one before it is used"),
        pytest.warns(UserWarning, match="there is none before it, and the run starts anew"),
    ):
        assert Checkpoints(tmp_path).newest() is None


def test_a_full_disk_is_told_before_the_first_epoch_and_loses_nothing_later(tmp_path, monkeypatch):
    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    started = []
    watch = keras.callbacks.LambdaCallback(on_epoch_begin=lambda epoch, logs: started.append(epoch))
    with monkeypatch.context() as patch:
        patch.setattr(checkpoints_module.os, "fsync", full)
        with pytest.raises(CanonError, match="make room and start the same command again") as caught:
            train(one_weight(), shuffled, epochs=3, metrics={}, callbacks=[watch], checkpoints=Checkpoints(tmp_path))
    assert "\n" not in str(caught.value)
    assert started == []
    assert files_of(tmp_path) == []

    class FillDisk(keras.callbacks.Callback):
        def on_epoch_begin(self, epoch, logs=None):
            if epoch == 1:
                patch.setattr(checkpoints_module.os, "fsync", full)

    with monkeypatch.context() as patch, pytest.raises(CanonError, match="No space left"):
        train(one_weight(), shuffled, epochs=3, metrics={}, callbacks=[FillDisk()], checkpoints=Checkpoints(tmp_path))
    assert [name[:12] for name in files_of(tmp_path)] == ["epoch-000000", "epoch-000001"]
    model, unbroken = one_weight(), one_weight()
    train(model, shuffled, epochs=3, metrics={}, checkpoints=Checkpoints(tmp_path))
    train(unbroken, shuffled, epochs=3, metrics={})
    np.testing.assert_array_equal(model.get_weights()[0], unbroken.get_weights()[0])


def test_a_run_whose_files_find_no_room_is_told(tmp_path, monkeypatch):
    def full(*arguments, **options):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(BestWeights, "on_epoch_end", full)
    with pytest.raises(CanonError, match=r"is full.*start the same command again"):
        training.run(FAST, tmp_path / "run", smoke=True, verbose=False)


def test_checkpoints_come_by_steps_by_seconds_and_only_from_who_writes(tmp_path, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(checkpoints_module.time, "monotonic", lambda: now[0])
    by_steps = Checkpoints(tmp_path, steps=3, seconds=None)
    assert [by_steps.due() for _ in range(4)] == [False, False, True, True]
    by_seconds = Checkpoints(tmp_path, seconds=10.0)
    assert not by_seconds.due()
    now[0] = 10.0
    assert by_seconds.due()
    reader = Checkpoints(tmp_path, steps=1, writes=False)
    assert not reader.due()
    reader.write(Position())
    assert files_of(tmp_path) == []


def test_a_folder_that_a_live_run_owns_is_refused(tmp_path):
    recipe = training.load_recipe(FAST, smoke=True)
    (tmp_path / "run.lock").write_text("left by a killed run")
    with open_folder(tmp_path, recipe):
        with pytest.raises(CanonError, match=rf"still going \(process {os.getpid()} on ") as caught:
            training.run(FAST, tmp_path, smoke=True, verbose=False)
        assert "\n" not in str(caught.value)
        program = f"from pathlib import Path; from keras_canon.training.run_lock import locked\nwith locked(Path({str(tmp_path)!r})): pass"
        environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
        other = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, timeout=120, check=False)
        assert "belongs to a run that is still going" in other.stderr
    assert not (tmp_path / "run.lock").exists()
    with locked(tmp_path):
        pass


def test_an_unfinished_run_of_another_recipe_is_refused(tmp_path):
    recipe = training.load_recipe(FAST, smoke=True)
    with open_folder(tmp_path / "run", recipe):
        pass
    assert check_folder(tmp_path / "run", recipe)
    changed = training.load_recipe(FAST, {"train.epochs": 7, "optimizer.learning_rate": 0.5}, smoke=True)
    with pytest.raises(CanonError, match=r"another recipe \(optimizer.learning_rate, train.epochs changed\)") as caught:
        check_folder(tmp_path / "run", changed)
    assert "\n" not in str(caught.value)
    assert not check_folder(tmp_path / "run", changed, overwrite=True)
    # what does not decide the result may change
    assert check_folder(tmp_path / "run", training.load_recipe(FAST, {"train.checkpoint_steps": 7}, smoke=True))


def kill_runs(case, kills, folder, seconds):
    # in a process of its own: it must fork before TensorFlow starts
    command = [sys.executable, str(SCRIPT), case, str(folder), "--kills", str(kills)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    report = json.loads(done.stdout.splitlines()[-1])
    assert report["kills"] == kills
    assert report["different"] == []
    return report


def test_b30_kill_nine_and_the_same_weights(tmp_path):
    report = kill_runs("batch_norm", 5, tmp_path, 600)
    assert report["moments"] == sorted(MOMENTS)


@pytest.mark.slow
@pytest.mark.parametrize("case", ["lenet5", "lenet5_modern", "resnet20", "batch_norm", "lstm", "mixed_precision"])
def test_b30_twenty_kills(case, tmp_path):
    assert kill_runs(case, 20, tmp_path, 1800)["moments"] == sorted(MOMENTS)
