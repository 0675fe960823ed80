import doctest
import threading

import numpy as np
import pytest
import requests

import keras_canon.serving.inspection
import keras_canon.serving.saved_model
import keras_canon.serving.servable
import keras_canon.serving.server
from keras_canon import serving
from keras_canon.serving.errors import RequestError


def test_a_folder_means_its_newest_version(models):
    assert serving.load(models / "lenet5").bundle.version == 2
    assert serving.load(str(models / "lenet5" / "1")).bundle.version == 1


def test_labels_and_signatures(servable):
    assert servable.labels == tuple("0123456789")
    assert sorted(servable.signatures) == ["bytes", "features", "serving_default"]


@pytest.mark.parametrize(
    ("inputs", "signature", "message"),
    [
        (np.zeros((1, 32, 32)), None, r"'images' must have shape \(\?, 32, 32, 1\), with \? for any length, got \(1, 32, 32\)"),
        (np.zeros((1, 32, 32, 1)), "classify", r"no signature 'classify': allowed: bytes, features, serving_default"),
        ({"image": np.zeros((1, 32, 32, 1))}, None, "needs exactly the inputs 'images', got 'image'"),
        ([b"no image", b"x"], None, r"'images_bytes' must hold JPEG, PNG, GIF, BMP or WebP images, got 8 bytes that are none as item 0"),
    ],
)
def test_wrong_inputs_are_one_sentence(servable, inputs, signature, message):
    with pytest.raises(RequestError, match=message) as caught:
        servable.predict(inputs, signature)
    assert "\n" not in str(caught.value)


def test_several_inputs_need_names(models):
    with pytest.raises(RequestError, match="has the inputs count, signal: give a mapping"):
        serving.load(models / "pair").predict(np.zeros((1, 2)))


def test_threads_get_their_own_answers(servable, images):
    expected = servable.predict(images)["logits"]
    failures = []

    def ask(row):
        for _ in range(20):
            got = servable.predict(images[row : row + 1])["logits"][0]
            if not np.allclose(got, expected[row], rtol=1e-5):
                failures.append(row)

    threads = [threading.Thread(target=ask, args=(row,)) for row in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


@pytest.mark.parametrize("module", ["inspection", "saved_model", "servable", "server", "text_signatures"])
def test_examples(module, tmp_path, models):
    folder = tmp_path if module in ("saved_model", "text_signatures") else models
    result = doctest.testmod(getattr(keras_canon.serving, module), globs={"folder": folder, "np": np, "requests": requests})
    assert result.attempted > 0
    assert result.failed == 0
