"""Health, metrics, token, log, limits and shutdown of the HTTP side."""

import base64
import io
import json
import re
import socket
import threading
import time

import numpy as np
import pytest
import requests
from checks.serving import encode

from keras_canon import serving
from keras_canon.serving.access import same_token
from keras_canon.serving.logs import Log

ROW = {"instances": [[1, 1, 1]]}


def address(server):
    host, port = server.url.removeprefix("http://").split(":")
    return host, int(port)


def test_health_readiness_and_metrics(server, url):
    assert requests.get(f"{server.url}/healthz", timeout=60).json() == {"status": "ok"}
    assert requests.get(f"{server.url}/readyz", timeout=60).json() == {"ready": True}
    assert requests.post(f"{url}/log:predict", json=ROW, timeout=60).status_code == 200
    assert requests.post(f"{url}/nothing-like-it:predict", json=ROW, timeout=60).status_code == 404
    for path in ("/metrics", "/monitoring/prometheus/metrics"):
        reply = requests.get(server.url + path, timeout=60)
        assert reply.headers["content-type"].startswith("text/plain")
    assert re.search(r'canon_requests_total\{model="log",protocol="rest",status="200"\} \d', reply.text)
    assert re.search(r'canon_batch_rows_count\{model="log",signature="serving_default"\} \d', reply.text)
    assert 'canon_model_version_served{model="lenet5",version="2"} 1.0' in reply.text
    assert "nothing-like-it" not in reply.text


def test_openapi_names_the_models(server):
    document = requests.get(f"{server.url}/openapi.json", timeout=60).json()
    assert document["paths"]["/v1/models/{name}:predict"]["parameters"][0]["schema"]["enum"] == ["lenet5", "log", "pair"]


@pytest.mark.parametrize(
    "header", [None, "", "Bearer", "Bearer ", "Bearer wrong", "Basic s3cret", "s3cret", "Bearer s3cret2", "Bearer s3cr\xe9t"]
)
def test_without_the_token_nothing_is_told(guarded, header):
    headers = {} if header is None else {"Authorization": header.encode("latin-1")}
    for path in ("/v1/models/log", "/metrics", "/models.json", "/openapi.json", "/none"):
        reply = requests.get(guarded.url + path, headers=headers, timeout=60)
        assert (reply.status_code, reply.headers["www-authenticate"]) == (401, "Bearer")
        assert list(reply.json()) == ["error"]
    assert requests.post(f"{guarded.url}/v1/models/log:predict", json=ROW, headers=headers, timeout=60).status_code == 401


@pytest.fixture(scope="module")
def guarded(models):
    with serving.Server(models / "log", port=0, token="s3cret", quiet=True) as server:
        yield server


def test_with_the_token_all_is_open_and_probes_need_none(guarded):
    headers = {"Authorization": "bearer s3cret"}
    assert requests.post(f"{guarded.url}/v1/models/log:predict", json=ROW, headers=headers, timeout=60).status_code == 200
    for path in ("/healthz", "/readyz", "/", "/page/app.js"):
        assert requests.get(guarded.url + path, timeout=60).status_code == 200


def test_tokens_are_compared_whole():
    assert same_token("Bearer abc", b"abc")
    assert not same_token("Bearer ab", b"abc")
    assert not same_token("Bearer abcd", b"abc")
    assert same_token("Bearer t\xc3\xb6", "t\xf6".encode())


def test_the_log_is_one_object_a_line_without_payloads_or_tokens(models, capsys):
    with serving.Server(models / "log", port=0, grpc_port=0, token="s3cret") as server:
        headers = {"Authorization": "Bearer s3cret"}
        requests.post(f"{server.url}/v1/models/log:predict?key=private", json={"instances": [[0.625, 1, 1]]}, headers=headers, timeout=60)
        requests.get(f"{server.url}/v1/models/a%0Ab%22", headers=headers, timeout=60)
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    asked = [line for line in lines if line["event"] == "request"]
    assert [(line["method"], line["path"], line["status"]) for line in asked] == [
        ("POST", "/v1/models/log:predict", 200),
        ("GET", '/v1/models/a\nb"', 404),
    ]
    assert {"time", "client", "protocol", "bytes", "ms"} <= set(asked[0])
    text = json.dumps(lines)
    assert not [word for word in ("s3cret", "0.625", "private") if word in text]
    assert [line["model"] for line in lines if line["event"] == "served"] == ["log"]


