"""Decoded pixels against Pillow's, in every form in which a photograph comes."""

import io

import numpy as np
import pytest
import tensorflow as tf
from PIL import Image, ImageOps

from keras_canon.zoo import CanonError, Preprocessing, apply_preprocessing, decode_image
from keras_canon.zoo.decoding import compiled_decoder, decoding_problem, picture_size

ROWS, COLUMNS = np.mgrid[:37, :53]
SMOOTH = np.stack([ROWS * 5, COLUMNS * 4, (ROWS + COLUMNS) * 2], -1).astype("uint8")
NOISE = np.random.default_rng(0).integers(0, 256, (37, 53, 4), dtype="uint8")
LEVELS = 2  # what a decoder of another make may differ by; here all are equal


def encode(picture, kind, **options) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, kind, **options)
    return buffer.getvalue()


def orientation(number, order="<"):
    """Return EXIF data with nothing but an orientation; Pillow writes little-endian ones only."""
    exif = Image.Exif()
    exif[0x0112] = number
    if order == "<":
        return exif.tobytes()
    entry = (0x0112).to_bytes(2) + (3).to_bytes(2) + (1).to_bytes(4) + number.to_bytes(2) + b"\0\0"
    return b"Exif\0\0MM\0\x2a\0\0\0\x08\0\x01" + entry + b"\0\0\0\0"


def forms() -> dict[str, bytes]:
    smooth, noise, clear = Image.fromarray(SMOOTH), Image.fromarray(NOISE[..., :3]), Image.fromarray(NOISE)
    few = smooth.quantize(16)
    found = {}
    for name, picture in (("smooth", smooth), ("noise", noise)):
        for quality in (30, 95):
            for sampling in (0, 1, 2):
                found[f"jpeg_{name}_quality{quality}_sampling{sampling}"] = encode(picture, "JPEG", quality=quality, subsampling=sampling)
        found[f"jpeg_{name}_progressive"] = encode(picture, "JPEG", progressive=True)
        found[f"jpeg_{name}_grey"] = encode(picture.convert("L"), "JPEG")
        found[f"jpeg_{name}_cmyk"] = encode(picture.convert("CMYK"), "JPEG")
        found[f"webp_{name}"] = encode(picture, "WEBP")
    for number in range(10):
        found[f"jpeg_orientation{number}"] = encode(smooth, "JPEG", exif=orientation(number))
        found[f"jpeg_orientation{number}_big_endian"] = encode(smooth, "JPEG", exif=orientation(number, ">"))
    found |= {
        "jpeg_orientation6_grey": encode(smooth.convert("L"), "JPEG", exif=orientation(6)),
        "jpeg_orientation6_cmyk": encode(smooth.convert("CMYK"), "JPEG", exif=orientation(6)),
        "jpeg_orientation6_behind_a_profile": encode(smooth, "JPEG", exif=orientation(6), icc_profile=bytes(200_000)),
        "png": encode(noise, "PNG"),
        "png_alpha": encode(clear, "PNG"),
        "png_grey_alpha": encode(clear.convert("LA"), "PNG"),
        "png_grey": encode(noise.convert("L"), "PNG"),
        "png_palette": encode(few, "PNG"),
        "png_palette_transparent": encode(few, "PNG", transparency=3),
        "png_one_bit": encode(noise.convert("1"), "PNG"),
        "gif": encode(noise, "GIF"),
        "gif_animated": encode(noise, "GIF", save_all=True, append_images=[noise.rotate(90)]),
        "bmp": encode(noise, "BMP"),
        "bmp_alpha": encode(clear, "BMP"),
        "bmp_grey": encode(noise.convert("L"), "BMP"),
        "bmp_palette": encode(few, "BMP"),
        "bmp_one_bit": encode(noise.convert("1"), "BMP"),
        "webp_lossless": encode(noise, "WEBP", lossless=True),
        "webp_alpha": encode(clear, "WEBP"),
        "webp_alpha_lossless": encode(clear, "WEBP", lossless=True, exact=True),
        "webp_animated": encode(noise, "WEBP", save_all=True, append_images=[noise.rotate(90)]),
        "webp_animated_alpha": encode(clear, "WEBP", save_all=True, append_images=[clear.rotate(90)]),
    }
    return found


FORMS = forms()


def by_pillow(encoded):
    return np.asarray(ImageOps.exif_transpose(Image.open(io.BytesIO(encoded))).convert("RGB"))


