"""Decoding of image files, by ops of TensorFlow alone, so that training, `predict` and a served graph see the same pixels."""

import re
from collections.abc import Callable
from functools import cache

import tensorflow as tf

from .orientation import exif_orientation, turn_upright

_BMP_HEADER = 54  # bytes: 14 of the file's header and 40 of the oldest header of an image that still occurs
_WEBP_HEADER, _WEBP_FLAGS = 30, 20  # the flags of an extended WebP: 2 animation, 16 transparency
_JPEG, _RIFF, _BMP, _EXIF = b"\xff\xd8\xff", b"RIFF", b"BM", b"Exif\0\0"


def decode_image(encoded: tf.Tensor) -> tf.Tensor:
    """Decode one JPEG, PNG, GIF, BMP or WebP image to the pixels that Pillow gives.

    The first frame stands for an animation. JPEGs are turned upright as their EXIF orientation says; grey, CMYK and progressive ones are
    read. 16-bit PNGs keep the upper byte. Palettes are looked up. Transparency is dropped: the colour stored beneath it stays, which
    is black in a GIF. BMPs have 1, 4, 8, 24 or 32 bits a pixel, without compression.

    Args:
        encoded: scalar string tensor.

    Returns:
        uint8 tensor (H, W, 3).

    Raises:
        tf.errors.InvalidArgumentError: when the bytes are no whole image of these kinds; in a graph, when it runs.
    """
    encoded = tf.convert_to_tensor(encoded)

    def starts(magic):
        return tf.strings.substr(encoded, 0, len(magic)) == magic

    image = tf.case(
        [
            (starts(_JPEG), lambda: _decode_jpeg(encoded)),
            (starts(_RIFF), lambda: _decode_webp(encoded)),
            (starts(_BMP) & (_bmp_bits(encoded) <= 8), lambda: _decode_palette_bmp(encoded)),
        ],
        default=lambda: tf.io.decode_image(encoded, channels=3, expand_animations=False),
    )
    image.set_shape((None, None, 3))
    return image


@cache
def compiled_decoder() -> Callable[[tf.Tensor], tf.Tensor]:
    """Return `decode_image` as a function traced once.

    Outside of a graph each of its many small ops would cost more than the image, and an input pipeline would trace them for each epoch.
    """
    with tf.init_scope():  # also where the first call comes from a pipeline that is being traced
        signature = [tf.TensorSpec((), "string")]
        return tf.function(decode_image, input_signature=signature, autograph=False).get_concrete_function()


def picture_size(content: bytes) -> tuple[int, int]:
    """Return the height and width of the picture that `decode_image` gives, or raise what it raises, in a third of the time for a JPEG.

    A JPEG is unpacked to an eighth of its size: all of the file is read and checked, and few pixels are computed.
    """
    if not content.startswith(_JPEG):
        height, width, _ = tf.shape(compiled_decoder()(tf.constant(content))).numpy().tolist()
        return height, width
    tf.io.decode_jpeg(content, channels=3, ratio=8)
    height, width, _ = tf.io.extract_jpeg_shape(content).numpy().tolist()
    # a search in bytes takes no time, and the walk through the segments as long as a small picture
    is_turned = _EXIF in content and _compiled_orientation()(tf.constant(content)) >= 5
    return (width, height) if is_turned else (height, width)


@cache
def _compiled_orientation() -> Callable[[tf.Tensor], tf.Tensor]:
    with tf.init_scope():
        signature = [tf.TensorSpec((), "string")]
        return tf.function(exif_orientation, input_signature=signature, autograph=False).get_concrete_function()


def prepare_picture_size() -> None:
    """Trace what `picture_size` needs: before threads call it, each of which would trace it too."""
    compiled_decoder()
    _compiled_orientation()


def decoding_problem(error: tf.errors.OpError) -> str:
    """Return what was wrong with an image in one line, without the nodes and functions that TensorFlow adds."""
    text = re.sub(r"\{\{.*?\}\}\s*|\s*\[\[.*|\s*\[Op:.*", "", error.message).strip()
    return re.sub(r"^assertion failed: \[(.*)\]$", r"\1", text.splitlines()[-1]) if text else type(error).__name__


