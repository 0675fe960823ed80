import gzip
import hashlib
import threading
import time
import urllib.error
from email.message import Message

import numpy as np
import pytest

from keras_canon.training.data import fashion_mnist, load, network
from keras_canon.training.data.splits import digests_of
from keras_canon.zoo import CanonError

SIZES = {"train": 200, "t10k": 50}


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Four small files in the published form, which count as the published ones."""
    folder = tmp_path / "files"
    folder.mkdir()
    published = {}
    for prefix, number in SIZES.items():
        generator = np.random.default_rng(number)
        images = generator.integers(0, 256, (number, 28, 28), dtype=np.uint8)
        labels = (np.arange(number) % 10).astype(np.uint8)
        for name, content in (
            (f"{prefix}-images-idx3-ubyte", bytes(16) + images.tobytes()),
            (f"{prefix}-labels-idx1-ubyte", bytes(8) + labels.tobytes()),
        ):
            (folder / f"{name}.gz").write_bytes(gzip.compress(content))
            published[name] = hashlib.sha256(content).hexdigest()
    monkeypatch.setattr(fashion_mnist, "PUBLISHED", published)
    monkeypatch.setattr(fashion_mnist, "PACKAGED", folder)
    return folder


def test_prepared_from_files_without_a_connection(files, tmp_path, connections):
    dataset = load("fashion_mnist", data_dir=tmp_path / "data")
    assert {name: len(split) for name, split in dataset.splits.items()} == {"train": 180, "validation": 20, "test": 50}
    assert dataset.class_names[:3] == ("T-shirt/top", "Trouser", "Pullover")
    assert dataset.class_names[9] == "Ankle boot"
    assert dataset.facts["version"] == "fashion_mnist/3.0.1"
    assert connections == []


def test_b50_prepared_data_load_without_files_and_without_a_connection(files, tmp_path, connections, monkeypatch):
    first = load("fashion_mnist", data_dir=tmp_path / "data")
    monkeypatch.setattr(fashion_mnist, "PACKAGED", tmp_path / "nowhere")
    start = time.perf_counter()
    again = load("fashion_mnist", data_dir=tmp_path / "data")
    assert time.perf_counter() - start < 10
    np.testing.assert_array_equal(again.train.store.images, first.train.store.images)
    assert connections == []


def test_b50_unprepared_without_a_network_is_one_sentence(tmp_path, connections, monkeypatch):
    monkeypatch.setattr(fashion_mnist, "PACKAGED", tmp_path / "nowhere")
    start = time.perf_counter()
    with pytest.raises(CanonError) as caught:
        load("fashion_mnist", data_dir=tmp_path / "data")
    assert time.perf_counter() - start < 10
    message = str(caught.value)
    assert message.startswith(f"fashion_mnist is not prepared in {tmp_path / 'data'}")
    assert "name resolution" in message
    assert "dataset-fashion-mnist" in message
    assert "KERAS_CANON_FASHION_MNIST" in message
    assert "\n" not in message
    assert connections


def test_b50_a_network_that_never_answers_is_given_up(tmp_path, monkeypatch):
    release = threading.Event()

    def wait(*arguments, **keywords):
        release.wait(60)
        raise TimeoutError

    monkeypatch.setattr(fashion_mnist, "PACKAGED", tmp_path / "nowhere")
    monkeypatch.setattr(network.urllib.request, "urlopen", wait)
    monkeypatch.setattr(fashion_mnist, "unreachable", lambda url: network.unreachable(url, seconds=0.2))
    with pytest.raises(CanonError, match=r"no answer within 0\.2 s"):
        load("fashion_mnist", data_dir=tmp_path / "data")
    release.set()
    assert network.SECONDS < 10


@pytest.mark.parametrize(("code", "answer"), [(403, None), (405, None), (501, None), (404, "why")])
def test_a_server_that_answers_no_head_is_there(code, answer, monkeypatch):
    def refuse(request, timeout):
        with urllib.error.HTTPError(request.full_url, code, "why", Message(), None) as error:
            raise error

    monkeypatch.setattr(network.urllib.request, "urlopen", refuse)
    assert network.unreachable("https://example.org/x") == answer


def test_environment_names_another_folder(files, tmp_path, monkeypatch):
    monkeypatch.setattr(fashion_mnist, "PACKAGED", tmp_path / "nowhere")
    monkeypatch.setenv("KERAS_CANON_FASHION_MNIST", str(files))
    assert len(load("fashion_mnist", data_dir=tmp_path / "data").test) == 50


def test_environment_names_a_folder_that_lacks_a_file(files, tmp_path, monkeypatch):
    (files / "t10k-labels-idx1-ubyte.gz").unlink()
    monkeypatch.setenv("KERAS_CANON_FASHION_MNIST", str(files))
    with pytest.raises(CanonError, match=r"which lacks t10k-labels-idx1-ubyte\.gz"):
        load("fashion_mnist", data_dir=tmp_path / "data")


def test_b50_a_changed_file_is_refused_with_both_hashes_and_a_retry_works(files, tmp_path):
    path = files / "train-labels-idx1-ubyte.gz"
    good = path.read_bytes()
    path.write_bytes(gzip.compress(b"another content"))
    with pytest.raises(CanonError, match=r"unpacked SHA-256 should be [0-9a-f]{64} and is [0-9a-f]{64}"):
        load("fashion_mnist", data_dir=tmp_path / "data")
    path.write_bytes(good)
    assert len(load("fashion_mnist", data_dir=tmp_path / "data").test) == 50


def test_a_truncated_file_is_refused(files, tmp_path):
    path = files / "train-images-idx3-ubyte.gz"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(CanonError, match=r"train-images-idx3-ubyte\.gz cannot be unpacked"):
        load("fashion_mnist", data_dir=tmp_path / "data")


@pytest.mark.slow
def test_the_whole_set(tmp_path):
    load("fashion_mnist", data_dir=tmp_path)
    start = time.perf_counter()
    dataset = load("fashion_mnist", data_dir=tmp_path)
    assert time.perf_counter() - start < 10
    assert {name: len(split) for name, split in dataset.splits.items()} == {"train": 54000, "validation": 6000, "test": 10000}
    assert set(dataset.facts["counts"]["train"].values()) == {5400}
    assert set(dataset.facts["counts"]["validation"].values()) == {600}
    contents = [set(digests_of(split.store.images[split.rows])) for split in dataset.splits.values()]
    assert sum(map(len, contents)) == len(set.union(*contents)) == 70000
