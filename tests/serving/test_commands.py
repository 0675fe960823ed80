import os
import re
import shlex
import signal
import subprocess
import sys

import typer
from typer.testing import CliRunner

from keras_canon import serving
from keras_canon.cli.export import export
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


def test_serve_answers_its_own_example_and_stops_on_ctrl_c(models):
    command = [sys.executable, "-u", "-c", SERVE, str(models), "--port", "0"]
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
            process.send_signal(signal.SIGINT)
        rest = process.stdout.read()
        assert process.wait(30) == 0
    assert '"POST /v1/models/lenet5%3Apredict HTTP/1.1" 200' in rest
    assert "b64" not in rest
    assert rest.endswith("Stopped.\n")
    assert "Traceback" not in rest
