"""Published weights: fetched whole or not at all, compared with their hash, and loaded by tag."""

import dataclasses
import functools
import hashlib
import http.server
import sys
import threading
import types
import warnings
from pathlib import Path

import keras
import numpy as np
import pytest
from checks.applications import randomize

from keras_canon import zoo
from keras_canon.zoo import families, registry
from keras_canon.zoo import fetch as fetching
from keras_canon.zoo.fetch import cached_path, fetch

CONTENT = b"weights, for all that the network knows" * 50
SHA256 = hashlib.sha256(CONTENT).hexdigest()
MD5 = hashlib.md5(CONTENT).hexdigest()


class Server:
    """A web server on this machine that answers every request with `content` and says it is `length` bytes long."""

    def __init__(self):
        self.content, self.length, self.status, self.requests = CONTENT, None, 200, 0
        owner = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                owner.requests += 1
                self.send_response(owner.status)
                self.send_header("Content-Length", str(owner.length or len(owner.content)))
                self.end_headers()
                self.wfile.write(owner.content)

            def log_message(self, *arguments):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def server():
    server = Server()
    yield server
    server.close()


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("KERAS_HOME", str(tmp_path / "home"))
    return tmp_path / "home" / "models"


def record(url: str, digest: str = f"sha256:{SHA256}", **changes) -> zoo.WeightsRecord:
    values = {
        "tag": "test",
        "url": url,
        "hash": digest,
        "licence": "CC0-1.0",
        "format": "canon",
        "preprocessing": zoo.Preprocessing((32, 32), channels=1, mean=(0.25,), std=(0.5,)),
    }
    return zoo.WeightsRecord(**{**values, **changes})


def left(home: Path) -> list[str]:
    return sorted(path.name for path in home.glob("*")) if home.is_dir() else []


@pytest.mark.parametrize("digest", [f"sha256:{SHA256}", f"md5:{MD5}"])
def test_a_file_is_fetched_once(server, home, digest):
    wanted = record(f"{server.url}/folder/file.bin", digest)
    path = fetch(wanted, "some_model")
    assert path == home / "file.bin" == cached_path(wanted.url)
    assert path.read_bytes() == CONTENT
    assert fetch(wanted, "some_model") == path
    assert server.requests == 1
    assert left(home) == ["file.bin"]


def test_a_local_address(tmp_path, home):
    (tmp_path / "file.bin").write_bytes(CONTENT)
    assert fetch(record((tmp_path / "file.bin").as_uri()), "some_model") == home / "file.bin"


def test_a_wrong_file_that_was_put_there_by_hand_stays_until_the_right_one_comes(tmp_path, home):
    wanted = record((tmp_path / "file.bin").as_uri())
    home.mkdir(parents=True)
    (home / "file.bin").write_bytes(b"mine")
    found = hashlib.sha256(b"mine").hexdigest()
    with pytest.raises(zoo.CanonError, match=f"has sha256 {found}, expected {SHA256}, and no other could be fetched") as caught:
        fetch(wanted, "some_model")
    assert str(home / "file.bin") in str(caught.value)
    assert (home / "file.bin").read_bytes() == b"mine"
    (tmp_path / "file.bin").write_bytes(CONTENT)
    assert fetch(wanted, "some_model").read_bytes() == CONTENT


def test_a_wrong_file_is_refused_and_removed_and_the_next_try_works(server, home):
    wanted = record(f"{server.url}/file.bin")
    server.content = b"something else"
    got = hashlib.sha256(server.content).hexdigest()
    with pytest.raises(zoo.CanonError, match=f"'test' of 'some_model' from .* has sha256 {got}, expected {SHA256}: it was removed"):
        fetch(wanted, "some_model")
    assert left(home) == []
    server.content = CONTENT
    assert fetch(wanted, "some_model").read_bytes() == CONTENT


@pytest.mark.parametrize("digest", [f"sha256:{SHA256}", ""])
def test_a_file_that_is_cut_short_is_refused_and_removed(server, home, digest):
    server.length = len(CONTENT) + 100
    with pytest.raises(zoo.CanonError, match=r"was cut short after 1,950 of 2,050 bytes: it was removed"):
        fetch(record(f"{server.url}/file.bin", digest), "some_model")
    assert left(home) == []


def test_a_damaged_file_in_the_cache_is_fetched_again(server, home):
    home.mkdir(parents=True)
    (home / "file.bin").write_bytes(CONTENT[:10])
    assert fetch(record(f"{server.url}/file.bin"), "some_model").read_bytes() == CONTENT


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/file.bin", "file:///nowhere/file.bin", "nonsense://host/file.bin"])
def test_offline_says_where_to_put_the_file(url, home):
    with pytest.raises(zoo.CanonError, match=r"'test' of 'some_model' could not be fetched") as caught:
        fetch(record(url), "some_model")
    message = str(caught.value)
    assert str(home / "file.bin") in message
    assert "give the path of your copy as weights" in message
    assert "\n" not in message
    assert left(home) == []
    # which then works without the network
    (home / "file.bin").write_bytes(CONTENT)
    assert fetch(record(url), "some_model") == home / "file.bin"


