import base64
import json
import re
import shutil
import socket
import sys
import threading

import numpy as np
import pytest
import requests
from checks.serving import encode

from keras_canon import serving, zoo
from keras_canon.zoo import CanonError


def ask(url, body, **options):
    data = body if isinstance(body, bytes | str) else json.dumps(body)
    return requests.post(url, data=data, timeout=60, **options)


def b64(data: bytes) -> dict:
    return {"b64": base64.b64encode(data).decode()}


# TF Serving's replies


def test_status(url):
    ok = {"error_code": "OK", "error_message": ""}
    one, two = ({"version": version, "state": "AVAILABLE", "status": ok} for version in "12")
    reply = requests.get(f"{url}/lenet5", timeout=60)
    assert (reply.status_code, reply.headers["content-type"]) == (200, "application/json")
    assert reply.json() == {"model_version_status": [two, one]}
    assert requests.get(f"{url}/lenet5/versions/1", timeout=60).json() == {"model_version_status": [one]}


def test_metadata(url):
    reply = requests.get(f"{url}/lenet5/metadata", timeout=60).json()
    assert reply["model_spec"] == {"name": "lenet5", "signature_name": "", "version": "2"}
    signatures = reply["metadata"]["signature_def"]["signature_def"]
    assert {"bytes", "serving_default"} <= set(signatures)
    assert signatures["serving_default"]["method_name"] == "tensorflow/serving/predict"
    dim = [{"size": size, "name": ""} for size in ("-1", "32", "32", "1")]
    assert signatures["serving_default"]["inputs"]["images"] == {
        "dtype": "DT_FLOAT",
        "tensor_shape": {"dim": dim, "unknown_rank": False},
        "name": "serving_default_images:0",
    }
    assert signatures["bytes"]["inputs"]["images_bytes"]["dtype"] == "DT_STRING"
    assert requests.get(f"{url}/lenet5/versions/1/metadata", timeout=60).json()["model_spec"]["version"] == "1"


def test_row_and_column_form_agree_with_the_model(url, lenet5, images):
    logits = lenet5.predict(images, verbose=0)
    rows = images.tolist()
    bare = ask(f"{url}/lenet5:predict", {"instances": rows}).json()["predictions"]
    named = ask(f"{url}/lenet5/versions/1:predict", {"instances": [{"images": row} for row in rows]}).json()["predictions"]
    columns = ask(f"{url}/lenet5:predict", {"inputs": rows, "signature_name": "serving_default"}).json()["outputs"]
    named_columns = ask(f"{url}/lenet5:predict", {"inputs": {"images": rows}, "signature_name": ""}).json()["outputs"]
    assert [sorted(row) for row in bare] == [["logits", "probabilities"]] * 5
    for got in ([row["logits"] for row in bare], [row["logits"] for row in named], columns["logits"], named_columns["logits"]):
        np.testing.assert_allclose(got, logits, rtol=1e-5, atol=0)
    np.testing.assert_allclose(np.sum(columns["probabilities"], axis=1), 1.0, rtol=0, atol=1e-6)


def test_a_single_output_is_bare(url):
    assert ask(f"{url}/log:predict", {"instances": [[1, 1, 1]]}).json() == {"predictions": [[0.0, 0.0, 0.0]]}
    assert ask(f"{url}/log:predict", {"instances": [{"point": [1, 1, 1]}]}).json() == {"predictions": [[0.0, 0.0, 0.0]]}
    assert ask(f"{url}/log:predict", {"inputs": [[1, 1, 1]]}).json() == {"outputs": [[0.0, 0.0, 0.0]]}


def test_named_inputs_and_outputs(url):
    rows = [{"signal": [0, 0], "count": 1}, {"count": 2, "signal": [0.0, 0]}]
    assert ask(f"{url}/pair:predict", {"instances": rows}).json() == {
        "predictions": [{"next": 2, "total": 0.0}, {"next": 3, "total": 0.0}],
    }
    columns = {"signal": [[0, 0], [0, 0]], "count": [1, 2]}
    assert ask(f"{url}/pair:predict", {"inputs": columns}).json() == {"outputs": {"next": [2, 3], "total": [0.0, 0.0]}}


def test_images_as_bytes(url, lenet5):
    rng = np.random.default_rng(9)
    files = [encode(rng.integers(0, 256, (20, 30, 3), dtype="uint8"), "JPEG"), encode(rng.integers(0, 256, (8, 8), dtype="uint8"))]
    expected = lenet5.predict(zoo.preprocess(files, lenet5), verbose=0)
    for instances in ([b64(file) for file in files], [{"images_bytes": b64(file)} for file in files]):
        reply = ask(f"{url}/lenet5:predict", {"signature_name": "bytes", "instances": instances}).json()
        np.testing.assert_allclose([row["logits"] for row in reply["predictions"]], expected, rtol=1e-5, atol=0)
    reply = ask(f"{url}/lenet5:predict", {"signature_name": "bytes", "inputs": {"images_bytes": [b64(file) for file in files]}}).json()
    np.testing.assert_allclose(reply["outputs"]["logits"], expected, rtol=1e-5, atol=0)


