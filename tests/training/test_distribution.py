"""One loop for one device and for all strategies: replicas, workers, case B45."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_canon.training.callbacks import BestWeights
from keras_canon.training.cluster import cluster_workers, run_local_workers
from keras_canon.training.distribution import describe, is_chief, make_strategy
from keras_canon.training.loop import train
from keras_canon.zoo.errors import CanonError

WORKER = Path(__file__).parent / "worker_run.py"


def two_replicas():
    strategy = make_strategy("mirrored")  # tests/conftest.py makes two virtual devices
    assert strategy.num_replicas_in_sync == 2
    return strategy


def dense_network(optimizer):
    keras.utils.set_random_seed(4)
    layers = [keras.layers.Dense(7, activation="tanh", kernel_regularizer=keras.regularizers.L2(1e-2)), keras.layers.Dense(3)]
    model = keras.Sequential([keras.Input((5,)), *layers])
    model.compile(optimizer, keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model


def examples(count, batch):
    random = np.random.default_rng(0)
    inputs, labels = random.normal(size=(count, 5)).astype("float32"), random.integers(0, 3, count)
    return tf.data.Dataset.from_tensor_slices((inputs, labels)).batch(batch)


OPTIMIZERS = {
    "sgd": lambda: keras.optimizers.SGD(0.1, momentum=0.9),
    "adamw": lambda: keras.optimizers.AdamW(0.01, weight_decay=0.1),
    "loss_scale": lambda: keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(0.1), initial_scale=1024.0),
}


# 8 + 8 + 5; and a last batch of one, for which the second replica has nothing
CASES = [("loss_scale", 21), ("sgd", 17), *(pytest.param(name, 21, marks=pytest.mark.slow) for name in ("adamw", "sgd"))]


@pytest.mark.parametrize(("optimizer", "count"), CASES)
def test_two_replicas_equal_one(optimizer, count):
    data = examples(count, 8)
    one = dense_network(OPTIMIZERS[optimizer]())
    expected = train(one, lambda epoch: data, epochs=2, validation=data)
    strategy = two_replicas()
    with strategy.scope():
        two = dense_network(OPTIMIZERS[optimizer]())
    found = train(two, lambda epoch: data, epochs=2, validation=data)
    for left, right in zip(one.get_weights(), two.get_weights(), strict=True):
        np.testing.assert_allclose(left, right, rtol=0.0, atol=1e-6)
    for name in set(expected) - {"seconds"}:
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-5, err_msg=name)


def test_replicas_keep_equal_moving_statistics():
    def network():
        keras.utils.set_random_seed(4)
        layers = [keras.layers.BatchNormalization(momentum=0.5), keras.layers.Dropout(0.1), keras.layers.Dense(3)]
        model = keras.Sequential([keras.Input((5,)), *layers])
        model.compile(keras.optimizers.SGD(0.0), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
        return model

    data = examples(11, 11)
    one = network()
    train(one, lambda epoch: data, epochs=1)
    with two_replicas().scope():
        two = network()
    train(two, lambda epoch: data, epochs=1)
    moving = two.layers[0].moving_mean.value
    copies = [np.asarray(copy) for copy in moving.values]
    np.testing.assert_array_equal(*copies)
    # means of the parts by their sizes are the mean of the whole; variances are those within the parts
    np.testing.assert_allclose(copies[0], one.layers[0].moving_mean.numpy(), atol=1e-6)
    assert np.all(np.isfinite(two.layers[0].moving_variance.numpy()))


def test_b45_one_weight_on_two_replicas():
    with two_replicas().scope():
        model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1, use_bias=False, kernel_initializer="zeros")])
        model.compile(keras.optimizers.SGD(0.1), loss="mse")
    data = tf.data.Dataset.from_tensor_slices((np.ones((4, 1), "float32"), np.ones((4, 1), "float32"))).batch(4)
    train(model, lambda epoch: data, epochs=1, metrics={})
    np.testing.assert_allclose(model.get_weights()[0], [[0.2]], rtol=1e-6)


def test_best_weights_without_a_file(tmp_path):
    model = dense_network(keras.optimizers.SGD(0.1))
    best = BestWeights(None)
    train(model, lambda epoch: examples(8, 8), epochs=2, validation=examples(8, 8), callbacks=[best])
    assert best.best_epoch is not None


def test_one_device_needs_no_strategy(monkeypatch):
    for key in ("TF_CONFIG", "TPU_NAME", "COLAB_TPU_ADDR"):
        monkeypatch.delenv(key, raising=False)
    strategy = make_strategy("auto")
    assert strategy is tf.distribute.get_strategy()
    assert is_chief(strategy)
    assert describe(strategy) == "one device"
    assert describe(make_strategy("mirrored")) == "MirroredStrategy with 2 replicas"


def test_b45_what_is_not_there_is_told(monkeypatch):
    for key in ("TF_CONFIG", "TPU_NAME", "COLAB_TPU_ADDR"):
        monkeypatch.delenv(key, raising=False)
    with pytest.raises(CanonError, match="no TPU was found: TPU_NAME is not set"):
        make_strategy("tpu")
    with pytest.raises(CanonError, match=r"TF_CONFIG names no cluster.*--workers 2"):
        make_strategy("multi_worker")
    monkeypatch.setenv("TPU_NAME", "local")
    with pytest.raises(CanonError, match="this machine has no TPU"):
        make_strategy("auto")

    def nowhere(tpu):
        raise ValueError(f"no such host\nas {tpu}")

    monkeypatch.setenv("TPU_NAME", "far-away")
    monkeypatch.setattr(tf.distribute.cluster_resolver, "TPUClusterResolver", nowhere)
    with pytest.raises(CanonError, match=r"The TPU 'far-away' that TPU_NAME names was not found: no such host$"):
        make_strategy("tpu")
    monkeypatch.setenv("TF_CONFIG", "{'cluster'}")
    with pytest.raises(CanonError, match="TF_CONFIG must be JSON"):
        cluster_workers()
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": 0}}))
    assert cluster_workers() == 2
    with pytest.raises(CanonError, match="names one already"):
        run_local_workers(["train"], 2)
    monkeypatch.delenv("TF_CONFIG")
    with pytest.raises(CanonError, match="--workers must be at least 2"):
        run_local_workers(["train"], 1)


def start_workers(folder, ports, *arguments):
    """Start one process for each port; they form a cluster."""
    processes = []
    for index in range(len(ports)):
        config = {"cluster": {"worker": [f"127.0.0.1:{port}" for port in ports]}, "task": {"type": "worker", "index": index}}
        environment = {**os.environ, "TF_CONFIG": json.dumps(config), "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}
        command = [sys.executable, str(WORKER), str(folder), str(index), *arguments]
        processes.append(subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
    return processes


def free_ports(count):
    import socket

    sockets = [socket.socket() for _ in range(count)]
    for item in sockets:
        item.bind(("127.0.0.1", 0))
    ports = [item.getsockname()[1] for item in sockets]
    for item in sockets:
        item.close()
    return ports


def finish(processes, seconds=240):
    outputs = [process.communicate(timeout=seconds)[0] for process in processes]
    for process, output in zip(processes, outputs, strict=True):
        assert process.returncode == 0, output[-3000:]


def result_of(folder, index):
    with np.load(folder / f"worker{index}.npz") as stored:
        return {name: stored[name] for name in stored.files}


def test_b45_two_workers_equal_each_other(tmp_path):
    finish(start_workers(tmp_path, free_ports(2)))
    first, second = result_of(tmp_path, 0), result_of(tmp_path, 1)
    np.testing.assert_allclose(first["m1"], [[0.2]], rtol=1e-6)
    for name in first:
        np.testing.assert_array_equal(first[name], second[name], err_msg=name)
    # only the chief has written, and nothing else lies there
    assert {path.name for path in tmp_path.iterdir()} == {"checkpoints", "history.csv", "worker0.npz", "worker1.npz"}


@pytest.mark.slow
def test_b45_two_workers_equal_each_other_and_one_and_survive_a_kill(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    finish(start_workers(tmp_path / "one", free_ports(1)))
    expected = result_of(tmp_path / "one", 0)
    np.testing.assert_allclose(expected["m1"], [[0.2]], rtol=1e-6)

    # the second worker is killed in the second epoch: the first stops by itself, with a sentence
    chief, other = start_workers(tmp_path / "two", free_ports(2), "--kill-at", "5")
    began = time.monotonic()
    other.communicate(timeout=240)
    assert other.returncode == -signal.SIGKILL
    lost = time.monotonic()
    output = chief.communicate(timeout=60)[0]
    assert time.monotonic() - lost < 30.0, f"{time.monotonic() - lost} s, started {lost - began} s before"
    assert chief.returncode != 0
    assert "Another worker of this run stopped" in output, output[-3000:]

    # started again, both go on
    finish(start_workers(tmp_path / "two", free_ports(2)))
    first, second = result_of(tmp_path / "two", 0), result_of(tmp_path / "two", 1)
    assert first["begun"] == second["begun"] >= 1
    for name in expected:
        if name == "begun":
            continue
        np.testing.assert_array_equal(first[name], second[name], err_msg=name)
        np.testing.assert_allclose(first[name], expected[name], rtol=0.0, atol=1e-6, err_msg=name)
    # only the chief has written, and nothing else lies there
    assert {path.name for path in (tmp_path / "two").iterdir()} == {"checkpoints", "history.csv", "worker0.npz", "worker1.npz"}
