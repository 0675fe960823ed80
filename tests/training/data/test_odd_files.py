"""A folder with one picture of every odd kind trains to the end, and the report names the bad ones."""

import io

import numpy as np
import pytest
from PIL import Image

from keras_canon import training
from keras_canon.training.data import load
from keras_canon.training.recipe import load_recipe
from keras_canon.zoo import CanonError

pytestmark = pytest.mark.filterwarnings("ignore:Classes with fewer than 5 training examples:UserWarning")


def encode(picture, kind, **options):
    buffer = io.BytesIO()
    picture.save(buffer, kind, **options)
    return buffer.getvalue()


@pytest.fixture
def odd(tmp_path):
    """Sixteen good files in two classes and four bad ones."""
    generator = np.random.default_rng(0)
    pictures = [Image.fromarray(generator.integers(0, 256, (9 + number, 11, 3), dtype="uint8")) for number in range(16)]
    exif = Image.Exif()
    exif[0x0112] = 6
    clear = Image.fromarray(generator.integers(0, 256, (8, 8, 4), dtype="uint8"))
    deep = Image.fromarray(generator.integers(0, 2**16, (8, 8), dtype="uint16"))
    good = {
        "turned.JPG": encode(pictures[0], "JPEG", exif=exif),
        "print.jpeg": encode(pictures[1].convert("CMYK"), "JPEG"),
        "grey.jpe": encode(pictures[2].convert("L"), "JPEG"),
        "slow.jfif": encode(pictures[3], "JPEG", progressive=True),
        "deep.png": encode(deep, "PNG"),
        "palette.PNG": encode(pictures[4].quantize(16), "PNG"),
        "clear.png": encode(clear, "PNG"),
        "bits.png": encode(pictures[5].convert("1"), "PNG"),
        "moving.gif": encode(pictures[6], "GIF", save_all=True, append_images=[pictures[6].rotate(90)]),
        "plain.bmp": encode(pictures[7], "BMP"),
        "palette.bmp": encode(pictures[8].quantize(16), "BMP"),
        "web.webp": encode(pictures[9], "WEBP"),
        "clear.webp": encode(clear, "WEBP"),
        "moving.webp": encode(pictures[10], "WEBP", save_all=True, append_images=[pictures[10].rotate(90)]),
        "png that is called.jpg": encode(pictures[11], "PNG"),
        "ünicode ✓.png": encode(pictures[12], "PNG"),
    }
    bad = {
        "empty.png": b"",
        "text.jpg": b"no picture",
        "cut.jpg": good["turned.JPG"][:200],
        "packed.bmp": good["palette.bmp"][:30] + (1).to_bytes(4, "little") + good["palette.bmp"][34:],
    }
    for number, (name, content) in enumerate({**good, **bad}.items()):
        path = tmp_path / "photos" / "ab"[number % 2] / f"deeper {number}" / name
        path.parent.mkdir(parents=True)
        path.write_bytes(content)
    return tmp_path / "photos", set(good), set(bad)


def recipe(root):
    changes = {
        "data.name": f"folder:{root}[unreadable=skip]",
        "model.overrides": {},
        "train.epochs": 1,
        "train.batch_size": 4,
    }
    return load_recipe("lenet5_modern_fashion_mnist", changes)


def test_it_trains_to_the_end_and_the_report_names_the_bad_ones(odd, tmp_path):
    root, good, bad = odd
    with pytest.raises(CanonError, match=r"4 pictures in .* cannot be decoded") as caught:
        load(f"folder:{root}")
    assert all(name in str(caught.value) for name in bad)
    with pytest.warns(UserWarning, match="4 pictures .* are left out"):
        result = training.run(recipe(root), tmp_path / "run", verbose=False)
    with pytest.warns(UserWarning, match="4 pictures"):
        data = load(f"folder:{root}[unreadable=skip]")
    assert {identity.rsplit("/", 1)[1] for split in data.splits.values() for identity in split.ids} == good
    assert np.isfinite(result.history["loss"]).all()
    report = (result.folder / "report.md").read_text(encoding="utf-8")
    assert all(name in report for name in bad)