def _decode_jpeg(encoded: tf.Tensor) -> tf.Tensor:
    # the default arithmetic is faster and up to 9 levels off what the encoder's own inverse gives
    image = tf.io.decode_jpeg(encoded, channels=3, dct_method="INTEGER_ACCURATE")
    return turn_upright(image, exif_orientation(encoded))


def _decode_webp(encoded: tf.Tensor) -> tf.Tensor:
    """Decode a WebP with the channels that it has: TensorFlow's decoder takes no other number.

    It takes an animation for one with transparency, and would write beyond its memory where the header says that there is none; so
    the header of an animation is made to say that there is.
    """
    head = tf.strings.join([tf.strings.substr(encoded, 0, _WEBP_HEADER), b"\0" * _WEBP_HEADER])
    flags = tf.cast(tf.io.decode_raw(tf.strings.substr(head, _WEBP_FLAGS, 1), "uint8")[0], "int32")
    is_animated = (tf.strings.substr(head, 12, 4) == b"VP8X") & (flags % 4 >= 2)

    def with_alpha():
        byte = tf.gather([bytes([value]) for value in range(256)], tf.bitwise.bitwise_or(flags, 0x10))
        rest = tf.strings.substr(encoded, _WEBP_FLAGS + 1, tf.strings.length(encoded))
        return tf.strings.join([tf.strings.substr(encoded, 0, _WEBP_FLAGS), byte, rest])

    changed = tf.cond(is_animated & (tf.strings.length(encoded) > _WEBP_FLAGS), with_alpha, lambda: encoded)
    return tf.io.decode_image(changed, channels=0, expand_animations=False)[..., :3]


def _bmp_header(encoded: tf.Tensor, kind: str, start: int) -> tf.Tensor:
    """Return the number of a type at a position of the header, as int32; zeros fill up a file that is too short."""
    header = tf.strings.join([tf.strings.substr(encoded, 0, _BMP_HEADER), b"\0" * _BMP_HEADER])
    number = tf.io.decode_raw(tf.strings.substr(header, start, tf.as_dtype(kind).size), kind)[0]
    return tf.cast(number, "int32")


def _bmp_bits(encoded: tf.Tensor) -> tf.Tensor:
    return _bmp_header(encoded, "uint16", 28)


def _decode_palette_bmp(encoded: tf.Tensor) -> tf.Tensor:
    """Decode a BMP of 1, 4 or 8 bits a pixel: TensorFlow's own decoder takes the numbers of a palette for levels of grey."""
    offset, width, height = (_bmp_header(encoded, "int32", start) for start in (10, 18, 22))
    palette_start = 14 + _bmp_header(encoded, "int32", 14)
    bits, compression = tf.maximum(_bmp_bits(encoded), 1), _bmp_header(encoded, "int32", 30)
    stride = (width * bits + 31) // 32 * 4  # bytes of a row, filled up to whole words
    rows, sound = tf.abs(height), tf.reduce_any(bits == tf.constant([1, 4, 8])) & (compression == 0) & (width > 0) & (height != 0)
    whole = sound & (tf.strings.length(encoded) >= offset + stride * rows) & (offset > palette_start)
    check = tf.debugging.Assert(whole, ["Invalid BMP data, or one that is compressed"])
    with tf.control_dependencies([] if check is None else [check]):
        pixels = tf.io.decode_raw(tf.strings.substr(encoded, offset, stride * rows), "uint8")
        entries = tf.io.decode_raw(tf.strings.substr(encoded, palette_start, (offset - palette_start) // 4 * 4), "uint8")
    palette = tf.reshape(entries, (-1, 4))[:, 2::-1]  # (colours, 3), stored as blue, green, red, nothing

    # the first pixel of a byte is in its highest bits
    shifts = 8 - bits - tf.range(0, 8, bits)
    numbers = tf.bitwise.right_shift(tf.cast(tf.reshape(pixels, (rows, stride, 1)), "int32"), shifts)
    numbers = tf.bitwise.bitwise_and(numbers, tf.bitwise.left_shift(1, bits) - 1)
    numbers = tf.reshape(numbers, (rows, -1))[:, :width]
    # a positive height says that the lowest row comes first
    return tf.gather(palette, numbers[:: tf.where(height > 0, -1, 1)])
