"""The Ray Serve application that `--emit ray` writes, run once for real with two replicas; CANON_RAY_PYTHON may name a Python with Ray."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest

from keras_canon.serving.emit import emit

RUN = """
import json, sys, urllib.request
import ray
from ray import serve
ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
import app
serve.run(app.app, route_prefix="/")
url = "http://127.0.0.1:8000/v1/models/lenet5"
def ask(path, body=None):
    try:
        with urllib.request.urlopen(urllib.request.Request(url + path, body), timeout=120) as reply:
            return reply.status, json.load(reply)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)
body = sys.stdin.buffer.read()
replicas = serve.status().applications["default"].deployments["Models"].replica_states
print(json.dumps({
    "replicas": {str(key): value for key, value in replicas.items()},
    "answers": [ask(":predict", body) for _ in range(8)],
    "status": ask(""),
    "wrong": ask(":predict", b"[1,"),
}))
serve.shutdown()
ray.shutdown()
"""


@pytest.mark.slow
def test_two_replicas_answer_as_the_servable_does(models, servable, images, tmp_path):
    python = os.environ.get("CANON_RAY_PYTHON") or (sys.executable if find_spec("ray") else None)
    if python is None:
        pytest.skip("Ray is not installed (pip install 'ray[serve]', or name a Python that has it in CANON_RAY_PYTHON)")
    emit("ray", models, tmp_path)
    body = json.dumps({"instances": images.tolist()}).encode()
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "RAY_USAGE_STATS_ENABLED": "0"}
    done = subprocess.run([python, "-c", RUN], input=body, capture_output=True, cwd=tmp_path, env=environment, timeout=400)
    assert done.returncode == 0, done.stderr.decode()[-3000:]
    # Ray writes lines of its own to the same stream
    (line,) = (line for line in done.stdout.decode().splitlines() if line.startswith('{"replicas"'))
    found = json.loads(line)
    assert found["replicas"] == {"RUNNING": 2}
    expected = servable.predict(images)["logits"]
    for status, answer in found["answers"]:
        assert status == 200
        np.testing.assert_allclose([row["logits"] for row in answer["predictions"]], expected, rtol=0, atol=1e-5 * np.abs(expected).max())
    status = {"error_code": "OK", "error_message": ""}
    assert found["status"][1] == {"model_version_status": [{"version": "2", "state": "AVAILABLE", "status": status}]}
    assert found["wrong"][0] == 400