def test_a_status_that_is_no_success(server, home):
    server.status = 404
    with pytest.raises(zoo.CanonError, match=r"could not be fetched.*404"):
        fetch(record(f"{server.url}/file.bin"), "some_model")
    assert left(home) == []


def test_a_silent_server_is_not_waited_for_without_limit(monkeypatch):
    import socket

    monkeypatch.setattr(fetching, "TIMEOUT", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/file.bin"
        with pytest.raises(zoo.CanonError, match=r"could not be fetched.*timed out"):
            fetch(record(url), "some_model")


def test_an_interrupt_leaves_nothing(server, home, monkeypatch):
    def interrupt(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(fetching, "_copy", interrupt)
    with pytest.raises(KeyboardInterrupt):
        fetch(record(f"{server.url}/file.bin"), "some_model")
    assert left(home) == []


def test_a_folder_that_cannot_be_written(server, tmp_path, monkeypatch):
    (tmp_path / "a_file").write_bytes(b"")
    monkeypatch.setenv("KERAS_HOME", str(tmp_path / "a_file"))
    with pytest.raises(zoo.CanonError, match="set KERAS_HOME to a folder of yours"):
        fetch(record(f"{server.url}/file.bin"), "some_model")


def test_without_a_published_hash_the_first_file_is_told_and_later_ones_are_held_to_it(server, home):
    wanted = record(f"{server.url}/file.bin", "")
    with pytest.warns(UserWarning, match=f"No hash is published for the weights 'test' of 'some_model' .* sha256 {SHA256}"):
        path = fetch(wanted, "some_model")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fetch(wanted, "some_model") == path
    path.write_bytes(b"changed")
    server.content = b"changed at the source too"
    with pytest.raises(zoo.CanonError, match=f"expected {SHA256}"):
        fetch(wanted, "some_model")


@pytest.mark.parametrize("digest", ["sha1:abc", "md5:abc", f"sha256:{MD5}", SHA256])
def test_a_record_says_which_hash_it_is(digest):
    with pytest.raises(ValueError, match="hash must be md5: with 32 digits or sha256: with 64"):
        record("http://host/file", digest)


# ---- the Hugging Face hub


def hub(monkeypatch, answer):
    module = types.ModuleType("huggingface_hub")
    module.__spec__ = types.SimpleNamespace(name="huggingface_hub")
    module.hf_hub_download = answer
    monkeypatch.setitem(sys.modules, "huggingface_hub", module)


def test_hub_files_come_through_its_client_where_that_is_installed(tmp_path, monkeypatch):
    def answer(repo_id, filename):
        assert (repo_id, filename) == ("owner/repository", "folder/model.safetensors")
        (tmp_path / "blob").write_bytes(CONTENT)
        return str(tmp_path / "blob")

    hub(monkeypatch, answer)
    wanted = record("hf://owner/repository/folder/model.safetensors")
    assert fetch(wanted, "some_model") == tmp_path / "blob"
    with pytest.raises(zoo.CanonError, match=f"has sha256 {SHA256}, expected {'0' * 64}: it was removed"):
        fetch(dataclasses.replace(wanted, hash=f"sha256:{'0' * 64}"), "some_model")
    assert not (tmp_path / "blob").exists()


def test_hub_errors_are_one_sentence(monkeypatch, home):
    def answer(repo_id, filename):
        raise OSError("no such repository\nand more")

    hub(monkeypatch, answer)
    with pytest.raises(zoo.CanonError, match=r"could not be fetched from hf://owner/name/file \(no such repository\)") as caught:
        fetch(record("hf://owner/name/file"), "some_model")
    assert str(home / "owner--name--file") in str(caught.value)
    home.mkdir(parents=True)
    (home / "owner--name--file").write_bytes(CONTENT)
    assert fetch(record("hf://owner/name/file"), "some_model") == home / "owner--name--file"


def test_hub_files_without_its_client_are_a_plain_download(monkeypatch, home):
    asked = []

    def refuse(url, timeout):
        asked.append(url)
        raise OSError("no network")

    monkeypatch.setattr(fetching.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(fetching, "urlopen", refuse)
    with pytest.raises(zoo.CanonError, match="no network"):
        fetch(record("hf://owner/name/file.safetensors"), "some_model")
    assert asked == ["https://huggingface.co/owner/name/resolve/main/file.safetensors"]


# ---- by tag


def publish(monkeypatch, variant: str, *records: zoo.WeightsRecord) -> None:
    row = dataclasses.replace(zoo.info(variant), weights=records)
    known = {**families.rows(), variant: row}
    monkeypatch.setattr(registry, "rows", lambda: known)


@pytest.fixture
def published(tmp_path, monkeypatch) -> zoo.Model:
    """LeNet with published weights `test`."""
    source = zoo.create("lenet5_modern")
    source.save_weights(tmp_path / "lenet.weights.h5")
    digest = hashlib.sha256((tmp_path / "lenet.weights.h5").read_bytes()).hexdigest()
    publish(monkeypatch, "lenet5_modern", record((tmp_path / "lenet.weights.h5").as_uri(), f"sha256:{digest}", labels="imagenet"))
    names = tuple(f"digit {n}" for n in range(10))
    monkeypatch.setattr("keras_canon.zoo.pretrained.class_names", lambda name: names)
    return source


def test_create_with_a_tag(published, tmp_path):
    model = zoo.create("lenet5_modern", weights="test")
    for one, other in zip(model.weights, published.weights, strict=True):
        np.testing.assert_array_equal(np.asarray(one), np.asarray(other))
    assert model.record.weights == "test"
    assert model.record.labels[3] == "digit 3"
    assert model.record.preprocessing.mean == (0.25,)
    model.save(tmp_path / "model.keras")
    assert zoo.load_model(tmp_path / "model.keras").record == model.record
    assert zoo.list_models("lenet5_modern", pretrained=True) == ["lenet5_modern"]


def test_create_with_a_tag_for_other_classes_and_channels(published):
    model = zoo.create("lenet5_modern", weights="test", num_classes=4, input_shape=(32, 32, 3))
    np.testing.assert_array_equal(model.get_layer("f6").kernel, published.get_layer("f6").kernel)
    kernel = np.asarray(published.get_layer("c1").kernel)
    np.testing.assert_allclose(model.get_layer("c1").kernel, np.repeat(kernel / 3, 3, axis=2), rtol=1e-6)
    assert model.record.labels == ()
    assert model.record.weights == "test"
    assert (model.record.preprocessing.channels, model.record.preprocessing.mean) == (3, (0.25,))
    backbone = zoo.create("lenet5_modern", weights="test", num_classes=0)
    assert backbone.record.labels == ()
    np.testing.assert_array_equal(backbone.get_layer("f6").kernel, published.get_layer("f6").kernel)


def test_an_unknown_tag_names_the_known_ones(published):
    with pytest.raises(zoo.CanonError, match="'lenet5_modern' has no published weights 'imagenet': available: test"):
        zoo.create("lenet5_modern", weights="imagenet")


def legacy_names(path: Path, changes: dict[str, str]) -> None:
    """Rename layers in a Keras 2 file, as another process would have numbered them."""
    import h5py

    with h5py.File(path, "a") as file:
        group = file["model_weights"]
        for old, new in changes.items():
            group.move(old, new)
        names = [name.decode() if isinstance(name, bytes) else name for name in group.attrs["layer_names"]]
        group.attrs["layer_names"] = [changes.get(name, name).encode() for name in names]


def test_a_file_of_keras_applications_is_read_by_order_not_by_name(tmp_path, monkeypatch):
    """What keras.applications publishes: an .h5 file whose layer names are those of the process that wrote it."""
    theirs = keras.applications.MobileNet(alpha=0.25, weights=None, classes=7, input_shape=(64, 64, 3), classifier_activation=None)
    randomize(theirs)
    path = tmp_path / "mobilenet.h5"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs.save(path)
    legacy_names(path, {"conv_pw_3": "conv2d_17", "conv_pw_3_bn": "batch_normalization_8"})
    found = zoo.info("mobilenet_v1_025").weights[0]
    digest = hashlib.md5(path.read_bytes()).hexdigest()
    names = tuple("abcdefg")
    monkeypatch.setattr("keras_canon.zoo.pretrained.class_names", lambda name: names)
    publish(monkeypatch, "mobilenet_v1_025", dataclasses.replace(found, url=path.as_uri(), hash=f"md5:{digest}"))
    ours = zoo.create("mobilenet_v1_025", weights="imagenet", num_classes=7, input_shape=(64, 64, 3))
    images = np.random.RandomState(0).standard_normal((2, 64, 64, 3)).astype("float32")
    expected = np.asarray(theirs(images, training=False))
    np.testing.assert_allclose(np.asarray(ours(images, training=False)), expected, atol=1e-4 * expected.std())
    assert ours.record.labels == names
    # the same file under another network's name, whose layers are others
    with pytest.raises(zoo.CanonError, match=r"does not hold the weights of keras\.applications\.MobileNetV2 with its head"):
        zoo.load_weights(zoo.create("mobilenet_v2", num_classes=7, input_shape=(64, 64, 3)), path)


def test_class_names():
    names = zoo.class_names("imagenet")
    assert len(names) == 1000
    assert (names[0], names[1], names[999]) == ("tench", "goldfish", "toilet tissue")
    assert len(set(names)) == 1000
    with pytest.raises(zoo.CanonError, match=r"no list of class names 'imagenet21k'.*'imagenet'"):
        zoo.class_names("imagenet21k")


# ---- the records themselves

RECORDS = [(name, one) for name in zoo.list_models(pretrained=True) for one in zoo.info(name).weights]
IMAGE_RECORDS = [(name, one) for name, one in RECORDS if one.preprocessing is not None and one.labels == "imagenet"]
CAFFE = ("vgg", "resnet5", "resnet1")
TENSORFLOW = ("inception", "xception", "mobilenet")


@pytest.mark.parametrize(("name", "one"), RECORDS, ids=lambda value: value if isinstance(value, str) else value.tag)
def test_records_are_complete(name, one):
    row = zoo.info(name)
    formats = {conversion.format for conversion in families.conversions(row.family) if name in conversion.variants}
    assert one.format in formats | ({"canon"} if one.url.startswith("package://") else set())
    assert one.licence
    assert (one.preprocessing is not None) == (row.task == "image-classification")
    if one.preprocessing is not None:
        assert (one.num_classes or row.num_classes) == len(zoo.class_names(one.labels))
        assert one.preprocessing.size == (one.input_shape or row.input_shape)[:2]
    if one.url.startswith("package://"):
        assert one.training is not None
        assert one.hash.startswith("sha256:")
    elif one.url.startswith("hf://"):
        assert one.url.endswith(".safetensors")
        assert not one.application
    else:
        assert one.url.startswith("https://storage.googleapis.com/")
        assert callable(getattr(keras.applications, one.application))


@functools.cache
def published_by_keras() -> str:
    """The source text of keras.applications, which lists the addresses and hashes."""
    folder = Path(keras.__file__).parent / "src" / "applications"
    return "\n".join(path.read_text(encoding="utf-8") for path in folder.glob("*.py"))


@pytest.mark.parametrize(("name", "one"), RECORDS, ids=lambda value: value if isinstance(value, str) else value.tag)
def test_hashes_are_those_that_keras_lists(name, one):
    if one.application:
        digest = one.hash.partition(":")[2]
        assert digest in published_by_keras()
        assert bool(digest) != name.startswith(("mobilenet_v1", "mobilenet_v2"))


@pytest.fixture(scope="module")
def white_pictures(tmp_path_factory):
    """A white picture through a preprocessing, from an array and from a file in a data set; once for all records of the same."""
    import tensorflow as tf

    path = tmp_path_factory.mktemp("white") / "white.png"
    white = np.full((40, 40, 3), 255, "uint8")
    path.write_bytes(tf.io.encode_png(white).numpy())
    data = tf.data.Dataset.from_tensors(str(path)).map(tf.io.read_file).map(zoo.decode_image)

    @functools.cache
    def prepared(preprocessing):
        from_array = zoo.apply_preprocessing(white, preprocessing).numpy()
        (from_data,) = data.map(lambda image: zoo.apply_preprocessing(image, preprocessing)).as_numpy_iterator()
        return from_array, from_data

    return prepared


@pytest.mark.parametrize(("name", "one"), IMAGE_RECORDS, ids=lambda value: value if isinstance(value, str) else value.tag)
def test_b17_a_white_pixel_through_the_documented_preprocessing(name, one, white_pictures):
    """Caffe's form, TensorFlow's or torch's, the same from an array, a file and a data set."""
    from_array, from_data = white_pictures(one.preprocessing.fitted((32, 32, 3)))
    keras_style = one.application and name.startswith(CAFFE) and "_v2" not in name
    if keras_style:
        expected = [151.061, 138.221, 131.32]
    elif name.startswith(TENSORFLOW) or "_v2_keras" in name or name in ("vit_base_16", "vit_base_32", "vit_large_16"):
        expected = [1.0, 1.0, 1.0]
    else:
        expected = [2.2489, 2.4286, 2.64]
    np.testing.assert_allclose(from_array[16, 16], expected, atol=1e-3)
    np.testing.assert_allclose(from_data, from_array, atol=1e-6)


def test_b17_images_that_were_scaled_already_are_warned_about_by_name():
    model = zoo.create("resnet18", num_classes=2, input_shape=(32, 32, 3), overrides={"blocks_per_stage": [1, 1, 1, 1], "widths": [4] * 4})
    white = np.full((32, 32, 3), 255, "uint8")
    with pytest.warns(UserWarning, match="'resnet18' have values up to 1"):
        zoo.preprocess(white / 255.0, model)