def assert_near(found, expected):
    assert found.dtype == tf.uint8
    assert found.shape == expected.shape
    assert np.abs(found.numpy().astype(int) - expected.astype(int)).max() <= LEVELS


# one of each kind; the others run with `-m slow`
MORE = [name for name in FORMS if "_smooth_" in name or name.endswith(("_big_endian", "_sampling0", "_sampling1"))]
KEPT = {"jpeg_orientation6_big_endian", "jpeg_smooth_cmyk", "jpeg_smooth_grey"}
SORTS = [pytest.param(name, marks=[pytest.mark.slow] if name in MORE and name not in KEPT else []) for name in FORMS]


@pytest.mark.parametrize("name", SORTS)
def test_pixels_are_pillows(name):
    expected = by_pillow(FORMS[name])
    assert_near(compiled_decoder()(tf.constant(FORMS[name])), expected)


@pytest.mark.parametrize("name", ["jpeg_orientation7", "jpeg_smooth_cmyk", "bmp_palette", "webp_animated", "png_alpha", "gif"])
def test_eager_and_pipeline_are_the_same(name):
    encoded = tf.constant(FORMS[name])
    expected = compiled_decoder()(encoded).numpy()
    np.testing.assert_array_equal(decode_image(encoded), expected)
    mapped = next(iter(tf.data.Dataset.from_tensors(encoded).map(decode_image)))
    np.testing.assert_array_equal(mapped, expected)


@pytest.mark.parametrize("name", SORTS)
def test_the_size_without_the_pixels(name):
    assert picture_size(FORMS[name]) == by_pillow(FORMS[name]).shape[:2]


@pytest.mark.parametrize("kind", ["jpeg_noise_quality95_sampling2", "jpeg_noise_progressive", "jpeg_noise_grey", "jpeg_orientation6_cmyk"])
def test_the_size_is_refused_where_the_picture_is(kind):
    whole, random = FORMS[kind], np.random.default_rng(3)
    changed = [whole[:length] for length in [*random.integers(0, len(whole), 60), *range(len(whole) - 12, len(whole))]]
    for position in random.integers(200, len(whole), 60):
        changed.append(whole[:position] + random.bytes(3) + whole[position + 3 :])
    verdicts = []
    for encoded in changed:
        found = []
        for look in (lambda encoded: tuple(compiled_decoder()(tf.constant(encoded)).shape[:2]), picture_size):
            try:
                found.append(look(encoded))
            except tf.errors.OpError:
                found.append("refused")
        verdicts.append(found)
    assert all(one == other for one, other in verdicts), verdicts
    assert any("refused" in found for found in verdicts)


def test_orientations_differ_from_one_another():
    pictures = [compiled_decoder()(tf.constant(FORMS[f"jpeg_orientation{number}"])).numpy() for number in range(1, 9)]
    assert len({picture.tobytes() for picture in pictures}) == 8
    assert [picture.shape[:2] for picture in pictures] == [(37, 53)] * 4 + [(53, 37)] * 4


def test_16_bit_png_keeps_the_upper_byte():
    levels = np.random.default_rng(1).integers(0, 2**16, (9, 7), dtype="uint16")
    found = compiled_decoder()(tf.constant(encode(Image.fromarray(levels), "PNG"))).numpy()
    np.testing.assert_array_equal(found, np.repeat((levels >> 8)[..., None], 3, -1))


def test_4_bit_bmp():
    few = Image.fromarray(SMOOTH).quantize(16)
    numbers, palette = np.asarray(few), np.array(few.getpalette()[:48]).reshape(16, 3)
    padded = np.pad(numbers, ((0, 0), (0, 56 - 53)))[::-1]
    rows = (padded[:, ::2] << 4 | padded[:, 1::2]).astype("uint8").tobytes()
    colours = np.pad(palette[:, ::-1], ((0, 0), (0, 1))).astype("uint8").tobytes()
    size, width, height = 54 + len(colours) + len(rows), (53).to_bytes(4, "little"), (37).to_bytes(4, "little")
    head = b"BM" + size.to_bytes(4, "little") + bytes(4) + (54 + len(colours)).to_bytes(4, "little")
    head += (40).to_bytes(4, "little") + width + height + (1).to_bytes(2, "little") + (4).to_bytes(2, "little") + bytes(24)
    encoded = head + colours + rows
    np.testing.assert_array_equal(by_pillow(encoded), palette[numbers])
    np.testing.assert_array_equal(compiled_decoder()(tf.constant(encoded)), palette[numbers])
    top_down = encoded[:22] + (-37).to_bytes(4, "little", signed=True) + encoded[26:]
    np.testing.assert_array_equal(compiled_decoder()(tf.constant(top_down)), palette[numbers][::-1])


