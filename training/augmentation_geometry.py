"""Moves of pixels: flips, crops with padding, and affine maps, one for each picture of a batch in one operation."""

import tensorflow as tf

from .augmentation_random import Draws


def move_pixels(images: tf.Tensor, maps: tf.Tensor, *, fill_mode: str = "CONSTANT", fill: float = 0.0) -> tf.Tensor:
    """Return pictures whose pixel (x, y) is the old picture's pixel at (a x + b y + c, d x + e y + f), the nearest one.

    Args:
        images: (B, H, W, C).
        maps: a, b, c, d, e, f of each picture, float32 (B, 6).
        fill_mode: "CONSTANT" or "REFLECT", for what lies outside.
        fill: value outside.
    """
    moved = tf.raw_ops.ImageProjectiveTransformV3(
        images=images,
        transforms=tf.pad(maps, [[0, 0], [0, 2]]),
        output_shape=tf.shape(images)[1:3],
        fill_value=fill,
        interpolation="NEAREST",
        fill_mode=fill_mode,
    )
    return tf.ensure_shape(moved, images.shape)


def flip_and_crop(images: tf.Tensor, draws: Draws, stream: int, flips: tuple[bool, bool], padding: int, fill: str) -> tf.Tensor:
    """Mirror pictures by chance, and shift them by up to `padding` pixels each way.

    Args:
        images: (B, H, W, C).
        draws: random numbers; four streams are used.
        stream: the first of them.
        flips: whether to mirror left to right, and top to bottom.
        padding: padding of each side, from which the old size is cut; 0 for none.
        fill: what padding holds: "zeros" or "reflect".
    """
    if not padding:
        # the same pixels, without the arithmetic of a map
        for axis, flip in enumerate(flips):
            if flip:
                images = tf.where(draws.chance(stream + axis)[:, None, None, None], tf.reverse(images, [2 - axis]), images)
        return images
    zero = tf.zeros(tf.shape(images)[:1], "float32")
    columns = []
    for axis, (flip, length) in enumerate(zip(flips, (tf.shape(images)[2], tf.shape(images)[1]), strict=True)):
        mirrored = draws.chance(stream + axis) if flip else tf.zeros_like(zero, "bool")
        shift = tf.cast(draws.integer(stream + 2 + axis, 2 * padding + 1) - padding, "float32")
        last = tf.cast(length, "float32") - 1.0
        columns.append((tf.where(mirrored, -1.0, 1.0), tf.where(mirrored, last - shift, shift)))
    (scale_x, shift_x), (scale_y, shift_y) = columns
    maps = tf.stack([scale_x, zero, shift_x, zero, scale_y, shift_y], axis=1)
    return move_pixels(images, maps, fill_mode="REFLECT" if fill == "reflect" else "CONSTANT")


def about_centre(images: tf.Tensor, matrices: tf.Tensor, shifts: tf.Tensor) -> tf.Tensor:
    """Return the maps that turn or shear pictures about their centres.

    Args:
        images: (B, H, W, C).
        matrices: a, b, d, e of each picture, (B, 4).
        shifts: in pixels, right and down, (B, 2).
    """
    size = tf.cast(tf.shape(images)[1:3], "float32")
    centre_y, centre_x = (size[0] - 1.0) / 2.0, (size[1] - 1.0) / 2.0
    a, b, d, e = tf.unstack(matrices, axis=1)
    c = centre_x - a * centre_x - b * centre_y + shifts[:, 0]
    f = centre_y - d * centre_x - e * centre_y + shifts[:, 1]
    return tf.stack([a, b, c, d, e, f], axis=1)
