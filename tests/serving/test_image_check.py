"""Damaged images: refused in the same words whether the signature met them or the check before it, and without a trace."""

import base64
import ctypes
import gc
import sys

import numpy as np
import pytest
from checks.serving import encode

from keras_canon import serving
from keras_canon.serving import image_check
from keras_canon.serving.batching import _ErrorsTo, _Job
from keras_canon.serving.errors import RequestError
from keras_canon.serving.image_check import ImageCheck

PICTURE = np.random.default_rng(0).integers(0, 256, (24, 24, 3), dtype="uint8")
KINDS = ("PNG", "JPEG", "GIF", "BMP", "WEBP")


@pytest.mark.parametrize("kind", KINDS)
def test_whole_images_pass_and_cut_ones_do_not(kind):
    whole = encode(PICTURE, kind)
    check = ImageCheck()
    assert check.first_bad([whole, whole]) is None
    assert check.first_bad([whole, whole[: len(whole) // 2], b""]) == 1


def test_a_header_whose_bytes_are_no_text_is_refused():
    damaged = base64.b64decode("Qk32BgAAAAAAADYAAGt2a/n4FlYSf4CmlQ==")
    assert ImageCheck().first_bad([damaged]) == 0


def test_images_are_looked_at_only_while_damaged_ones_came_lately(monkeypatch):
    monkeypatch.setattr(image_check, "_WARY_FOR", 3)
    whole, check = encode(PICTURE, "PNG"), ImageCheck()
    assert check.bad_before_use([b"no image"]) is None
    assert check.first_bad([b"no image"]) == 0
    assert check.bad_before_use([whole, b"no image"]) == 1
    assert check.bad_before_use([whole, whole]) is None
    assert check.bad_before_use([whole]) is None
    assert check.bad_before_use([b"no image"]) is None


def test_the_signature_runs_once_for_many_damaged_images(models, monkeypatch):
    servable = serving.load(models / "lenet5")
    whole, calls, compute = encode(PICTURE, "PNG"), [], servable._compute
    monkeypatch.setattr(servable, "_compute", lambda *args: calls.append(1) or compute(*args))
    messages = set()
    for _ in range(4):
        with pytest.raises(RequestError) as caught:
            servable.predict([whole, whole[:40]])
        messages.add(str(caught.value))
    assert messages == {"Input 'images_bytes' must hold JPEG, PNG, GIF, BMP or WebP images, got 40 bytes that are none as item 1."}
    assert len(calls) == 1
    assert servable.predict([whole])["probabilities"].shape == (1, 10)


def test_a_refused_request_is_forgotten_at_once():
    job = _Job({}, 1, None)
    gc.collect()
    gc.disable()
    try:
        with _ErrorsTo([job]):
            raise RequestError("no") from ValueError("inside")
        error = job.future.exception()
        assert error.__traceback__ is error.__cause__ is error.__context__ is None
    finally:
        gc.enable()


@pytest.mark.skipif(sys.platform != "linux", reason="memory in use is asked from glibc")
def test_damaged_images_leave_nothing_behind():
    class Use(ctypes.Structure):
        # of <malloc.h>
        _names = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"
        _fields_ = [(name, ctypes.c_size_t) for name in _names.split()]

    library = ctypes.CDLL(None)
    if not hasattr(library, "mallinfo2"):
        pytest.skip("this C library does not say how much memory is in use")
    library.mallinfo2.restype = Use
    check, damaged = ImageCheck(), encode(PICTURE, "JPEG")[:-100]
    for _ in range(50):
        check.first_bad([damaged])
    gc.collect()
    before = library.mallinfo2().uordblks
    for _ in range(500):
        assert check.first_bad([damaged]) == 0
    gc.collect()
    # a failed execution outside of a session leaves 700 bytes or more
    assert library.mallinfo2().uordblks - before < 500 * 200
