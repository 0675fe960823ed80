import json
import os
import re
import shlex
import signal
import subprocess
import sys

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from keras_canon import serving
from keras_canon.cli.export import export
from keras_canon.cli.inspect import inspect
from keras_canon.cli.serve import serve
from keras_canon.serving.server import curl_example
from keras_canon.zoo import CanonError

SERVE = "import sys, typer; from keras_canon.cli.serve import serve; typer.run(serve)"


def run(function, *arguments):
    app = typer.Typer()
    app.command()(function)
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_export_writes_a_bundle_and_says_what_to_do_next(tmp_path, lenet5):
    lenet5.save(tmp_path / "model.keras")
    (tmp_path / "names.txt").write_text("\n".join("abcdefghij") + "\n")
    result = run(export, tmp_path, "--out", tmp_path / "out" / "lenet5", "--labels", tmp_path / "names.txt")
    assert result.exit_code == 0, result.output
    assert "canon serve" in result.output
    assert serving.load(tmp_path / "out" / "lenet5").labels == tuple("abcdefghij")


def test_export_refuses_in_one_sentence(tmp_path):
    assert isinstance(run(export, tmp_path / "none", "--out", tmp_path / "x").exception, CanonError)
    result = run(export, tmp_path, "--labels", tmp_path / "none.txt")
    assert "cannot be read" in str(result.exception)


@pytest.mark.parametrize("stop", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_serve_answers_its_own_example_and_stops_on_a_signal(models, stop):
    command = [sys.executable, "-u", "-c", SERVE, str(models), "--port", "0", "--grpc-port", "0", "--label", "lenet5:stable=1"]
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "COLUMNS": "40"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment) as process:
        assert process.stdout is not None
        lines = []
        try:
            for line in process.stdout:
                lines.append(line)
                if line.startswith("Try: "):
                    break
            assert any(re.fullmatch(r"lenet5 \(version 1, 2\): http://127\.0\.0\.1:\d+/v1/models/lenet5\n", line) for line in lines), lines
            example = shlex.split(lines[-1].removeprefix("Try: "))
            reply = subprocess.run([*example, "--silent", "--max-time", "60"], capture_output=True, text=True, check=True).stdout
            assert '"probabilities"' in reply
        finally:
            process.send_signal(stop)
        rest = process.stdout.read()
        assert process.wait(30) == 0
    requests = [json.loads(line) for line in rest.splitlines() if line.startswith("{")]
    assert [(line["method"], line["path"], line["status"]) for line in requests] == [("POST", "/v1/models/lenet5:predict", 200)]
    assert "b64" not in rest
    assert rest.endswith("Stopped.\n")
    assert "Traceback" not in rest


def test_serve_refuses_in_one_sentence(tmp_path):
    (tmp_path / "empty").write_text("\n")
    for arguments, words in (
        (["--label", "lenet5=1"], "must be MODEL:LABEL=VERSION"),
        (["--token-file", tmp_path / "none"], "cannot be read"),
        (["--token-file", tmp_path / "empty"], "is empty: write the token into it"),
        (["--emit", "docker"], "no target of --emit 'docker': did you mean 'docker-compose'"),
        (["--max-batch", "0"], "max_batch must be above 0, got 0"),
        (["--max-pending-mb", "0"], "max_pending_mb must be above 0, got 0"),
        (["--emit", "ray", "--max-batch", "0"], "max_batch must be above 0, got 0"),
    ):
        result = run(serve, tmp_path, *arguments)
        assert isinstance(result.exception, CanonError), result.output
        assert words in str(result.exception)


def test_the_command_to_try_carries_the_header_where_a_token_is_asked_for(servable):
    assert curl_example("http://x", servable).startswith("curl -d '")
    assert curl_example("http://x", servable, "$CANON_TOKEN").startswith('curl -H "Authorization: Bearer $CANON_TOKEN" -d ')


def test_export_in_bfloat16_with_data_prints_what_it_measured(tmp_path, lenet5):
    lenet5.save(tmp_path / "model.keras")
    rng = np.random.default_rng(11)
    np.savez(tmp_path / "data.npz", images=rng.normal(size=(4, 32, 32, 1)).astype("float32"), targets=np.arange(4))
    result = run(export, tmp_path, "--out", tmp_path / "out" / "lenet5", "--precision", "bfloat16", "--data", tmp_path / "data.npz")
    assert result.exit_code == 0, result.output
    assert re.search(r"saved_model bfloat16 on 4 examples: accuracy \d\.\d{4} \(float32 \d\.\d{4}\), largest difference", flat(result))
    assert serving.load(tmp_path / "out" / "lenet5").manifest.precision == "bfloat16"


def test_inspect_shows_signatures_files_and_ops(models):
    shown = flat(run(inspect, models / "lenet5"))
    for text in ("lenet5, version 2", "serving_default", "images float32 (?, 32, 32, 1)", "saved_model.pb", "Conv2D", "Python: none"):
        assert text in shown
    found = json.loads(run(inspect, models / "lenet5", "--json").output)
    assert found["content"]["unsafe_ops"] == []
    assert found["hashes"] == found["manifest"]["files"]


def flat(result) -> str:
    assert result.exit_code == 0, result.output
    return " ".join(result.output.split())
