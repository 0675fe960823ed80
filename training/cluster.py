"""The cluster that the environment describes, and local workers for a try-out; needs no TensorFlow."""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from ..zoo.errors import CanonError

# how long the others may take to stop by themselves when one has failed
_GRACE = 20.0
_LOOK = 0.2


def cluster_workers() -> int:
    """Return how many workers `TF_CONFIG` names, 0 without it.

    Raises:
        CanonError: for a `TF_CONFIG` that is no description of a cluster.
    """
    text = os.environ.get("TF_CONFIG")
    if not text:
        return 0
    try:
        config = json.loads(text)
        cluster = config.get("cluster", {})
        return len(cluster.get("chief", [])) + len(cluster.get("worker", []))
    except (ValueError, AttributeError, TypeError) as error:
        raise CanonError(
            f'TF_CONFIG must be JSON such as {{"cluster": {{"worker": ["host:port"]}}, "task": {{...}}}}, got {text!r}.'
        ) from error


def run_local_workers(arguments: Sequence[str], workers: int) -> int:
    """Start a command in several processes that form a cluster on this machine, and wait for them.

    The first is the chief and prints; what the others print is shown only when they fail. When one ends with an error, the
    others get some seconds to stop by themselves.

    Args:
        arguments: of the `canon` command.
        workers: how many, at least 2.

    Returns:
        the exit status: that of the first process that failed, else 0.

    Raises:
        CanonError: for fewer than two workers, or under a `TF_CONFIG` that is set already.
    """
    if workers < 2:
        raise CanonError(f"--workers must be at least 2, got {workers}: leave it out for one.")
    if os.environ.get("TF_CONFIG"):
        raise CanonError("--workers starts a cluster on this machine, but TF_CONFIG names one already: leave one of them out.")
    addresses = _free_addresses(workers)
    cards = _cards(workers)
    with ExitStack() as stack:
        started = []
        for number in range(workers):
            config = {"cluster": {"worker": addresses}, "task": {"type": "worker", "index": number}}
            environment = {**os.environ, "TF_CONFIG": json.dumps(config), "CUDA_VISIBLE_DEVICES": cards[number]}
            output = None if number == 0 else stack.enter_context(tempfile.TemporaryFile())
            command = [sys.executable, "-m", "keras_canon", *arguments]
            started.append((subprocess.Popen(command, env=environment, stdout=output, stderr=output), output))
        processes = [process for process, _ in started]
        try:
            status = _wait(processes)
        except KeyboardInterrupt:
            # the terminal has told them too
            _stop(processes, signal.SIGINT)
            raise
        for number, (process, output) in enumerate(started):
            if process.returncode and output is not None:
                output.seek(0)
                text = output.read().decode(errors="replace").strip()
                print(f"worker {number} ended with status {process.returncode}: {text.splitlines()[-1] if text else ''}", file=sys.stderr)
        return status


def _wait(processes: Sequence[subprocess.Popen]) -> int:
    """Wait for all, or for the first that fails and then no longer than the others need to notice."""
    while any(process.poll() is None for process in processes):
        failed = [process for process in processes if process.poll()]
        if failed:
            status = failed[0].returncode
            limit = time.monotonic() + _GRACE
            while time.monotonic() < limit and any(process.poll() is None for process in processes):
                time.sleep(_LOOK)
            _stop(processes, signal.SIGTERM)
            return status if status > 0 else 128 - status
        time.sleep(_LOOK)
    return next((process.returncode for process in processes if process.returncode), 0)


def _stop(processes: Sequence[subprocess.Popen], number: int) -> None:
    for process in processes:
        if process.poll() is None:
            process.send_signal(number)
    for process in processes:
        try:
            process.wait(timeout=10.0)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _free_addresses(count: int) -> list[str]:
    """Return addresses with ports that are free now; all are held until all are known, so that no two are equal."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for item in sockets:
            item.bind(("127.0.0.1", 0))
        return [f"127.0.0.1:{item.getsockname()[1]}" for item in sockets]


def _cards(workers: int) -> list[str]:
    """Share the graphics cards out; where there are fewer than workers, all work on the processor."""
    listed = os.environ.get("CUDA_VISIBLE_DEVICES")
    found = Path("/proc/driver/nvidia/gpus")
    cards = (
        [str(number) for number in range(len(list(found.iterdir())))] if listed is None and found.is_dir() else (listed or "").split(",")
    )
    cards = [card for card in cards if card not in ("", "-1")]
    each = len(cards) // workers
    return [",".join(cards[number * each : (number + 1) * each]) or "-1" for number in range(workers)]