# B46: what is wrong is said in one sentence, with the status, and does no harm

GOOD = [[0.0]] * 32
IMAGE = [GOOD] * 32
WRONG_BODIES = {
    "empty": ("lenet5", b"", 400, "no body"),
    "blank": ("lenet5", b" \n", 400, "no body"),
    "cut": ("lenet5", b"[1,", 400, "not valid JSON: Expecting value at line 1"),
    "not utf-8": ("lenet5", b'{"instances": "\xff"}', 400, "UTF-8"),
    "deep": ("lenet5", b'{"instances": ' + b"[" * 100_000, 400, "nested too deeply"),
    "long number": ("lenet5", b'{"instances": ' + b"1" * 5000 + b"}", 400, "not valid JSON"),
    "a list": ("lenet5", [1], 400, "must be a JSON object .* got a list"),
    "neither": ("lenet5", {"instance": []}, 400, "'instances' .* or 'inputs' .* got 'instance'"),
    "both": ("lenet5", {"instances": [], "inputs": []}, 400, "got both"),
    "no rows": ("lenet5", {"instances": []}, 400, "at least one row"),
    "no list": ("lenet5", {"instances": 3}, 400, "must be a list .* got a number"),
    "ragged": ("lenet5", {"instances": [[[[0.0]] * 32] * 32, [[[0.0]] * 31] * 32]}, 400, "'images' is ragged: .* 31 and 32"),
    "string for float": ("lenet5", {"instances": [[[["dark"]] * 32] * 32]}, 400, "'images' must hold numbers .* got the string 'dark'"),
    "wrong rank": ("lenet5", {"instances": [[0.0] * 32]}, 400, r"'images' must have shape \(\?, 32, 32, 1\), .* got \(1, 32\)"),
    "wrong size": ("log", {"instances": [[1, 2]]}, 400, r"'point' must have shape \(\?, 3\), .* got \(1, 2\)"),
    "wrong name": ("log", {"instances": [{"pint": [1, 2, 3]}]}, 400, "exactly the inputs 'point', got 'pint'"),
    "half a character": ("log", b'{"instances": [{"\\ud800": 1}]}', 400, "got "),
    "long names": ("log", {"signature_name": "x" * 900_000, "instances": [1]}, 404, "^.{0,300}$"),
    "mixed rows": ("log", {"instances": [[1, 2, 3], {"point": [1, 2, 3]}]}, 400, "mixes objects and bare values, first at row 1"),
    "missing name": ("pair", {"inputs": {"count": [1]}}, 400, "exactly the inputs 'count', 'signal', got 'count'"),
    "bare for two": ("pair", {"instances": [1]}, 400, "has the inputs count, signal: send a list of objects"),
    "signature type": ("lenet5", {"signature_name": 3, "instances": [1]}, 400, "signature_name must be a string, got a number"),
    "signature": ("lenet5", {"signature_name": "byte", "instances": [1]}, 404, "no signature 'byte': did you mean 'bytes'"),
    "bad b64": ("lenet5", {"signature_name": "bytes", "instances": [{"b64": "***"}]}, 400, "'images_bytes' .* not base64"),
    "no image": ("lenet5", {"signature_name": "bytes", "instances": [{"b64": "AAAA"}]}, 400, "'images_bytes' must hold JPEG.* item 0"),
    "empty image": ("lenet5", {"signature_name": "bytes", "instances": [""]}, 400, "got 0 bytes"),
    "cut image": (
        "lenet5",
        {"signature_name": "bytes", "instances": [b64(encode(np.zeros((9, 9), "uint8"))), b64(encode(np.zeros((9, 9), "uint8"))[:40])]},
        400,
        "'images_bytes' .* got 40 bytes that are none as item 1",
    ),
    "unknown model": ("lenet", {"instances": [IMAGE]}, 404, "no model 'lenet': did you mean 'lenet5'"),
    "unknown version": ("lenet5/versions/7", {"instances": [IMAGE]}, 404, "no version of model 'lenet5' numbered '7'"),
    "NaN": ("log", {"instances": [[-1, 1, 1]]}, 500, "Output 'log' holds NaN or infinity"),
    "infinity": ("log", {"instances": [[0, 1, 1]]}, 500, "Output 'log' holds NaN or infinity"),
    "too large": ("lenet5", b" " * (2**20 + 1), 413, "larger than 1048576 bytes"),
    "far too large": ("lenet5", b" " * (2**22), 413, "larger than 1048576 bytes"),
}


@pytest.mark.parametrize("case", WRONG_BODIES)
def test_b46_wrong_request(url, case):
    model, body, status, message = WRONG_BODIES[case]
    reply = ask(f"{url}/{model}:predict", body)
    assert reply.status_code == status, reply.text
    assert reply.headers["content-type"] == "application/json"
    error = reply.json()["error"]
    assert list(reply.json()) == ["error"]
    assert re.search(message, error), error
    assert not [word for word in ("\n", "Traceback", "node") if word in error]


