"""Which way up a camera held its picture: the EXIF orientation of a JPEG, read and applied by TensorFlow ops.

TensorFlow's decoders pass over EXIF. As ops, the reading runs in training's input pipeline and in a served graph alike.

Reference: CIPA DC-008 (EXIF 2.32), section 4.6.4 table 4, tag 274; TIFF 6.0, section 2, for the layout of the tags.
"""

import tensorflow as tf

UPRIGHT = 1
_ORIENTATION_TAG, _SHORT = 0x0112, 3
_ENTRY_BYTES = 12
_ENTRIES_AT_MOST = 512
_APP1, _COMMENT, _FILL = 0xE1, 0xFE, 0xFF
_EXIF = tuple(b"Exif\0\0")


def exif_orientation(encoded: tf.Tensor) -> tf.Tensor:
    """Return the orientation of a JPEG, int32 from 1 (upright) to 8; 1 where the file says none or nonsense.

    Args:
        encoded: scalar string tensor that starts as a JPEG does.
    """
    data = tf.io.decode_raw(encoded, "uint8")  # (bytes,)
    size = tf.size(data)

    def goes_on(position, found):
        marker = _numbers(data, position, 2)
        # tables and the picture itself follow the applications' segments and comments
        is_about = (marker[1] // 16 == 0xE) | (marker[1] == _COMMENT) | (marker[1] == _FILL)
        return (position + 4 <= size) & (found == 0) & (marker[0] == _FILL) & is_about

    def step(position, found):
        head = _numbers(data, position, 4)
        is_exif = (head[1] == _APP1) & tf.reduce_all(_numbers(data, position + 4, len(_EXIF)) == tf.constant(_EXIF))
        # markers may be preceded by any number of 0xFF
        length = tf.where(head[1] == _FILL, 1, 2 + 256 * head[2] + head[3])
        return position + length, tf.where(is_exif, position + 4 + len(_EXIF), 0)

    _, found = tf.while_loop(goes_on, step, (tf.constant(2), tf.constant(0)))
    return tf.cond(found > 0, lambda: _tiff_orientation(data, found), lambda: tf.constant(UPRIGHT))


def _tiff_orientation(data: tf.Tensor, start: tf.Tensor) -> tf.Tensor:
    """Return the orientation of the TIFF header at a position, from its first directory of tags."""
    little = data[tf.minimum(start, tf.size(data) - 1)] == ord("I")

    def value(digits):
        """Return the numbers that digits to base 256, (..., n), stand for."""
        powers = tf.constant([256**power for power in range(digits.shape[-1])], "int32")
        return tf.reduce_sum(digits * tf.where(little, powers, powers[::-1]), axis=-1)

    # an offset beyond 2^31 becomes negative and is stopped at 0
    directory = start + tf.maximum(value(_numbers(data, start + 4, 4)), 0)
    entries = tf.minimum(value(_numbers(data, directory, 2)), _ENTRIES_AT_MOST)
    table = tf.reshape(_numbers(data, directory + 2, entries * _ENTRY_BYTES), (-1, _ENTRY_BYTES))
    asked = (value(table[:, 0:2]) == _ORIENTATION_TAG) & (value(table[:, 2:4]) == _SHORT)
    found = tf.reduce_max(tf.concat([tf.where(asked, value(table[:, 8:10]), 0), [0]], axis=0))
    return tf.where((found >= 1) & (found <= 8), found, UPRIGHT)


def _numbers(data: tf.Tensor, start: tf.Tensor, count) -> tf.Tensor:
    """Return `count` bytes as int32; those beyond the end repeat the last one, so that a cut file is no error here."""
    index = tf.clip_by_value(start + tf.range(count), 0, tf.maximum(tf.size(data) - 1, 0))
    return tf.cast(tf.gather(data, index), "int32")


def turn_upright(image: tf.Tensor, orientation: tf.Tensor) -> tf.Tensor:
    """Turn and mirror an image (H, W, C) so that an orientation of 1 to 8 becomes 1."""

    def turned():
        swapped = tf.cond(orientation >= 5, lambda: tf.transpose(image, (1, 0, 2)), lambda: image)
        upside_down = tf.reduce_any(orientation == tf.constant([3, 4, 7, 8]))
        mirrored = tf.reduce_any(orientation == tf.constant([2, 3, 6, 7]))
        return swapped[:: tf.where(upside_down, -1, 1), :: tf.where(mirrored, -1, 1)]

    return tf.cond(orientation == UPRIGHT, lambda: image, turned)
