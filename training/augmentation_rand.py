"""RandAugment: a few operations, drawn for each picture, at one strength."""

import math
from collections.abc import Callable

import tensorflow as tf

from . import augmentation_colour as colour
from .augmentation_geometry import about_centre, move_pixels
from .augmentation_random import Draws

# the paper's list, in its order; the last five and the rotation move pixels
OPERATIONS = (
    *("identity", "auto_contrast", "equalize", "rotate", "solarize", "color", "posterize"),
    *("contrast", "brightness", "sharpness", "shear_x", "shear_y", "translate_x", "translate_y"),
)
_MOVES = ("rotate", "shear_x", "shear_y", "translate_x", "translate_y")
_STREAMS_EACH = 2
_GREY = 128.0


def rand_augment(images: tf.Tensor, draws: Draws, stream: int, operations: int, magnitude: float) -> tf.Tensor:
    """Apply a few random operations to each picture, one after another.

    The strength of each operation goes linearly with the magnitude, up to the range of table 6 of AutoAugment: 30 degrees, shears of
    0.3, shifts of 150/331 of the picture, 4 bits, solarising from 0 on, and factors of 1.9 or 0.1. Where an operation has two
    directions, each is as likely. Pixels from outside are grey.

    Args:
        images: uint8 (B, H, W, C).
        draws: random numbers; two streams for each operation are used.
        stream: the first of them.
        operations: N, how many for each picture.
        magnitude: M, 0 to 10.

    Reference:
        Cubuk, Zoph, Shlens, Le, 2020, "RandAugment: Practical automated data augmentation with a reduced search space", section 3,
        arXiv:1909.13719; ranges: Cubuk et al., 2019, "AutoAugment", table 6, arXiv:1805.09501.
    """
    for number in range(operations):
        chosen = draws.integer(stream + _STREAMS_EACH * number, len(OPERATIONS))
        signs = tf.where(draws.chance(stream + _STREAMS_EACH * number + 1), 1.0, -1.0)
        images = apply_operations(images, chosen, signs, magnitude / 10.0)
    return images


def apply_operations(images: tf.Tensor, chosen: tf.Tensor, signs: tf.Tensor, level: float) -> tf.Tensor:
    """Apply one operation to each picture.

    Args:
        images: uint8 (B, H, W, C).
        chosen: numbers in `OPERATIONS`, int32 (B,).
        signs: 1 or -1, float32 (B,): the direction.
        level: strength, 0 to 1.
    """
    names = [name for name in OPERATIONS if name not in _MOVES]
    # every picture goes through one operation only: pictures are sorted by operation, and put together again
    groups = tf.gather([names.index(name) if name in names else len(names) for name in OPERATIONS], chosen)
    parts = tf.dynamic_partition(images, groups, len(names) + 1)
    part_signs = tf.dynamic_partition(signs, groups, len(names) + 1)
    part_chosen = tf.dynamic_partition(chosen, groups, len(names) + 1)
    places = tf.dynamic_partition(tf.range(tf.shape(images)[0]), groups, len(names) + 1)
    changes = _colour_changes(level)
    done = []
    for name, part, sign in zip(names, parts, part_signs, strict=False):
        change = changes.get(name)
        done.append(part if change is None else _if_any(part, lambda part=part, sign=sign, change=change: _as_bytes(change, part, sign)))
    moving = parts[-1], part_chosen[-1], part_signs[-1]
    done.append(_if_any(parts[-1], lambda: _move(*moving, level)))
    stitched = tf.dynamic_stitch(places, done)
    return tf.ensure_shape(stitched, images.shape)


def _colour_changes(level: float) -> dict[str, Callable[[tf.Tensor, tf.Tensor], tf.Tensor]]:
    """Return the operations that leave pixels in place, as functions of float pictures and signs."""
    by = 0.9 * level
    return {
        "auto_contrast": lambda images, signs: colour.auto_contrast(images),
        "equalize": lambda images, signs: colour.equalize(images),
        "solarize": lambda images, signs: colour.solarize(images, tf.ones_like(signs) * (256.0 * (1.0 - level))),
        "posterize": lambda images, signs: colour.posterize(images, tf.ones_like(signs) * (8.0 - round(4.0 * level))),
        "color": lambda images, signs: colour.change_saturation(images, 1.0 + by * signs),
        "contrast": lambda images, signs: colour.change_contrast(images, 1.0 + by * signs),
        "brightness": lambda images, signs: colour.change_brightness(images, 1.0 + by * signs),
        "sharpness": lambda images, signs: colour.sharpen(images, 1.0 + by * signs),
    }


def _as_bytes(change, images: tf.Tensor, signs: tf.Tensor) -> tf.Tensor:
    return colour.to_bytes(change(tf.cast(images, "float32"), signs))


def _if_any(images: tf.Tensor, change: Callable[[], tf.Tensor]) -> tf.Tensor:
    """Return changed pictures, or none where there are none: an empty batch costs nothing and not every operation takes one."""
    return tf.cond(tf.shape(images)[0] > 0, change, lambda: images)


def _move(images: tf.Tensor, chosen: tf.Tensor, signs: tf.Tensor, level: float) -> tf.Tensor:
    def amount(name: str, most: float) -> tf.Tensor:
        return tf.where(chosen == OPERATIONS.index(name), most * level, 0.0) * signs

    angle = amount("rotate", math.radians(30.0))
    matrices = [tf.cos(angle), amount("shear_x", 0.3) - tf.sin(angle), amount("shear_y", 0.3) + tf.sin(angle), tf.cos(angle)]
    size = tf.cast(tf.shape(images)[1:3], "float32")
    shifts = [amount("translate_x", 150.0 / 331.0) * size[1], amount("translate_y", 150.0 / 331.0) * size[0]]
    maps = about_centre(images, tf.stack(matrices, axis=1), tf.round(tf.stack(shifts, axis=1)))
    return move_pixels(images, maps, fill=_GREY)