def test_transparent_pixels_of_a_gif_are_black():
    few = Image.fromarray(SMOOTH).quantize(16)
    encoded = encode(few, "GIF", transparency=3)
    clear = Image.open(io.BytesIO(encoded)).convert("RGBA")
    expected = Image.composite(clear, Image.new("RGBA", clear.size, "black"), clear.getchannel("A")).convert("RGB")
    assert_near(compiled_decoder()(tf.constant(encoded)), np.asarray(expected))


@pytest.mark.parametrize("kind", ["jpeg_smooth_grey", "jpeg_orientation6", "png", "gif", "bmp_palette", "webp_alpha", "webp_animated"])
def test_cut_and_broken_files_are_errors_and_no_more(kind):
    whole = FORMS[kind]
    generator = np.random.default_rng(2)
    cuts = [whole[:length] for length in (1, 2, 3, 12, 20, 21, 29, 54, len(whole) // 2)]
    changed = []
    # beyond, a changed byte may claim a width of thousands of pixels, which takes seconds to fill
    for position in generator.integers(0, 22 if kind == "webp_animated" else 80, 20):
        changed.append(whole[:position] + bytes([whole[position] ^ 0xFF]) + whole[position + 1 :])
    outcomes = []
    for encoded in [b"", *cuts, *changed]:
        try:
            outcomes.append(compiled_decoder()(tf.constant(encoded)).shape[-1])
        except tf.errors.OpError as error:
            outcomes.append(decoding_problem(error))
    assert not any("\n" in str(outcome) for outcome in outcomes)
    assert all(isinstance(outcome, str) for outcome in outcomes[:7]), outcomes


@pytest.mark.parametrize("tail", [b"", b"II", b"II*\0\xff\xff\xff\xff", b"MM\0*\xff\xff\xff\xff", b"II*\0\x08\0\0\0\xff\xff", bytes(40)])
def test_broken_exif_leaves_the_picture_as_it_lies(tail):
    encoded = encode(Image.fromarray(SMOOTH), "JPEG")
    payload = b"Exif\0\0" + tail
    broken = encoded[:2] + b"\xff\xe1" + (2 + len(payload)).to_bytes(2) + payload + encoded[2:]
    np.testing.assert_array_equal(compiled_decoder()(tf.constant(broken)), compiled_decoder()(tf.constant(encoded)))


def test_problems_are_one_line():
    for encoded, problem in ((b"no picture", "Unknown image file format"), (FORMS["bmp_palette"][:-5], "Invalid BMP data")):
        for decoder in (compiled_decoder(), decode_image):
            with pytest.raises(tf.errors.InvalidArgumentError) as caught:
                decoder(tf.constant(encoded))
            assert problem in decoding_problem(caught.value)
            assert "\n" not in decoding_problem(caught.value)
            assert "[[" not in decoding_problem(caught.value)


@pytest.mark.parametrize("name", ["jpeg_orientation6", "jpeg_noise_cmyk", "webp_alpha", "bmp_palette"])
def test_the_served_graph_decodes_alike_without_this_package(name, tmp_path):
    record = Preprocessing((53, 37), scale=1.0)

    @tf.function(input_signature=[tf.TensorSpec((None,), "string", name="images_bytes")])
    def serve(encoded):
        return tf.map_fn(lambda item: apply_preprocessing(decode_image(item), record), encoded, fn_output_signature="float32")

    tf.saved_model.save(tf.Module(), str(tmp_path / "saved"), signatures=serve)
    loaded = tf.saved_model.load(str(tmp_path / "saved")).signatures["serving_default"]
    encoded = [FORMS[name], FORMS["jpeg_smooth_progressive"]]
    answers = next(iter(loaded(tf.constant(encoded)).values())).numpy()
    for answer, item in zip(answers, encoded, strict=True):
        np.testing.assert_allclose(answer, apply_preprocessing(by_pillow(item), record), atol=LEVELS)


def test_error_of_preprocess_names_the_file(tmp_path):
    from keras_canon import zoo

    (tmp_path / "cut.jpg").write_bytes(FORMS["jpeg_orientation6"][:100])
    with pytest.raises(CanonError, match=r"No JPEG, PNG, GIF, BMP or WebP image could be read from .*cut\.jpg"):
        zoo.preprocess(tmp_path / "cut.jpg", zoo.create("lenet5"))