def test_log_lines_of_many_threads_do_not_mix():
    stream = io.StringIO()
    log = Log(stream)
    threads = [threading.Thread(target=lambda: [log.write("request", {"text": "x\n" * 99}) for _ in range(50)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [json.loads(line)["event"] for line in stream.getvalue().splitlines()] == ["request"] * 200


def test_an_image_of_too_many_pixels_is_refused_before_it_is_decoded(models):
    picture = base64.b64encode(encode(np.zeros((1100, 1000), "uint8"))).decode()
    body = {"signature_name": "bytes", "instances": [{"b64": picture}]}
    with serving.Server(models / "lenet5", port=0, keep=1, limits=serving.Limits(max_megapixels=1.0, max_rows=2), quiet=True) as server:
        url = f"{server.url}/v1/models/lenet5:predict"
        reply = requests.post(url, json=body, timeout=60)
        assert (reply.status_code, "1.1 million pixels as item 0" in reply.json()["error"]) == (400, True)
        reply = requests.post(url, json={**body, "instances": [""] * 3}, timeout=60)
        assert (reply.status_code, "has 3 rows, and 2 are allowed" in reply.json()["error"]) == (400, True)


def test_when_there_is_no_room_clients_are_sent_away_and_told_to_come_again(models):
    with serving.Server(models / "log", port=0, limits=serving.Limits(max_pending=1), quiet=True) as server:
        url = f"{server.url}/v1/models/log:predict"
        with socket.create_connection(address(server)) as slow:
            slow.sendall(b"POST /v1/models/log:predict HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
            end = time.monotonic() + 30
            while (reply := requests.post(url, json=ROW, timeout=60)).status_code == 200 and time.monotonic() < end:
                time.sleep(0.02)
            assert (reply.status_code, reply.headers["retry-after"]) == (429, "1")
            assert "1 requests are under way" in reply.json()["error"]
            assert requests.get(f"{server.url}/healthz", timeout=60).status_code == 200
        end = time.monotonic() + 30
        while (reply := requests.post(url, json=ROW, timeout=60)).status_code == 429 and time.monotonic() < end:
            time.sleep(0.02)
        assert reply.status_code == 200


def test_a_client_that_sends_too_slowly_is_let_go(models):
    with serving.Server(models / "log", port=0, limits=serving.Limits(timeout_s=0.3), quiet=True) as server:
        with socket.create_connection(address(server)) as slow:
            slow.sendall(b"POST /v1/models/log:predict HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
            slow.settimeout(30)
            answer = slow.recv(4096)
        assert answer.startswith(b"HTTP/1.1 408")
        assert requests.post(f"{server.url}/v1/models/log:predict", json=ROW, timeout=60).status_code == 200


def test_requests_under_way_are_answered_at_shutdown(models, images):
    body = json.dumps({"instances": np.tile(images, (10, 1, 1, 1)).tolist()})
    answers = []
    with serving.Server(models / "lenet5", port=0, keep=1, quiet=True) as server:
        url = f"{server.url}/v1/models/lenet5:predict"
        threads = [threading.Thread(target=lambda: answers.append(requests.post(url, data=body, timeout=60).status_code)) for _ in range(4)]
        for thread in threads:
            thread.start()
        end = time.monotonic() + 30
        while "canon_requests_pending 4.0" not in requests.get(f"{server.url}/metrics", timeout=60).text and len(answers) == 0:
            assert time.monotonic() < end
    for thread in threads:
        thread.join()
    assert answers == [200] * 4


def test_a_connection_that_stays_silent_is_closed(models, monkeypatch):
    monkeypatch.setattr("keras_canon.serving.server._SILENCE_SECONDS", 0.2)
    with serving.Server(models / "log", port=0, quiet=True) as server:
        with socket.create_connection(address(server)) as silent:
            silent.settimeout(30)
            assert silent.recv(1) == b""
        with socket.create_connection(address(server)) as half:
            half.sendall(b"POST /v1/models/log:predict HTTP/1.1\r\nHost")
            half.settimeout(30)
            assert half.recv(1) == b""
        session = requests.Session()
        for pause in (0, 0.4):
            time.sleep(pause)
            assert session.post(f"{server.url}/v1/models/log:predict", json=ROW, timeout=60).status_code == 200
