"""Mixed load on one server for a long time: no wrong answer, no failed valid request, memory flat.

usage: python benchmarks/soak.py [--minutes N] [--swap-seconds N]

The load, all at once: clients with arrays and with encoded images whose answers are compared; malformed and oversize requests, which
must be refused with the right status; clients that send a byte at a time; clients that go away in the middle; and a version of the model
that is replaced again and again. Memory is the server process's resident size, from a tenth of the time on: caches are full by then, and
versions have been replaced, so what two of them need side by side is part of what is compared. Growth is from there to the
highest value; the drift, from the mean of the first quarter after that to the mean of the last, tells whether it goes on.

A run of 30 minutes or more writes benchmarks/results/soak.json and the table in docs/serving.md.
"""

import argparse
import base64
import http.client
import io
import json
import os
import random
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from report import Report

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

GROWTH_MIB_AT_MOST = 50
LONG_ENOUGH_MINUTES = 30
# neither the server's speed nor the machine's is tested here: a busy machine is no fault
PATIENCE_SECONDS = 600
MALFORMED = {
    b"": 400,
    b"[1,": 400,
    b'{"instances": []}': 400,
    b'{"instances": [[1, 2]]}': 400,
    b'{"signature_name": "x", "instances": [1]}': 404,
}


class Load:
    """What the clients share: where to ask, what to expect, what they found."""

    def __init__(self, port, bodies, expected):
        self.port, self.bodies, self.expected = port, bodies, expected
        self.stop, self.lock = threading.Event(), threading.Lock()
        self.counts, self.faults = {}, []

    def count(self, kind):
        with self.lock:
            self.counts[kind] = self.counts.get(kind, 0) + 1

    def fault(self, words):
        with self.lock:
            self.faults.append(words)

    def ask(self, connection, body):
        connection.request("POST", "/v1/models/lenet5:predict", body)
        reply = connection.getresponse()
        return reply.status, reply.read()


def valid(load, seed):
    """Ask for rows whose answers are known."""
    rng = random.Random(seed)
    connection = http.client.HTTPConnection("127.0.0.1", load.port, timeout=PATIENCE_SECONDS)
    while not load.stop.is_set():
        turn = rng.randrange(len(load.bodies))
        try:
            status, reply = load.ask(connection, load.bodies[turn])
        except (OSError, http.client.HTTPException) as error:
            load.fault(f"valid request failed: {error!r}")
            connection.close()
            continue
        got = json.loads(reply)["predictions"] if status == 200 else []
        load.count("valid")
        if status != 200:
            load.fault(f"valid request refused: {status} {reply[:200]!r}")
        elif [len(row["probabilities"]) for row in got] != [10] * len(load.expected[turn]) or any(
            abs(a - b) > 1e-5
            for row, want in zip(got, load.expected[turn], strict=True)
            for a, b in zip(row["probabilities"], want, strict=True)
        ):
            load.fault(f"wrong answer to body {turn}")


def malformed(load, seed):
    """Ask what must be refused, and sometimes too much."""
    rng = random.Random(seed)
    while not load.stop.is_set():
        connection = http.client.HTTPConnection("127.0.0.1", load.port, timeout=PATIENCE_SECONDS)
        body, wanted = rng.choice(sorted(MALFORMED.items())) if rng.random() < 0.9 else (b" " * (3 * 2**20), 413)
        try:
            status, _ = load.ask(connection, body)
            load.count("malformed")
            if status != wanted:
                load.fault(f"{body[:30]!r} gave {status}, not {wanted}")
        except (OSError, http.client.HTTPException) as error:
            # the server may close the connection while the client still sends too much
            if wanted != 413:
                load.fault(f"malformed request failed: {error!r}")
        finally:
            connection.close()
        load.stop.wait(0.05)


