"""A search in several processes: the supervisor with small stand-ins; the real thing, and a real kill, under `slow`."""

import csv
import json
import os
import signal
import stat
import subprocess
import sys
import time

import pytest

from keras_canon.training.tuning_workers import search_in_processes
from keras_canon.zoo.errors import CanonError

STAND_IN = """#!{python}
import os, signal, socket, sys, time
# a shell that starts the tests in the background has interrupts ignored
signal.signal(signal.SIGINT, signal.default_int_handler)
name = os.environ["KERASTUNER_TUNER_ID"]
case = sys.argv[-1]
open(os.path.join({folder!r}, name + " " + os.environ.get("CUDA_VISIBLE_DEVICES", "none")), "w").close()
if name == "chief":
    if case == "chief":
        sys.exit("the chief says why")
    with socket.create_server(("127.0.0.1", int(os.environ["KERASTUNER_ORACLE_PORT"]))):
        time.sleep(60)
if name == "worker1" and case == "worker":
    os.kill(os.getpid(), 9)
if case == "worker":
    time.sleep(60)
"""
RECIPE = """
[model]
name = "lenet5_modern"
[data]
name = "synthetic:classes=3,size=28,channels=1,examples=60"
[optimizer]
name = "adam"
learning_rate = 0.01
[train]
epochs = 2
batch_size = 8
[tune.space]
optimizer.learning_rate = { floats = [1e-4, 1e-1], sampling = "log" }
train.batch_size = { choices = [8, 16, 32] }
"""


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    path = tmp_path / "python"
    path.write_text(STAND_IN.format(python=sys.executable, folder=str(tmp_path)), encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(sys, "executable", str(path))
    return tmp_path


def test_workers_that_end_well(stand_in, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,7")
    started = time.monotonic()
    assert search_in_processes(["tune", "well"], 3) == 0
    # the chief is not waited for
    assert time.monotonic() - started < 50.0
    names = {path.name for path in stand_in.iterdir()}
    assert names == {"python", "chief -1", "worker0 4", "worker1 7", "worker2 4"}


def test_a_worker_that_dies_stops_the_others(stand_in, capfd):
    started = time.monotonic()
    assert search_in_processes(["tune", "worker"], 2) == 128 + signal.SIGKILL
    assert time.monotonic() - started < 50.0
    assert "worker 1 ended with status -9" in capfd.readouterr().err


def test_a_chief_that_refuses_is_heard(stand_in, capfd):
    assert search_in_processes(["tune", "chief"], 2) == 1
    assert "the chief says why" in capfd.readouterr().err
    assert not [path for path in stand_in.iterdir() if path.name.startswith("worker")]


def test_bad_input(monkeypatch):
    with pytest.raises(CanonError, match="at least 1"):
        search_in_processes(["tune"], 0)
    monkeypatch.setenv("KERASTUNER_TUNER_ID", "chief")
    with pytest.raises(CanonError, match="KERASTUNER_"):
        search_in_processes(["tune"], 2)


def command(tmp_path, *more):
    path = tmp_path / "own.toml"
    path.write_text(RECIPE, encoding="utf-8")
    arguments = [sys.executable, "-m", "keras_canon", "tune", str(path), "--out", str(tmp_path / "out"), *more]
    return arguments, {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}


def rows(tmp_path):
    return list(csv.DictReader((tmp_path / "out" / "trials.csv").read_text(encoding="utf-8").splitlines()))


@pytest.mark.slow
def test_two_workers_draw_what_one_process_draws(tmp_path):
    (tmp_path / "alone").mkdir()
    points = []
    for folder, more in ((tmp_path, ["--workers", "2"]), (tmp_path / "alone", [])):
        arguments, environment = command(folder, "--max-trials", "5", *more)
        done = subprocess.run(arguments, env=environment, capture_output=True, text=True, timeout=600, check=False)
        assert done.returncode == 0, done.stderr
        assert "best recipe" in done.stdout
        assert {row["status"] for row in rows(folder)} == {"finished"}
        # a random search draws its points in the same order, whoever takes them
        points.append([(row["optimizer.learning_rate"], row["train.batch_size"], row["val_loss"]) for row in rows(folder)])
    assert points[0] == points[1]


@pytest.mark.slow
def test_b52_killed_with_signal_9(tmp_path):
    arguments, environment = command(tmp_path, "--max-trials", "6")
    running = subprocess.Popen(arguments, env=environment, stdout=subprocess.DEVNULL)
    limit = time.monotonic() + 300
    while not (tmp_path / "out" / "trials" / "003" / "history.csv").is_file():
        assert time.monotonic() < limit
        assert running.poll() is None
        time.sleep(0.02)
    running.send_signal(signal.SIGKILL)
    running.wait()
    before = [(tmp_path / "out" / "trials" / name / "model.keras").stat().st_mtime_ns for name in ("001", "002")]
    assert subprocess.run(arguments, env=environment, stdout=subprocess.DEVNULL, timeout=600, check=False).returncode == 0
    assert before == [(tmp_path / "out" / "trials" / name / "model.keras").stat().st_mtime_ns for name in ("001", "002")]
    six = rows(tmp_path)
    assert [row["status"] for row in six] == ["finished"] * 6
    arguments, _ = command(tmp_path, "--max-trials", "8")
    assert subprocess.run(arguments, env=environment, stdout=subprocess.DEVNULL, timeout=600, check=False).returncode == 0
    eight = rows(tmp_path)
    assert eight[:6] == six
    assert len(eight) == 8
    (tmp_path / "unbroken").mkdir()
    arguments, _ = command(tmp_path / "unbroken", "--max-trials", "8")
    assert subprocess.run(arguments, env=environment, stdout=subprocess.DEVNULL, timeout=600, check=False).returncode == 0
    drop = ("seconds",)
    assert [{k: v for k, v in row.items() if k not in drop} for row in rows(tmp_path / "unbroken")] == [
        {k: v for k, v in row.items() if k not in drop} for row in eight
    ]
    best = min(float(row["val_loss"]) for row in eight)
    journal = json.loads((tmp_path / "out" / "search.json").read_text(encoding="utf-8"))
    assert best == min(event["score"] for event in journal["events"] if event["event"] == "end")
