import struct

import numpy as np
import pytest
from checks.serving import encode

from keras_canon.serving import Limits
from keras_canon.serving.errors import RequestError
from keras_canon.serving.limits import Intake
from keras_canon.serving.picture_sizes import count_pixels
from keras_canon.zoo import CanonError

PICTURE = np.zeros((20, 30, 3), "uint8")


KINDS = ["PNG", "JPEG", "GIF", "BMP", "WEBP"]


@pytest.mark.parametrize("kind", KINDS)
def test_pixels_are_read_from_the_header(kind):
    data = encode(PICTURE, kind)
    assert count_pixels(data) == 600
    assert count_pixels(data[: len(data) // 2] if kind != "JPEG" else data) in (0, 600)


def test_progressive_jpeg_and_many_frames(tmp_path):
    from PIL import Image

    picture = Image.fromarray(PICTURE)
    picture.save(tmp_path / "a.jpg", progressive=True, exif=b"Exif\x00\x00" + b"\x00" * 5000)
    assert count_pixels((tmp_path / "a.jpg").read_bytes()) == 600
    others = [Image.fromarray(PICTURE + shade).quantize() for shade in range(50, 250, 50)]
    picture.quantize().save(tmp_path / "a.gif", save_all=True, append_images=others)
    assert count_pixels((tmp_path / "a.gif").read_bytes()) == 5 * 600
    others = [Image.fromarray(PICTURE + shade) for shade in range(50, 250, 50)]
    for lossless in (False, True):
        picture.save(tmp_path / "a.webp", lossless=lossless)
        assert count_pixels((tmp_path / "a.webp").read_bytes()) == 600
        picture.save(tmp_path / "b.webp", save_all=True, append_images=others, lossless=lossless)
        assert count_pixels((tmp_path / "b.webp").read_bytes()) == 5 * 600


def test_a_file_made_to_be_walked_through_for_ever_is_not():
    """Megabytes of markers without an image: what is looked at grows with the file, not with its square."""
    assert count_pixels(b"\xff\xd8\xff\xd0" + b"\x00\xff\xd0" * 300_000) == 0
    assert count_pixels(b"RIFF\x00\x00\x00\x00WEBP" + bytes(800_000)) == 0


def bomb_png():
    """The header of a PNG of 65,535 x 65,535 pixels; decoded it would be 12 GiB."""
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sIIBBBBBI", 13, b"IHDR", 65535, 65535, 8, 2, 0, 0, 0, 0)


@pytest.mark.parametrize(
    "data", [b"", b"\xff\xd8\xff", b"\xff\xd8\xff\xe0", b"GIF8", b"BM", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff" * 9, b"text"]
)
def test_what_is_no_image_has_no_pixels(data):
    assert count_pixels(data) == 0


def test_every_cut_and_every_changed_byte_is_counted_without_an_error():
    rng = np.random.default_rng(5)
    for kind in KINDS:
        data = encode(PICTURE, kind)
        for end in range(0, len(data), 7):
            assert count_pixels(data[:end]) >= 0
            changed = bytearray(data)
            changed[int(rng.integers(len(data)))] = int(rng.integers(256))
            assert count_pixels(bytes(changed)) >= 0


def test_too_many_pixels_or_rows_are_refused_by_number():
    limits = Limits(max_megapixels=1.0, max_rows=3)
    images = np.array([encode(PICTURE), bomb_png()], dtype=object)
    with pytest.raises(RequestError, match=r"4294\.8 million pixels as item 1, and 1 million are allowed"):
        limits.check_arrays({"images_bytes": images})
    limits.check_arrays({"images_bytes": images[:1], "text": images})
    with pytest.raises(RequestError, match="'x' has 4 rows, and 3 are allowed"):
        limits.check_arrays({"x": np.zeros((4, 1))})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_body_mb": 0}, "max_body_mb must be above 0, got 0"),
        ({"max_body_mb": float("nan")}, "max_body_mb must be above 0, got nan"),
        ({"max_rows": 2.5}, "max_rows must be a whole number, got 2.5"),
        ({"timeout_s": "1"}, "timeout_s must be a number, got '1'"),
        ({"max_wait_ms": -1}, "max_wait_ms must be above 0, got -1"),
    ],
)
def test_limits_that_make_no_sense(options, message):
    with pytest.raises(CanonError, match=message):
        Limits(**options)


def test_requests_beyond_the_room_are_sent_away():
    intake = Intake(Limits(max_pending=2, max_pending_mb=1))
    with intake.admit() as first, intake.admit():
        with pytest.raises(RequestError, match="2 requests are under way") as caught, intake.admit():
            pass
        assert caught.value.status == 429
        first.hold(2**20)
        with pytest.raises(RequestError, match="hold 1 MiB"):
            first.hold(1)
    assert intake.requests == 0
    with intake.admit() as ticket:
        ticket.hold(2**20)
