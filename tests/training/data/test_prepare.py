import hashlib
import http.server
import subprocess
import sys
import threading

import numpy as np
import pytest
import tensorflow_datasets as tfds
from tensorflow_datasets.core.download.checksums import UrlInfo

from keras_canon.training.data import load
from keras_canon.training.data.prepare import prepare, read
from keras_canon.zoo import CanonError

SMALL = "synthetic:classes=2,size=8,examples=40"
URL = "http://pictures.invalid/numbers.txt"
CONTENT = b"3 1 4 1 5"


class Numbers(tfds.core.GeneratorBasedBuilder, skip_registration=True):
    """Downloads one file of numbers."""

    VERSION = tfds.core.Version("1.0.0")
    url_infos = {URL: UrlInfo(size=len(CONTENT), checksum=hashlib.sha256(CONTENT).hexdigest(), filename="numbers.txt")}

    def _info(self):
        features = tfds.features.FeaturesDict({"number": tfds.features.Scalar(dtype=np.int64)})
        return tfds.core.DatasetInfo(builder=self, description="Numbers.", features=features, disable_shuffling=True)

    def _split_generators(self, dl_manager):
        return {"train": self._generate_examples(dl_manager.download(URL))}

    def _generate_examples(self, path):
        for row, number in enumerate(path.read_text().split()):
            yield row, {"number": int(number)}


class Raced(Numbers, skip_registration=True):
    """While it writes, another one prepares the same data and is done first."""

    def __init__(self, *, data_dir, other):
        self._other = other
        super().__init__(data_dir=data_dir)

    def _split_generators(self, dl_manager):
        return {"train": self._generate_examples(None)}

    def _generate_examples(self, path):
        if self._other:
            Raced(data_dir=self._data_dir_root, other=False).download_and_prepare(download_dir=self._data_dir)
        yield 0, {"number": 7}


@pytest.fixture
def server(monkeypatch):
    """A proxy that answers every request with `server.content`."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_HEAD(self):
            self.send_response(200)
            self.send_header("Content-Length", str(len(self.server.content)))
            self.end_headers()

        def do_GET(self):
            self.do_HEAD()
            self.wfile.write(self.server.content)

        def log_message(self, format, *arguments):
            self.server.requests.append(format % arguments)

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        running.content, running.requests = CONTENT, []
        threading.Thread(target=running.serve_forever, daemon=True).start()
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{running.server_port}")
        yield running
        running.shutdown()


def numbers(data_dir):
    builder = prepare(lambda: Numbers(data_dir=str(data_dir)), "numbers", str(data_dir))
    return [number for batch in read(builder, "train") for number in batch["number"].numpy().tolist()]


def leftovers(folder):
    return [path.name for path in folder.rglob("*") if path.name.startswith(("incomplete", ".")) or path.name == "downloads"]


def test_b50_wrong_hash_gives_both_hashes_leaves_nothing_and_a_retry_works(server, tmp_path):
    server.content = b"9 9 9 9 9"
    with pytest.raises(CanonError) as caught:
        numbers(tmp_path)
    message = str(caught.value)
    assert hashlib.sha256(CONTENT).hexdigest() in message
    assert hashlib.sha256(server.content).hexdigest() in message
    assert "\n" not in message
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    server.content = CONTENT
    assert numbers(tmp_path) == [3, 1, 4, 1, 5]
    assert leftovers(tmp_path) == []


def test_prepared_once(server, tmp_path):
    assert numbers(tmp_path) == [3, 1, 4, 1, 5]
    asked = len(server.requests)
    assert numbers(tmp_path) == [3, 1, 4, 1, 5]
    assert len(server.requests) == asked


def test_the_second_of_two_takes_what_the_first_made(tmp_path):
    builder = prepare(lambda: Raced(data_dir=str(tmp_path), other=True), "numbers", str(tmp_path))
    assert [batch["number"].numpy().tolist() for batch in read(builder, "train")] == [[7]]
    assert leftovers(tmp_path) == []


@pytest.mark.slow
def test_two_processes_at_once(tmp_path):
    program = f"from keras_canon.training.data import load; print(len(load({SMALL!r}, data_dir={str(tmp_path)!r}).train))"
    running = [
        subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)
    ]
    answers = [process.communicate(timeout=120) for process in running]
    assert [answer[0] for answer in answers] == ["29\n", "29\n"], answers
    assert len(load(SMALL, data_dir=tmp_path).train) == 29
    assert leftovers(tmp_path) == []


def test_b50_one_changed_byte_in_any_prepared_file_is_noticed(tmp_path):
    folder = load(SMALL, data_dir=tmp_path).facts["prepared_in"]
    files = sorted(path for path in (tmp_path / folder).iterdir() if path.stat().st_size)
    assert len(files) >= 5
    for path in files:
        good = path.read_bytes()
        middle = len(good) // 2
        path.write_bytes(good[:middle] + bytes([good[middle] ^ 1]) + good[middle + 1 :])
        with pytest.raises(CanonError, match="is damaged") as caught:
            load(SMALL, data_dir=tmp_path)
        assert str(tmp_path) in str(caught.value)
        path.write_bytes(good)
    assert len(load(SMALL, data_dir=tmp_path).train) == 29


def test_a_record_damaged_where_no_sums_exist_is_noticed(tmp_path):
    folder = tmp_path / load(SMALL, data_dir=tmp_path).facts["prepared_in"]
    (folder / "SHA256SUMS").unlink()
    record = next(folder.glob("*train.tfrecord*"))
    content = bytearray(record.read_bytes())
    content[len(content) // 2] ^= 1
    record.write_bytes(content)
    with pytest.raises(CanonError, match="is damaged"):
        load(SMALL, data_dir=tmp_path)


def test_prepared_data_without_metadata_are_noticed(tmp_path):
    folder = tmp_path / load(SMALL, data_dir=tmp_path).facts["prepared_in"]
    (folder / "dataset_info.json").unlink()
    with pytest.raises(CanonError, match="is damaged"):
        load(SMALL, data_dir=tmp_path)


def test_environment_names_the_data_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("KERAS_CANON_DATA", str(tmp_path / "here"))
    assert load(SMALL).facts["prepared_in"].startswith(str(tmp_path / "here"))


def test_a_file_in_place_of_the_data_folder_is_one_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(CanonError, match="KERAS_CANON_DATA"):
        load(SMALL, data_dir=tmp_path / "file")


def test_nothing_is_printed(tmp_path, capfd):
    load(SMALL, data_dir=tmp_path)
    printed = capfd.readouterr()
    assert printed.out == ""
    assert [line for line in printed.err.splitlines() if "tfds" in line.lower() or "dataset" in line.lower()] == []


def test_tfds_shows_its_bars_again_afterwards(tmp_path):
    from tensorflow_datasets.core.utils import tqdm_utils

    before = tqdm_utils._active
    load(SMALL, data_dir=tmp_path)
    assert tqdm_utils._active == before
