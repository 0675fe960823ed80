"""A search in several processes of this machine: one chooses the points, the others train; needs no TensorFlow."""

import itertools
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from typing import IO

from ..zoo.errors import CanonError

_LOOK = 0.2
_START = 180.0
_GRACE = 10.0


def search_in_processes(arguments: Sequence[str], workers: int) -> int:
    """Start a `canon tune` command as a chief and workers, by the variables of keras-tuner, and wait until no trial is left.

    What the chief writes to standard error is shown when it fails. When a worker ends with an error, the others are stopped; the
    same command goes on with the search.

    Args:
        arguments: of the `canon` command.
        workers: how many train at a time.

    Returns:
        the exit status: 0, or that of the process that failed.

    Raises:
        CanonError: for no worker, or where the variables are set already.
    """
    if workers < 1:
        raise CanonError(f"--workers must be at least 1, got {workers}: leave it out to search in this process.")
    if any(name.startswith("KERASTUNER_") for name in os.environ):
        raise CanonError("--workers starts a search of its own, but KERASTUNER_ variables name one already: leave one of them out.")
    command, port = [sys.executable, "-m", "keras_canon", *arguments], _free_port()
    cluster = {"KERASTUNER_ORACLE_IP": "127.0.0.1", "KERASTUNER_ORACLE_PORT": str(port)}
    cards = _cards()
    with tempfile.TemporaryFile() as errors:
        started = [_start(command, {**cluster, "KERASTUNER_TUNER_ID": "chief", "CUDA_VISIBLE_DEVICES": "-1"}, errors)]
        chief = started[0]
        try:
            if not _listens(chief, port):
                return _told(chief, errors)
            for number in range(workers):
                own = {"CUDA_VISIBLE_DEVICES": cards[number % len(cards)]} if cards else {}
                started.append(_start(command, {**cluster, "KERASTUNER_TUNER_ID": f"worker{number}", **own}, None))
            failed = _wait(started)
            if failed is chief:
                return _told(chief, errors)
            if failed is not None:
                print(
                    f"canon: worker {started.index(failed) - 1} ended with status {failed.returncode}: the others are stopped; start the "
                    "same command again to go on.",
                    file=sys.stderr,
                )
            return 0 if failed is None else _status(failed)
        finally:
            _stop(started)


def _cards() -> list[str]:
    """Return the graphics cards that are named in the environment, up to a -1, which hides what follows as CUDA does."""
    names = [card.strip() for card in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")]
    return [card for card in itertools.takewhile(lambda card: card != "-1", names) if card]


def _start(command: Sequence[str], variables: Mapping[str, str], errors: IO[bytes] | None) -> subprocess.Popen:
    output = None if errors is None else subprocess.DEVNULL
    return subprocess.Popen(command, env={**os.environ, **variables}, stdout=output, stderr=errors)


def _listens(chief: subprocess.Popen, port: int) -> bool:
    """Wait until the chief answers; False when it ends instead."""
    limit = time.monotonic() + _START
    while chief.poll() is None and time.monotonic() < limit:
        with socket.socket() as trial:
            if trial.connect_ex(("127.0.0.1", port)) == 0:
                return True
        time.sleep(_LOOK)
    return False


def _wait(started: Sequence[subprocess.Popen]) -> subprocess.Popen | None:
    """Wait for the workers, and return the first process that failed; the chief goes on waiting for half a minute after them."""
    chief, *workers = started
    while any(process.poll() is None for process in workers):
        failed = next((process for process in started if process.poll()), None)
        if failed is not None:
            return failed
        time.sleep(_LOOK)
    return next((process for process in workers if process.returncode), chief if chief.poll() else None)


def _told(chief: subprocess.Popen, errors: IO[bytes]) -> int:
    """Show what the chief said, and return its status."""
    if chief.poll() is None:
        print(f"canon: the chief of the search gave no answer in {_START:.0f} s.", file=sys.stderr)
        return 1
    errors.seek(0)
    print(errors.read().decode(errors="replace").strip(), file=sys.stderr)
    return _status(chief)


def _status(process: subprocess.Popen) -> int:
    return process.returncode if process.returncode > 0 else 128 - process.returncode


def _stop(started: Sequence[subprocess.Popen]) -> None:
    """End what is still running: the state of the search is on the disk at every moment."""
    for process in started:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
    limit = time.monotonic() + _GRACE
    for process in started:
        try:
            process.wait(timeout=max(limit - time.monotonic(), 0.1))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]
