"""Fuzz: bytes changed at random, and schemathesis over the OpenAPI document. Seconds by default, ten minutes under `slow`."""

import base64
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import requests
from checks.serving import encode

from keras_canon import serving


@pytest.fixture(scope="module")
def target(models):
    limits = serving.Limits(max_body_mb=1, max_megapixels=1.0, max_rows=64, timeout_s=20)
    with serving.Server(models, port=0, limits=limits, quiet=True) as server:
        yield server


def resident_bytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def seeds():
    """Valid bodies, to be damaged."""
    picture = np.random.default_rng(0).integers(0, 256, (24, 24, 3), dtype="uint8")
    images = [encode(picture, kind) for kind in ("PNG", "JPEG", "GIF", "BMP", "WEBP")]
    arrays = [{"instances": np.zeros((2, 32, 32, 1)).tolist()}, {"inputs": {"images": np.zeros((1, 32, 32, 1)).tolist()}}]
    pairs = [{"instances": [{"signal": [0, 1], "count": 1}]}, {"inputs": {"signal": [[0.5, 1]], "count": [3]}}]
    return images, [("lenet5", json.dumps(body).encode()) for body in arrays] + [("pair", json.dumps(body).encode()) for body in pairs]


def damage(data, rng):
    """Change, cut, double or insert a few bytes."""
    changed = bytearray(data)
    for _ in range(int(rng.integers(1, 8))):
        place = int(rng.integers(len(changed) + 1))
        kind = rng.integers(5)
        if kind == 0:
            changed[place : place + 1] = bytes([int(rng.integers(256))])
        elif kind == 1:
            del changed[place : place + int(rng.integers(1, 40))]
        elif kind == 2:
            changed[place:place] = changed[place : place + int(rng.integers(1, 40))]
        elif kind == 3:
            changed[place:place] = rng.choice([b"null", b"1e999", b"[", b"]", b"{", b'"', b"-1", b"\x00", b"\xff", b'"b64":', b"NaN"])
        else:
            del changed[place:]
    return bytes(changed)


def fuzz_bytes(target, seconds, seed):
    """Send damaged bodies and images until the time is over; return how many got which status."""
    rng, session, counts = np.random.default_rng(seed), requests.Session(), {}
    images, bodies = seeds()
    good = json.dumps({"instances": [[1, 1, 1]]})
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if rng.random() < 0.5:
            items = [damage(images[int(rng.integers(len(images)))], rng) for _ in range(int(rng.integers(1, 4)))]
            instances = [{"b64": base64.b64encode(item).decode()} for item in items]
            model, body = "lenet5", json.dumps({"signature_name": "bytes", "instances": instances}).encode()
        else:
            model, body = bodies[int(rng.integers(len(bodies)))]
            body = damage(body, rng)
        reply = session.post(f"{target.url}/v1/models/{model}:predict", data=body, timeout=60)
        counts[reply.status_code] = counts.get(reply.status_code, 0) + 1
        # numbers so large that the network overflows are the one thing of a client's that has no other answer
        assert reply.status_code < 500 or "NaN or infinity" in reply.json()["error"], (reply.text, body[:2000])
        assert reply.status_code == 200 or list(reply.json()) == ["error"]
    assert session.post(f"{target.url}/v1/models/log:predict", data=good, timeout=60).json() == {"predictions": [[0.0, 0.0, 0.0]]}
    return counts


def test_damaged_bodies_and_images_do_no_harm(target):
    counts = fuzz_bytes(target, seconds=4, seed=int(time.time()) // 86_400)
    assert counts.get(400, 0) > 20


@pytest.mark.slow
def test_damaged_bodies_and_images_do_no_harm_for_ten_minutes(target):
    fuzz_bytes(target, seconds=60, seed=1)
    before = resident_bytes()
    counts = fuzz_bytes(target, seconds=540, seed=2)
    assert counts.get(400, 0) > 1000
    assert resident_bytes() - before < 50 * 2**20


def run_schemathesis(target, examples, timeout, *options):
    program = os.environ.get("SCHEMATHESIS") or shutil.which("schemathesis", path=str(Path(sys.executable).parent))
    if program is None:
        pytest.skip("schemathesis is not installed (pip install schemathesis, or name the program in SCHEMATHESIS)")
    command = [
        program,
        "run",
        f"{target.url}/openapi.json",
        "--checks=not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,response_headers_conformance",
        "--phases=examples,coverage,fuzzing",
        f"--max-examples={examples}",
        "--no-color",
        *options,
    ]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, env={**os.environ, "PYTHONWARNINGS": "default"})


def test_the_answers_are_as_the_openapi_document_says(target):
    done = run_schemathesis(target, examples=5, timeout=120)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-1000:]


@pytest.mark.slow
def test_the_answers_are_as_the_openapi_document_says_for_ten_minutes(target):
    run_schemathesis(target, examples=5, timeout=600)
    before = resident_bytes()
    done = run_schemathesis(target, 100, 1200, "--max-time=600")
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-1000:]
    print(done.stdout[-1500:])
    assert resident_bytes() - before < 50 * 2**20