def test_b46_a_good_request_is_answered_as_before(url, images):
    body = json.dumps({"instances": images[:2].tolist()})
    before = ask(f"{url}/lenet5:predict", body).content
    for model, wrong, status, _ in WRONG_BODIES.values():
        assert ask(f"{url}/{model}:predict", wrong).status_code == status
    assert ask(f"{url}/lenet5:predict", body).content == before


def test_b46_whole_numbers_are_accepted_for_floats(url):
    whole = ask(f"{url}/lenet5:predict", {"instances": [[[[1]] * 32] * 32]})
    decimal = ask(f"{url}/lenet5:predict", {"instances": [[[[1.0]] * 32] * 32]})
    assert whole.status_code == 200
    assert whole.content == decimal.content


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/none", 404),
        ("GET", "/lenet5/versions/9", 404),
        ("GET", "/lenet5/versions/x", 404),
        ("GET", "/lenet5/other", 404),
        ("GET", "/lenet5:predict", 405),
        ("POST", "/lenet5", 405),
        ("POST", "/lenet5:classify", 404),
        ("GET", "", 404),
        ("GET", "/../../../etc/passwd", 404),
    ],
)
def test_wrong_paths_get_json_errors(url, method, path, status):
    reply = requests.request(method, url + path, timeout=60)
    assert reply.status_code == status
    assert list(reply.json()) == ["error"]


def test_a_client_that_goes_away_does_no_harm(server, url):
    address = server.url.removeprefix("http://").split(":")
    with socket.create_connection((address[0], int(address[1]))) as client:
        client.sendall(b"POST /v1/models/log:predict HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
    assert ask(f"{url}/log:predict", {"instances": [[1, 1, 1]]}).status_code == 200


def test_clients_at_the_same_time_get_their_own_answers(url, servable, images):
    expected = servable.predict(images)["logits"]
    answers: dict[int, list] = {}

    def client(row):
        reply = ask(f"{url}/lenet5:predict", {"instances": images[row : row + 1].tolist()})
        answers[row] = reply.json()["predictions"][0]["logits"]

    threads = [threading.Thread(target=client, args=(row,)) for row in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_allclose([answers[row] for row in range(5)], expected, rtol=1e-5, atol=0)


# what is served


def test_one_model_or_one_version_can_be_served(models):
    for folder, versions in ((models / "lenet5", [1, 2]), (models / "lenet5" / "1", [1])):
        with serving.Server(folder, port=0, quiet=True) as server:
            assert {name: list(found) for name, found in server.catalogue.models.items()} == {"lenet5": versions}
            assert requests.get(f"{server.url}/v1/models/lenet5", timeout=60).status_code == 200


def test_a_broken_version_leaves_the_others_serving(tmp_path, models):
    shutil.copytree(models / "log", tmp_path / "log")
    shutil.copytree(tmp_path / "log" / "1", tmp_path / "log" / "2")
    (tmp_path / "log" / "2" / "saved_model.pb").write_bytes(b"")
    (tmp_path / "log" / ".writing-3-x").mkdir()
    with serving.Server(tmp_path, port=0, quiet=True) as server:
        states = requests.get(f"{server.url}/v1/models/log", timeout=60).json()["model_version_status"]
        assert [(state["version"], state["state"]) for state in states] == [("2", "END"), ("1", "AVAILABLE")]
        assert "changed or damaged" in states[0]["status"]["error_message"]
        assert ask(f"{server.url}/v1/models/log:predict", {"instances": [[1, 1, 1]]}).status_code == 200
        assert ask(f"{server.url}/v1/models/log/versions/2:predict", {"instances": [[1, 1, 1]]}).status_code == 404


def test_what_cannot_be_served_is_one_sentence(tmp_path, models, server):
    port = int(server.url.rsplit(":", 1)[1])
    for folder, options, message in (
        (tmp_path / "none", {}, "There is no folder"),
        (tmp_path, {}, r"There is no exported model in .*canon export"),
        (models, {"port": port}, rf"Cannot listen on 127.0.0.1 port {port} .*give another --port"),
        (models, {"port": 70000}, "port must be an integer from 0 to 65535"),
        (models, {"port": 0, "token": " "}, "token must not be empty"),
        (models, {"port": 0, "keep": 0}, "keep must be a whole number of at least 1"),
        (models, {"port": 0, "poll_s": 0}, "poll_s must be above 0"),
    ):
        with pytest.raises(CanonError, match=message):
            serving.Server(folder, **options)


def test_without_the_extra_the_cure_is_named(models, monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(CanonError, match=r"pip install 'keras-canon\[serve\]'"):
        serving.Server(models, port=0)


def test_the_port_is_free_afterwards(models):
    with serving.Server(models / "log", port=0, quiet=True) as server:
        port = int(server.url.rsplit(":", 1)[1])
    with pytest.raises(requests.ConnectionError):
        requests.get(f"{server.url}/v1/models/log", timeout=5)
    with serving.Server(models / "log", port=port, quiet=True):
        assert requests.get(f"{server.url}/v1/models/log", timeout=60).status_code == 200
