"""Parts taken away: Cutout and random erasing."""

import math

import tensorflow as tf

from .augmentation_random import Draws


def in_boxes(images: tf.Tensor, top: tf.Tensor, left: tf.Tensor, bottom: tf.Tensor, right: tf.Tensor) -> tf.Tensor:
    """Return which pixels lie in each picture's box, bool (B, H, W, 1); edges are int32 (B,), the last two are outside."""
    rows = tf.range(tf.shape(images)[1])[None, :]
    columns = tf.range(tf.shape(images)[2])[None, :]
    high = (rows >= top[:, None]) & (rows < bottom[:, None])
    wide = (columns >= left[:, None]) & (columns < right[:, None])
    return high[:, :, None, None] & wide[:, None, :, None]


def cut_out(images: tf.Tensor, draws: Draws, stream: int, side: int) -> tf.Tensor:
    """Fill a square around a random pixel with zeros; where it reaches over the border, less is lost.

    Args:
        images: uint8 (B, H, W, C).
        draws: random numbers; two streams are used.
        stream: the first of them.
        side: of the square, in pixels.

    Reference:
        DeVries, Taylor, 2017, "Improved Regularization of Convolutional Neural Networks with Cutout", section 3.2, arXiv:1708.04552.
    """
    top = draws.integer(stream, tf.shape(images)[1]) - side // 2
    left = draws.integer(stream + 1, tf.shape(images)[2]) - side // 2
    return tf.where(in_boxes(images, top, left, top + side, left + side), tf.zeros_like(images), images)


def erase(images: tf.Tensor, draws: Draws, stream: int, probability: float) -> tf.Tensor:
    """Fill a random rectangle with random bytes, in some of the pictures.

    The rectangle has an area of 0.02 to 0.4 of the picture and sides in a ratio of 0.3 to 1 / 0.3, as in the paper. Where one side
    is longer than the picture it is cut to it, while the paper draws again.

    Args:
        images: uint8 (B, H, W, C).
        draws: random numbers; six streams are used.
        stream: the first of them.
        probability: share of the pictures.

    Reference:
        Zhong et al., 2020, "Random Erasing Data Augmentation", algorithm 1 and section 4, arXiv:1708.04896.
    """
    shape = tf.shape(images)
    height, width = shape[1], shape[2]
    area = draws.uniform(stream, 0.02, 0.4) * tf.cast(height * width, "float32")
    ratio = tf.exp(draws.uniform(stream + 1, math.log(0.3), -math.log(0.3)))
    box_height = tf.clip_by_value(tf.cast(tf.round(tf.sqrt(area * ratio)), "int32"), 1, height)
    box_width = tf.clip_by_value(tf.cast(tf.round(tf.sqrt(area / ratio)), "int32"), 1, width)
    top = draws.integer(stream + 2, height - box_height + 1)
    left = draws.integer(stream + 3, width - box_width + 1)
    chosen = draws.chance(stream + 4, probability)[:, None, None, None]
    boxes = in_boxes(images, top, left, top + box_height, left + box_width) & chosen
    return tf.where(boxes, draws.bytes(stream + 5, shape), images)