def slow_or_gone(load, seed):
    """Send a byte at a time, or go away in the middle."""
    rng = random.Random(seed)
    while not load.stop.is_set():
        body = rng.choice(load.bodies)
        with socket.create_connection(("127.0.0.1", load.port), timeout=PATIENCE_SECONDS) as client:
            client.sendall(
                b"POST /v1/models/lenet5:predict HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body)
            )
            if rng.random() < 0.5:
                client.sendall(body[: rng.randrange(len(body))])
                load.count("gone")
                continue
            for start in range(0, len(body), max(1, len(body) // 20)):
                client.sendall(body[start : start + max(1, len(body) // 20)])
                load.stop.wait(0.05)
            status = client.recv(16)
            load.count("slow")
            if not status.startswith(b"HTTP/1.1 200"):
                load.fault(f"slow request refused: {status!r}")


def swapper(load, folder, seconds):
    """Put the next version beside the last one, and take the older away when it serves."""
    version = 1
    while not load.stop.wait(seconds):
        aside = folder / ".copying"
        shutil.copytree(folder / str(version), aside)
        aside.rename(folder / str(version + 1))
        if not wait_for_version(load, version + 1):
            load.fault(f"version {version + 1} was not taken up")
            return
        shutil.rmtree(folder / str(version))
        version += 1
        load.count("swaps")


def wait_for_version(load, version):
    end = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < end:
        connection = http.client.HTTPConnection("127.0.0.1", load.port, timeout=PATIENCE_SECONDS)
        connection.request("GET", "/v1/models/lenet5")
        states = json.loads(connection.getresponse().read())["model_version_status"]
        connection.close()
        if any(state["version"] == str(version) and state["state"] == "AVAILABLE" for state in states):
            return True
        time.sleep(0.2)
    return False


def prepare(folder):
    """Export a model; return bodies and the probabilities that belong to them."""
    import keras
    import numpy as np
    from PIL import Image

    from keras_canon import serving, zoo

    keras.utils.set_random_seed(0)
    serving.export(zoo.create("lenet5"), folder / "lenet5")
    servable, rng = serving.load(folder / "lenet5"), np.random.default_rng(0)
    bodies, expected = [], []
    for rows in (1, 1, 2, 5, 16):
        images = rng.normal(size=(rows, 32, 32, 1)).astype("float32")
        bodies.append(json.dumps({"instances": images.tolist()}).encode())
        expected.append(servable.predict(images)["probabilities"].tolist())
    for _ in range(5):
        buffer = io.BytesIO()
        Image.fromarray(rng.integers(0, 256, (40, 30, 3), dtype="uint8")).save(buffer, "JPEG")
        item = {"b64": base64.b64encode(buffer.getvalue()).decode()}
        bodies.append(json.dumps({"signature_name": "bytes", "instances": [item]}).encode())
        expected.append(servable.predict(buffer.getvalue())["probabilities"].tolist())
    return bodies, expected


def resident_mib(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[1]) / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--swap-seconds", type=float, default=60.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        bodies, expected = prepare(folder)
        command = [sys.executable, "-u", "-m", "keras_canon", "serve", str(folder), "--port", "0", "--max-body-mb", "2", "--keep", "1"]
        command += ["--timeout", str(PATIENCE_SECONDS)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
            port = next(int(found[1]) for line in server.stdout if (found := re.search(r"Page: http://[^:]+:(\d+)/", line)))
            threading.Thread(target=server.stdout.read, daemon=True).start()
            load = Load(port, bodies, expected)
            threads = [threading.Thread(target=valid, args=(load, seed)) for seed in range(4)]
            threads += [threading.Thread(target=kind, args=(load, seed)) for kind in (malformed, slow_or_gone) for seed in range(2)]
            threads.append(threading.Thread(target=swapper, args=(load, folder / "lenet5", options.swap_seconds)))
            for thread in threads:
                thread.start()
            memory, end = [], time.monotonic() + 60 * options.minutes
            while time.monotonic() < end:
                time.sleep(min(5.0, 6 * options.minutes))
                memory.append(resident_mib(server.pid))
            load.stop.set()
            for thread in threads:
                thread.join()
            server.terminate()
            code = server.wait(PATIENCE_SECONDS)
    settled = memory[len(memory) // 10 :]
    growth = max(settled) - settled[0]
    quarter = max(1, len(settled) // 4)
    drift = statistics.mean(settled[-quarter:]) - statistics.mean(settled[:quarter])
    print(f"{options.minutes:g} minutes: {', '.join(f'{count} {kind}' for kind, count in sorted(load.counts.items()))}")
    print(f"faults: {len(load.faults)} {load.faults[:5]}; exit status of the server {code}")
    print(f"memory: {settled[0]:.0f} MiB, at most {max(settled):.0f}, at the end {settled[-1]:.0f}")
    print(f"growth: {growth:.0f} MiB, asked <= {GROWTH_MIB_AT_MOST}; drift {drift:+.0f}")
    print(f"course: {' '.join(f'{value:.0f}' for value in memory[:: max(1, len(memory) // 24)])}")
    failed = load.faults or growth > GROWTH_MIB_AT_MOST or code not in (0, -15)
    print("MISSED" if failed else "ok", flush=True)
    if options.minutes >= LONG_ENOUGH_MINUTES:
        report(options, load, settled, drift).save()
    return 1 if failed else 0


def report(options, load, settled, drift):
    counts = {kind: f"{load.counts.get(kind, 0):,}" for kind in ("valid", "malformed", "slow", "gone", "swaps")}
    memory = f"{settled[0]:.0f} to {max(settled):.0f} MiB, {max(settled) - settled[0]:.0f} of growth; last quarter less first: {drift:+.0f}"
    rows = [
        ("valid requests, each answer compared", counts["valid"], "all answered"),
        ("malformed and oversize requests", counts["malformed"], "all refused, with the right status"),
        ("requests sent a piece at a time", counts["slow"], "all answered"),
        ("clients that went away in the middle", counts["gone"], "no harm"),
        ("versions swapped under the load", counts["swaps"], "no request notices"),
        ("wrong answers, failed requests and other faults", f"{len(load.faults)}", "0"),
        ("resident memory of the server", memory, f"growth of at most {GROWTH_MIB_AT_MOST} MiB"),
    ]
    return Report(
        name="soak",
        title="The server under mixed load",
        page="",
        command=f"python benchmarks/soak.py --minutes {options.minutes:g} --swap-seconds {options.swap_seconds:g}",
        columns=[["what", "{what}"], ["measured", "{measured}"], ["aim", "{asked}"]],
        key=["what"],
        rows=[{"what": what, "measured": measured, "asked": asked} for what, measured, asked in rows],
    )


if __name__ == "__main__":
    sys.exit(main())
