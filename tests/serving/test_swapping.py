"""B48: versions come, go and break while requests are under way; each answer is right and goes to its own caller."""

import base64
import contextlib
import gc
import json
import os
import shutil
import statistics
import threading
import time
import weakref
from concurrent.futures import Future
from pathlib import Path

import keras
import numpy as np
import pytest
import requests
from checks.serving import encode
from tensorflow.python.eager import context

from keras_canon import serving
from keras_canon.serving.catalogue import Catalogue
from keras_canon.serving.served import Served
from keras_canon.zoo import CanonError


@pytest.fixture(scope="module")
def versions(tmp_path_factory):
    """Three versions of a model whose answer tells which one gave it: x + version."""
    folder = tmp_path_factory.mktemp("versions") / "plus"
    for version in (1, 2, 3):
        point = keras.Input((2,), name="point")
        serving.export(keras.Model(point, keras.layers.Rescaling(1.0, version, name="sum")(point), name="plus"), folder)
    return folder


def copy_version(versions, folder, number, to=None):
    """Copy as a careful deployer does: aside first, then renamed."""
    folder.mkdir(parents=True, exist_ok=True)
    aside = folder / f".copying-{number}"
    shutil.copytree(versions / str(number), aside)
    aside.rename(folder / str(to or number))


def wait_for(condition, seconds=30.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


def resident_bytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def served_versions(server, name="plus"):
    return list(server.catalogue.models.get(name, {}))


def test_b48_swaps_under_load_fail_no_request_and_release_memory(versions, tmp_path):
    copy_version(versions, tmp_path / "plus", 1)
    stop, wrong, counted, seen = threading.Event(), [], [], set()
    with serving.Server(tmp_path, port=0, keep=1, poll_s=0.05, quiet=True) as server:
        url = f"{server.url}/v1/models/plus:predict"

        def client(number):
            rng, session, count = np.random.default_rng(number), requests.Session(), 0
            while not stop.is_set():
                rows = rng.integers(0, 1000, (int(rng.integers(1, 33)), 2))
                reply = session.post(url, data=json.dumps({"instances": rows.tolist()}), timeout=60)
                count += 1
                shifts = np.array(reply.json()["predictions"]) - rows if reply.status_code == 200 else np.zeros((1, 2))
                if np.ptp(shifts) > 1e-6 or shifts[0, 0] not in (1, 2, 3):
                    wrong.append((reply.status_code, reply.text[:200]))
                seen.add(float(shifts[0, 0]))
            counted.append(count)

        first = weakref.ref(server.catalogue.find("plus").servable)
        threads = [threading.Thread(target=client, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        try:
            for number in (2, 3):
                copy_version(versions, tmp_path / "plus", number)
                wait_for(lambda number=number: served_versions(server) == [number])
                time.sleep(0.3)
            wait_for(lambda: first() is None or gc.collect() < 0, 60)
        finally:
            stop.set()
            for thread in threads:
                thread.join()
    assert wrong == []
    assert seen == {1.0, 2.0, 3.0}
    assert sum(counted) > 100


@contextlib.contextmanager
def prepared_functions():
    """Give a function that counts the functions which TensorFlow has optimised and compiled since it was called last."""
    context.enable_run_metadata()
    try:
        yield lambda: len(context.export_run_metadata().function_graphs)
    finally:
        context.disable_run_metadata()


def test_b48_what_tensorflow_prepares_at_a_first_call_is_done_before_the_first_request(models, images):
    """So the first answer has nothing more to wait for than the others, whatever the signature and the size of the batch."""
    picture = {"b64": base64.b64encode(encode(np.zeros((20, 30, 3), "uint8"))).decode()}
    with prepared_functions() as count, serving.Server(models / "lenet5", port=0, keep=1, quiet=True) as server:
        assert count() >= len(server.catalogue.find("lenet5").servable.signatures)
        url = f"{server.url}/v1/models/lenet5:predict"
        for rows in (1, 3, 5):
            assert requests.post(url, json={"instances": images[:rows].tolist()}, timeout=60).status_code == 200
        for signature, row in (("bytes", picture), ("features", images[0].tolist())):
            assert requests.post(url, json={"signature_name": signature, "instances": [row]}, timeout=60).status_code == 200
        assert count() == 0
    cold = serving.load(models / "lenet5")
    with prepared_functions() as count:
        cold.predict(images)
        assert count() == 1  # what a server without warm-up would have left to its first client


@pytest.mark.slow
def test_b48_the_first_answer_takes_at_most_three_times_the_median(models, images):
    body, ratios = json.dumps({"instances": images[:1].tolist()}), []
    for _ in range(5):
        with serving.Server(models / "lenet5", port=0, keep=1, quiet=True) as server:
            seconds, session = [], requests.Session()
            session.get(f"{server.url}/healthz", timeout=60)  # the connection is not the model's affair
            for _ in range(20):
                started = time.perf_counter()
                assert session.post(f"{server.url}/v1/models/lenet5:predict", data=body, timeout=60).status_code == 200
                seconds.append(time.perf_counter() - started)
        ratios.append(seconds[0] / statistics.median(seconds))
    print(f"first answer over the median: {', '.join(f'{ratio:.1f}' for ratio in ratios)}")
    assert statistics.median(ratios) < 3


@pytest.mark.slow
def test_b48_5000_requests_do_not_grow_the_process(models, servable, images):
    expected = servable.predict(images)["logits"]
    with serving.Server(models / "lenet5", port=0, keep=1, quiet=True) as server:
        session, before = requests.Session(), 0
        for number in range(5000):
            row = number % len(images)
            body = json.dumps({"instances": images[row : row + 1].tolist()})
            reply = session.post(f"{server.url}/v1/models/lenet5:predict", data=body, timeout=60)
            np.testing.assert_allclose(reply.json()["predictions"][0]["logits"], expected[row], rtol=0, atol=1e-6 * np.abs(expected).max())
            if number == 500:
                before = resident_bytes()
        assert resident_bytes() - before < 50 * 2**20


def test_a_broken_new_version_leaves_the_old_one_serving_and_says_so(versions, tmp_path):
    copy_version(versions, tmp_path / "plus", 1)
    with serving.Server(tmp_path, port=0, poll_s=0.05, quiet=True) as server:
        broken = tmp_path / "plus" / "2"
        copy_version(versions, tmp_path / "plus", 2, to=9)
        (tmp_path / "plus" / "9" / "saved_model.pb").write_bytes(b"broken")
        (tmp_path / "plus" / "9").rename(broken)
        wait_for(lambda: server.catalogue.failures)
        status = requests.get(f"{server.url}/v1/models/plus", timeout=60).json()["model_version_status"]
        assert [(state["version"], state["state"]) for state in status] == [("2", "END"), ("1", "AVAILABLE")]
        assert "changed or damaged" in status[0]["status"]["error_message"]
        assert 'canon_model_load_failures_total{model="plus"} 1.0' in requests.get(f"{server.url}/metrics", timeout=60).text
        # mended in place, it is taken up
        shutil.copy(versions / "2" / "saved_model.pb", broken / "saved_model.pb")
        wait_for(lambda: served_versions(server) == [1, 2])
        assert server.catalogue.failures == {}


def test_half_copied_and_odd_folders_are_never_served(versions, tmp_path):
    copy_version(versions, tmp_path / "plus", 1)
    odd = ("-2", "2.0", "02", "v2", "two", "2 ", ".2", "2_tmp")
    for name in odd:
        shutil.copytree(versions / "2", tmp_path / "plus" / name)
    (tmp_path / "plus" / "4").write_text("a file")
    (tmp_path / "plus" / "5").mkdir()
    half = tmp_path / "plus" / "3"
    files = [path for path in sorted((versions / "3").rglob("*")) if path.is_file()]
    with serving.Server(tmp_path, port=0, poll_s=0.02, quiet=True) as server:
        for path in sorted(files, key=lambda path: path.name != "manifest.json"):
            assert served_versions(server) == [1]
            target = half / path.relative_to(versions / "3")
            target.parent.mkdir(parents=True, exist_ok=True)
            data = path.read_bytes()
            with target.open("wb") as file:
                for start in range(0, len(data), max(1, len(data) // 3)):
                    file.write(data[start : start + max(1, len(data) // 3)])
                    file.flush()
                    time.sleep(0.05)
                    if path != files[-1]:
                        assert served_versions(server) == [1]
        wait_for(lambda: served_versions(server) == [1, 3])


def test_a_removed_version_goes_and_a_moment_away_does_not_matter(versions, tmp_path):
    for number in (1, 2):
        copy_version(versions, tmp_path / "plus", number)
    catalogue = make_catalogue(tmp_path)
    (tmp_path / "plus" / "2").rename(tmp_path / "away")
    catalogue.scan()
    assert list(catalogue.models["plus"]) == [1, 2]
    (tmp_path / "away").rename(tmp_path / "plus" / "2")
    catalogue.scan()
    shutil.rmtree(tmp_path / "plus" / "2")
    catalogue.scan()
    catalogue.scan()
    assert list(catalogue.models["plus"]) == [1]
    shutil.rmtree(tmp_path / "plus")
    catalogue.scan()
    catalogue.scan()
    assert catalogue.models == {}


def test_whatever_a_load_fails_with_is_that_versions_failure(versions, tmp_path):
    for number in (1, 2):
        copy_version(versions, tmp_path / "plus", number)
    catalogue = make_catalogue(tmp_path, failing={2: KeyError("odd")})
    assert list(catalogue.models["plus"]) == [1]
    assert catalogue.failures == {"plus": {2: "KeyError while it was loaded: 'odd'"}}
    with pytest.raises(CanonError, match="KeyError while it was loaded"):
        make_catalogue(tmp_path, failing={1: KeyError("odd"), 2: KeyError("odd")})


def test_labels_name_versions(versions, tmp_path):
    for number in (1, 2):
        copy_version(versions, tmp_path / "plus", number)
    with serving.Server(tmp_path, port=0, labels={"plus": {"stable": 1, "gone": 8}}, quiet=True) as server:
        url = f"{server.url}/v1/models/plus"
        reply = requests.post(f"{url}/labels/stable:predict", json={"instances": [[0, 0]]}, timeout=60)
        assert reply.json() == {"predictions": [[1.0, 1.0]]}
        states = requests.get(f"{url}/labels/stable", timeout=60).json()["model_version_status"]
        assert [state["version"] for state in states] == ["1"]
        assert requests.get(f"{url}/labels/stable/metadata", timeout=60).json()["model_spec"]["version"] == "1"
        for label in ("gone", "stabel"):
            reply = requests.post(f"{url}/labels/{label}:predict", json={"instances": [[0, 0]]}, timeout=60)
            assert reply.status_code == 404
        assert "did you mean 'stable'" in reply.json()["error"]


def test_a_version_with_a_label_stays_beyond_keep_and_a_label_of_nothing_is_told(tmp_path):
    for version in (1, 2, 3, 4):
        (tmp_path / "plus" / str(version)).mkdir(parents=True)
        (tmp_path / "plus" / str(version) / "saved_model.pb").write_bytes(b"")
    told = []
    labels = {"plus": {"stable": 1, "gone": 8}, "none": {"stable": 1}}
    catalogue = make_catalogue(tmp_path, labels=labels, tell=lambda *event: told.append(event))
    assert list(catalogue.models["plus"]) == [1, 3, 4]
    assert catalogue.find("plus", label="stable") is catalogue.models["plus"][1]
    missing = {(model, version, reason) for event, model, version, reason in told if event == "no such version"}
    assert missing == {("plus", 8, "the label 'gone' names it"), ("none", 1, "the label 'stable' names it")}
    catalogue.scan()
    assert list(catalogue.models["plus"]) == [1, 3, 4]


def make_catalogue(folder, failing=None, **options):
    class Stand:
        """Stands for a served version."""

    def load(path) -> "Future[Served]":
        future: Future = Future()
        error = (failing or {}).get(int(path.name))
        if error is None:
            future.set_result(Stand())
        else:
            future.set_exception(error)
        return future

    return Catalogue(folder, load, **options)
